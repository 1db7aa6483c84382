package transforms

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

type horizontalFlip struct{}

func (horizontalFlip) apply(s Sample) Sample {
	_, w := s.size()
	flip := func(t torch.Tensor) torch.Tensor { return t.Flip(-1) }
	return s.with(flip, flip, func(boxes torch.Tensor) torch.Tensor { return flipped(boxes, s.Format, 0, w) })
}

type verticalFlip struct{}

func (verticalFlip) apply(s Sample) Sample {
	h, _ := s.size()
	flip := func(t torch.Tensor) torch.Tensor { return t.Flip(-2) }
	return s.with(flip, flip, func(boxes torch.Tensor) torch.Tensor { return flipped(boxes, s.Format, 1, h) })
}

// flipped mirrors boxes along an axis (0: across, 1: down) of so many pixels.
func flipped(boxes torch.Tensor, f BoxFormat, axis, pixels int) torch.Tensor {
	list := boxes.Unbind(1)
	mirror := func(t torch.Tensor) torch.Tensor { return t.SubScalar(pixels).Neg() }
	switch f {
	case XYWH:
		list[axis] = mirror(list[axis].Add(list[axis+2]))
	case CXCYWH:
		list[axis] = mirror(list[axis])
	default:
		list[axis], list[axis+2] = mirror(list[axis+2]), mirror(list[axis])
	}
	return torch.Stack(list, 1)
}

type crop struct{ Top, Left, Height, Width int }

func (c crop) apply(s Sample) Sample {
	return s.with(c.image, c.image, func(boxes torch.Tensor) torch.Tensor {
		return moved(boxes, s.Format, -c.Left, -c.Top, c.Height, c.Width)
	})
}

// image cuts out a part of an image, around which lie zeros.
func (c crop) image(t torch.Tensor) torch.Tensor {
	h, w := t.Size(-2), t.Size(-1)
	if c.Height < 0 || c.Width < 0 {
		torch.Throw("crop", torch.KindValue, "a part of %d x %d pixels", c.Width, c.Height)
	}
	top, left := min(max(c.Top, 0), h), min(max(c.Left, 0), w)
	bottom, right := min(max(c.Top+c.Height, top), h), min(max(c.Left+c.Width, left), w)
	part := t.Narrow(-2, top, bottom-top).Narrow(-1, left, right-left)
	frame := []int{max(min(c.Left+c.Width, 0)-c.Left, 0), max(c.Left+c.Width-max(w, c.Left), 0),
		max(min(c.Top+c.Height, 0)-c.Top, 0), max(c.Top+c.Height-max(h, c.Top), 0)}
	if frame[0]|frame[1]|frame[2]|frame[3] == 0 {
		return part
	}
	return aten.ConstantPadND(part, frame)
}

type centerCrop struct{ OutputSize [2]int }

func (c centerCrop) apply(s Sample) Sample {
	height, width := c.OutputSize[0], c.OutputSize[1]
	h, w := s.size()
	image := func(t torch.Tensor) torch.Tensor {
		if height > h || width > w {
			more := func(want, have int) (before, after int) { return max(0, want-have) / 2, (max(0, want-have) + 1) / 2 }
			l, r := more(width, w)
			top, b := more(height, h)
			t = aten.ConstantPadND(t, []int{l, r, top, b})
		}
		return crop{roundHalf(t.Size(-2) - height), roundHalf(t.Size(-1) - width), height, width}.image(t)
	}
	return s.with(image, image, func(boxes torch.Tensor) torch.Tensor {
		return moved(boxes, s.Format, -roundHalf(w-width), -roundHalf(h-height), height, width)
	})
}

// roundHalf is Python's round(n / 2).
func roundHalf(n int) int { return int(math.RoundToEven(float64(n) / 2)) }

type pad struct {
	Padding     [4]int // left, top, right, bottom
	Fill        []float64
	PaddingMode string
}

func (p pad) apply(s Sample) Sample {
	h, w := s.size()
	l, t, r, b := p.Padding[0], p.Padding[1], p.Padding[2], p.Padding[3]
	mask := p
	if len(p.Fill) > 1 {
		mask.Fill = nil
	}
	return s.with(p.image, mask.image, func(boxes torch.Tensor) torch.Tensor {
		if p.PaddingMode != "constant" {
			torch.Throw("pad", torch.KindValue, "Padding mode '%s' is not supported with bounding boxes", p.PaddingMode)
		}
		return moved(boxes, s.Format, l, t, h+t+b, w+l+r)
	})
}

func (p pad) image(t torch.Tensor) torch.Tensor {
	shape := t.Shape()
	n := len(shape)
	frame := []int{p.Padding[0], p.Padding[2], p.Padding[1], p.Padding[3]}
	flat := t.Reshape(append([]int{-1}, shape[n-3:]...)...)
	switch p.PaddingMode {
	case "constant":
		flat = p.constant(flat, frame)
	case "edge", "reflect":
		mode := map[string]string{"edge": "replicate", "reflect": "reflect"}[p.PaddingMode]
		flat = F.Pad(floating(flat), frame, F.PadOptions{Mode: mode}).To(t.DType())
	case "symmetric":
		flat = symmetric(flat, frame)
	default:
		torch.Throw("pad", torch.KindValue, "Mode is %q, expected constant, edge, reflect or symmetric", p.PaddingMode)
	}
	return flat.Reshape(append(append([]int{}, shape[:n-2]...), flat.Size(-2), flat.Size(-1))...)
}

