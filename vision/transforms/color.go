package transforms

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// maxValue is what stands for 1 in a dtype.
func maxValue(d torch.DType) float64 {
	if d.IsFloatingPoint() {
		return 1
	}
	return float64(uint64(1)<<valueBits(d) - 1)
}

// valueBits is how many bits of an integer dtype are not its sign.
func valueBits(d torch.DType) int {
	switch d {
	case torch.Uint8:
		return 8
	case torch.Int8:
		return 7
	case torch.Int16:
		return 15
	case torch.Uint16:
		return 16
	case torch.Int32:
		return 31
	case torch.Int64:
		return 63
	}
	torch.Throw("to_dtype", torch.KindType, "Number of value bits is only defined for integer dtypes, but got %v", d)
	return 0
}

// coloured panics unless the images have 1 or 3 channels.
func coloured(t torch.Tensor) int {
	c := t.Size(-3)
	if c != 1 && c != 3 {
		torch.Throw("transforms", torch.KindType, "Input image tensor permitted channel values are 1 or 3, but found %d", c)
	}
	return c
}

func nonNegative(name string, v float64) {
	if !(v >= 0) {
		torch.Throw("transforms", torch.KindValue, "%s (%v) is not non-negative", name, v)
	}
}

// toDType converts images; with scale, what stands for 1 in one dtype stands for 1 in the other.
func toDType(t torch.Tensor, d torch.DType, scale bool) torch.Tensor {
	from := t.DType()
	switch {
	case from == d || !scale:
		return t.To(d)
	case from.IsFloatingPoint() && d.IsFloatingPoint():
		return t.To(d)
	case from.IsFloatingPoint():
		if from == torch.Float32 && (d == torch.Int32 || d == torch.Int64) || from == torch.Float64 && d == torch.Int64 {
			torch.Throw("to_dtype", torch.KindType, "The conversion from %v to %v cannot be performed safely", from, d)
		}
		return t.MulScalar(maxValue(d) + 1 - 1e-3).To(d)
	case d.IsFloatingPoint():
		return t.To(d).MulScalar(1 / maxValue(from))
	}
	in, out := valueBits(from), valueBits(d)
	switch {
	case in > out && from == torch.Uint16:
		return t.DivScalar(1 << (in - out)).To(d)
	case in > out:
		return t.BitwiseRightShiftScalar(in - out).To(d)
	case d == torch.Uint16:
		return t.To(torch.Int32).MulScalar(1 << (out - in)).To(d)
	}
	return t.To(d).BitwiseLeftShiftScalar(out - in)
}

// grey weighs the colours: one channel of floating-point numbers, or of the dtype of a floating-point image.
func grey(t torch.Tensor) torch.Tensor {
	c := t.Unbind(-3)
	sum := c[0].MulScalar(0.2989).Add(c[1], torch.AddOptions{Alpha: 0.587}).Add(c[2], torch.AddOptions{Alpha: 0.114})
	return sum.Unsqueeze(-3)
}

// floorGrey is grey, rounded down for images of integers.
func floorGrey(t torch.Tensor) torch.Tensor {
	if g := grey(t); t.IsFloatingPoint() {
		return g
	} else {
		return g.Floor()
	}
}

type rgbToGrayscale struct{ NumOutputChannels int }

func (g rgbToGrayscale) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		c, n := t.Size(-3), g.NumOutputChannels
		if n != 1 && n != 3 {
			torch.Throw("rgb_to_grayscale", torch.KindValue, "num_output_channels must be 1 or 3, got %d", n)
		}
		switch {
		case c == 1 && n == 1:
			return t
		case c == 1:
			return torch.Cat([]torch.Tensor{t, t, t}, -3)
		case c != 3:
			torch.Throw("rgb_to_grayscale", torch.KindValue, "expected 1 or 3 channels, got %d", c)
		}
		one := grey(t).To(t.DType())
		if n == 3 {
			return torch.Cat([]torch.Tensor{one, one, one}, -3)
		}
		return one
	})
}

type grayscaleToRgb struct{}

func (grayscaleToRgb) apply(s Sample) Sample {
	if s.Image.Defined() && s.Image.Size(-3) >= 3 {
		return s
	}
	return rgbToGrayscale{3}.apply(s)
}

// blend is ratio of a and the rest of b.
func blend(a, b torch.Tensor, ratio float64) torch.Tensor {
	x := a.MulScalar(ratio).Add(b, torch.AddOptions{Alpha: 1 - ratio}).Clamp(0, maxValue(a.DType()))
	return x.To(a.DType())
}

type adjustBrightness struct{ BrightnessFactor float64 }

func (a adjustBrightness) apply(s Sample) Sample {
	nonNegative("brightness_factor", a.BrightnessFactor)
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		coloured(t)
		return t.MulScalar(a.BrightnessFactor).Clamp(0, maxValue(t.DType())).To(t.DType())
	})
}

type adjustContrast struct{ ContrastFactor float64 }