// constant pads with a number, or one for each channel.
func (p pad) constant(t torch.Tensor, frame []int) torch.Tensor {
	if len(p.Fill) <= 1 {
		value := 0.0
		if len(p.Fill) == 1 {
			value = p.Fill[0]
		}
		return F.Pad(t, frame, F.PadOptions{Value: value})
	}
	inside := F.Pad(torch.OnesLike(t).To(torch.Bool), frame)
	return torch.Where(inside, F.Pad(t, frame), fillTensor(p.Fill, t).To(t.DType()))
}

// fillTensor is a fill as a tensor [C, 1, 1].
func fillTensor(fill []float64, like torch.Tensor) torch.Tensor {
	if n := like.Size(-3); len(fill) != 1 && len(fill) != n {
		torch.Throw("transforms", torch.KindValue, "Fill has %d numbers, expected 1 or one for each of %d channels", len(fill), n)
	}
	return torch.FromSlice(fill).To(torch.Float32).To(like.Device()).Reshape(-1, 1, 1)
}

func symmetric(t torch.Tensor, frame []int) torch.Tensor {
	indices := func(before, n, after int) torch.Tensor {
		if before < 0 || after < 0 || before > n || after > n {
			torch.Throw("pad", torch.KindValue, "a symmetric frame of %d and %d around %d pixels", before, after, n)
		}
		list := make([]int, 0, before+n+after)
		for i := before - 1; i >= 0; i-- {
			list = append(list, i)
		}
		for i := range n {
			list = append(list, i)
		}
		for i := range after {
			list = append(list, n-1-i)
		}
		return torch.FromSlice(list).To(t.Device())
	}
	h, w := t.Size(-2), t.Size(-1)
	return t.IndexSelect(-2, indices(frame[2], h, frame[3])).IndexSelect(-1, indices(frame[0], w, frame[1]))
}

type resize struct {
	Size          []int // both sides, or the short one, or none
	MaxSize       int   // 0: none
	Interpolation string
	Antialias     bool
}

func (z resize) apply(s Sample) Sample {
	h, w := s.size()
	height, width := z.target(h, w)
	if height == h && width == w {
		return s
	}
	image := func(t torch.Tensor) torch.Tensor { return resized(t, height, width, z.Interpolation, z.Antialias) }
	mask := func(t torch.Tensor) torch.Tensor { return resized(t, height, width, "nearest", false) }
	return s.with(image, mask, func(boxes torch.Tensor) torch.Tensor {
		x, y := float64(width)/float64(w), float64(height)/float64(h)
		ratios := torch.FromSlice([]float64{x, y, x, y}).To(torch.Float32).To(boxes.Device())
		return boxes.Mul(ratios).To(boxes.DType())
	})
}

// target is the size of the result.
func (z resize) target(h, w int) (height, width int) {
	if h < 1 || w < 1 {
		torch.Throw("resize", torch.KindValue, "an image of %d x %d pixels", w, h)
	}
	if len(z.Size) == 2 {
		return z.Size[0], z.Size[1]
	}
	short, long := min(h, w), max(h, w)
	var newShort, newLong int
	switch {
	case len(z.Size) == 1:
		newShort = z.Size[0]
		newLong = int(float64(newShort*long) / float64(short))
		if z.MaxSize > 0 && z.MaxSize <= newShort {
			torch.Throw("resize", torch.KindValue,
				"max_size = %d must be strictly greater than the requested size for the smaller edge size = %d",
				z.MaxSize, newShort)
		}
		if z.MaxSize > 0 && newLong > z.MaxSize {
			newShort, newLong = int(float64(z.MaxSize*newShort)/float64(newLong)), z.MaxSize
		}
	case z.MaxSize > 0:
		newShort, newLong = int(float64(z.MaxSize*short)/float64(long)), z.MaxSize
	default:
		torch.Throw("resize", torch.KindValue, "expected a Size of 1 or 2 numbers, or a MaxSize")
	}
	if w <= h {
		return newLong, newShort
	}
	return newShort, newLong
}

// resized makes another size of images. Bytes on the CPU are resized as bytes, elsewhere as numbers that are rounded.
func resized(t torch.Tensor, height, width int, mode string, antialias bool) torch.Tensor {
	shape := t.Shape()
	n := len(shape)
	dtype := t.DType()
	to := append(append([]int{}, shape[:n-2]...), height, width)
	if t.NumEl() == 0 {
		return t.Reshape(to...)
	}
	smooth := mode == "bilinear" || mode == "bicubic"
	x := t.Reshape(append([]int{-1}, shape[n-3:]...)...)
	cast := dtype != torch.Float32 && dtype != torch.Float64 && (dtype != torch.Uint8 || smooth && t.Device() != torch.CPU)
	if cast {
		x = x.To(torch.Float32)
	}
	x = F.Interpolate(x, F.InterpolateOptions{Size: []int{height, width}, Mode: mode, Antialias: antialias && smooth})
	if cast {
		if mode == "bicubic" && dtype == torch.Uint8 {
			x = x.Clamp(0, 255)
		}
		if !dtype.IsFloatingPoint() {
			x = x.Round()
		}
		x = x.To(dtype)
	}
	return x.Reshape(to...)
}