func (a adjustContrast) apply(s Sample) Sample {
	nonNegative("contrast_factor", a.ContrastFactor)
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		g := t
		if coloured(t) == 3 {
			g = floorGrey(t)
		} else if !t.IsFloatingPoint() {
			g = t.To(torch.Float32)
		}
		return blend(t, g.MeanDim([]int{-3, -2, -1}, torch.MeanOptions{KeepDim: true}), a.ContrastFactor)
	})
}

type adjustSaturation struct{ SaturationFactor float64 }

func (a adjustSaturation) apply(s Sample) Sample {
	nonNegative("saturation_factor", a.SaturationFactor)
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		if coloured(t) == 1 {
			return t
		}
		return blend(t, floorGrey(t), a.SaturationFactor)
	})
}

type adjustHue struct{ HueFactor float64 }

func (a adjustHue) apply(s Sample) Sample {
	if !(a.HueFactor >= -0.5 && a.HueFactor <= 0.5) {
		torch.Throw("adjust_hue", torch.KindValue, "hue_factor (%v) is not in [-0.5, 0.5]", a.HueFactor)
	}
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		if coloured(t) == 1 || t.NumEl() == 0 {
			return t
		}
		h, sat, v := hsv(toDType(t, torch.Float32, true))
		return toDType(rgb(h.AddScalar(a.HueFactor).RemainderScalar(1.0), sat, v), t.DType(), true)
	})
}

// hsv is hue, saturation and value of images.
func hsv(t torch.Tensor) (h, s, v torch.Tensor) {
	r := t.Select(-3, 0)
	g := t.Select(-3, 1)
	least, most := t.AMinMax(-3)
	same, span := most.Eq(least), most.Sub(least)
	one := torch.OnesLike(most)
	s = span.Div(torch.Where(same, one, most))
	divisor := torch.Where(same, one, span).Unsqueeze(-3)
	c := most.Unsqueeze(-3).Sub(t).Div(divisor).Unbind(-3)
	rc, gc, bc := c[0], c[1], c[2]
	notRed, green := most.Ne(r), most.Eq(g)
	hg := rc.AddScalar(2.0).Sub(bc).Mul(green.LogicalAnd(notRed).To(torch.Float32))
	hr := bc.Sub(gc).Mul(notRed.LogicalNot().To(torch.Float32))
	hb := gc.AddScalar(4.0).Sub(rc).Mul(notRed.LogicalAnd(green.LogicalNot()).To(torch.Float32))
	h = hr.Add(hg).Add(hb).MulScalar(1.0 / 6.0).AddScalar(1.0).FModScalar(1.0)
	return h, s, most
}

// rgb is the way back.
func rgb(h, s, v torch.Tensor) torch.Tensor {
	h6 := h.MulScalar(6)
	i := h6.Floor()
	f := h6.Sub(i)
	i = i.To(torch.Int32).RemainderScalar(6).To(torch.Int64)
	sf, rest := s.Mul(f), s.Neg().AddScalar(1.0)
	q := sf.Neg().AddScalar(1.0).Mul(v).Clamp(0.0, 1.0)
	t := sf.Add(rest).Mul(v).Clamp(0.0, 1.0)
	p := rest.Mul(v).Clamp(0.0, 1.0)
	parts := torch.Stack([]torch.Tensor{v, p, q, t}, -3)
	sectors := [3][]int{{0, 2, 1, 1, 3, 0}, {3, 0, 0, 2, 1, 1}, {1, 1, 3, 0, 0, 2}}
	var which []torch.Tensor
	for _, list := range sectors {
		which = append(which, torch.FromSlice(list).To(h.Device()).Index(i))
	}
	return parts.Gather(-3, torch.Stack(which, -3))
}

type adjustSharpness struct{ SharpnessFactor float64 }

func (a adjustSharpness) apply(s Sample) Sample {
	nonNegative("sharpness_factor", a.SharpnessFactor)
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		c, h, w := coloured(t), t.Size(-2), t.Size(-1)
		if t.NumEl() == 0 || h <= 2 || w <= 2 {
			return t
		}
		x := floating(t).Reshape(-1, c, h, w)
		const u, v = 1.0 / 13.0, 5.0 / 13.0
		kernel := torch.FromSlice([]float64{u, u, u, u, v, u, u, u, u}, 1, 1, 3, 3).To(x.DType()).To(t.Device()).Expand(c, 1, 3, 3)
		blurred := F.Conv2d(x, kernel, torch.Tensor{}, F.ConvOptions{Groups: c})
		if !t.IsFloatingPoint() {
			blurred = blurred.Round()
		}
		out := x.Clone()
		inner := out.Narrow(2, 1, h-2).Narrow(3, 1, w-2)
		inner.AddInPlace(blurred.Sub(inner), torch.AddOptions{Alpha: 1 - a.SharpnessFactor})
		return out.Clamp(0, maxValue(t.DType())).To(t.DType()).Reshape(t.Shape()...)
	})
}

type posterize struct{ Bits int }

func (p posterize) apply(s Sample) Sample {
	if p.Bits < 0 || p.Bits > 8 {
		torch.Throw("posterize", torch.KindValue, "bits must be a positive integer in the range [0, 8], got %d instead", p.Bits)
	}
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		if t.IsFloatingPoint() {
			levels := 1 << p.Bits
			return t.MulScalar(levels).Floor().Clamp(0, levels-1).MulScalar(1.0 / float64(levels))
		}
		bits := valueBits(t.DType())
		if p.Bits >= bits {
			return t
		}
		return t.BitwiseAndScalar(((1 << p.Bits) - 1) << (bits - p.Bits))
	})
}

type solarize struct{ Threshold float64 }

func (z solarize) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		if z.Threshold > maxValue(t.DType()) {
			torch.Throw("solarize", torch.KindType, "Threshold should be less or equal the maximum value of the dtype, but got %v",
				z.Threshold)
		}
		return torch.Where(t.GeScalar(z.Threshold), inverted(t), t)
	})
}

func inverted(t torch.Tensor) torch.Tensor {
	switch {
	case t.IsFloatingPoint():
		return t.Neg().AddScalar(1.0)
	case t.DType() == torch.Uint8:
		return t.BitwiseNot()
	}
	return t.BitwiseXorScalar(1<<valueBits(t.DType()) - 1)
}

type invert struct{}

func (invert) apply(s Sample) Sample { return s.imageOnly(inverted) }

type autocontrast struct{}

func (autocontrast) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		coloured(t)
		if t.NumEl() == 0 {
			return t
		}
		x := floating(t)
		bound := maxValue(t.DType())
		low, high := x.Flatten(-2, -1).AMinMax(-1)
		low, high = low.Unsqueeze(-1).Unsqueeze(-1), high.Unsqueeze(-1).Unsqueeze(-1)
		same := high.Eq(low)
		scale := torch.Where(same, torch.OnesLike(high), high.Sub(low).MulScalar(1/bound))
		low = torch.Where(same, torch.ZerosLike(low), low)
		return x.Sub(low).Div(scale).Clamp(0, bound).To(t.DType())
	})
}

type equalize struct{}

func (equalize) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		if t.NumEl() == 0 {
			return t
		}
		x := toDType(t, torch.Uint8, true)
		flat := x.Flatten(-2, -1).To(torch.Int64)
		shape := append(append([]int{}, t.Shape()[:t.Dim()-2]...), 256)
		hist := torch.TensorOptions{DType: torch.Int32, Device: t.Device()}.Zeros(shape...).
			ScatterAdd(-1, flat, torch.OnesLike(flat).To(torch.Int32))
		sums := hist.CumSum(-1).To(torch.Int64)
		last := sums.ArgMax(-1).Unsqueeze(-1)
		step := hist.Gather(-1, last).To(torch.Int64).Neg().AddScalar(flat.Size(-1)).FloorDivideScalar(255)
		table := sums.Narrow(-1, 0, 255).Add(step.FloorDivideScalar(2)).FloorDivide(step.Clamp(1, math.MaxInt64)).Clamp(0,
			255).To(torch.Uint8)
		table = torch.Cat([]torch.Tensor{torch.ZerosLike(table.Narrow(-1, 0, 1)), table}, -1)
		even := table.Gather(-1, flat).Reshape(x.Shape()...)
		return toDType(torch.Where(step.NeScalar(0).Unsqueeze(-1), even, x), t.DType(), true)
	})
}

type permuteChannels struct{ Permutation []int }

func (p permuteChannels) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		return t.IndexSelect(-3, torch.FromSlice(p.Permutation).To(t.Device()))
	})
}

type normalize struct{ Mean, Std []float64 }

func (n normalize) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		list := func(v []float64) torch.Tensor { return torch.FromSlice(v).To(t.DType()).To(t.Device()) }
		return EachNormalize(t, list(n.Mean), list(n.Std))
	})
}

type toDtype struct {
	dtype torch.DType
	Dtype string
	Scale bool
}

func (d toDtype) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor { return toDType(t, d.dtype, d.Scale) })
}

type gaussianBlur struct {
	KernelSize []int // across, down
	Sigma      []float64
}

func (b gaussianBlur) apply(s Sample) Sample {
	return s.imageOnly(func(t torch.Tensor) torch.Tensor {
		if t.NumEl() == 0 {
			return t
		}
		c, h, w := t.Size(-3), t.Size(-2), t.Size(-1)
		x := floating(t).Reshape(-1, c, h, w)
		o := torch.TensorOptions{DType: x.DType(), Device: t.Device()}
		line := func(i int) torch.Tensor {
			limit := float64(b.KernelSize[i]-1) / (2 * math.Sqrt2)
			return o.Linspace(-limit, limit, b.KernelSize[i]).DivScalar(b.Sigma[i]).PowScalar(2).Neg().Softmax(0)
		}
		kernel := line(1).Unsqueeze(-1).Mul(line(0)).Expand(c, 1, -1, -1)
		kx, ky := b.KernelSize[0]/2, b.KernelSize[1]/2
		x = F.Conv2d(F.Pad(x, []int{kx, kx, ky, ky}, F.PadOptions{Mode: "reflect"}), kernel, torch.Tensor{}, F.ConvOptions{Groups: c})
		if !t.IsFloatingPoint() {
			x = x.Round().To(t.DType())
		}
		return x.Reshape(t.Shape()...)
	})
}
