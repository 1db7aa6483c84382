package transforms

import (
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/torch"
)

// columns are the four numbers of boxes [N, 4].
func columns(boxes torch.Tensor) (a, b, c, d torch.Tensor) {
	list := boxes.Unbind(1)
	return list[0], list[1], list[2], list[3]
}

// half is half of sizes; of integers, rounded up, as torchvision does.
func half(t torch.Tensor) torch.Tensor {
	if t.IsFloatingPoint() {
		return t.DivScalar(-2).Abs()
	}
	return t.FloorDivideScalar(-2).Abs()
}

func toXYXY(boxes torch.Tensor, from BoxFormat) torch.Tensor {
	a, b, c, d := columns(boxes)
	switch from {
	case XYWH:
		return torch.Stack([]torch.Tensor{a, b, c.Add(a), d.Add(b)}, 1)
	case CXCYWH:
		x, y := a.Sub(half(c)), b.Sub(half(d))
		return torch.Stack([]torch.Tensor{x, y, c.Add(x), d.Add(y)}, 1)
	}
	return boxes
}

func fromXYXY(boxes torch.Tensor, to BoxFormat) torch.Tensor {
	a, b, c, d := columns(boxes)
	middle := func(low, size torch.Tensor) torch.Tensor {
		t := low.MulScalar(2).Add(size)
		if t.IsFloatingPoint() {
			return t.DivScalar(2)
		}
		return t.FloorDivideScalar(2)
	}
	w, h := c.Sub(a), d.Sub(b)
	switch to {
	case XYWH:
		return torch.Stack([]torch.Tensor{a, b, w, h}, 1)
	case CXCYWH:
		return torch.Stack([]torch.Tensor{middle(a, w), middle(b, h), w, h}, 1)
	}
	return boxes
}

// convert changes what the numbers are.
func convert(boxes torch.Tensor, from, to BoxFormat) torch.Tensor {
	if from == to {
		return boxes
	}
	return fromXYXY(toXYXY(boxes, from), to)
}

// floating is boxes as numbers to compute with.
func floating(boxes torch.Tensor) torch.Tensor {
	if boxes.IsFloatingPoint() {
		return boxes
	}
	return boxes.To(torch.Float32)
}

// clampBoxes cuts off what lies outside of an image of h by w.
func clampBoxes(boxes torch.Tensor, f BoxFormat, h, w int) torch.Tensor {
	a, b, c, d := columns(toXYXY(floating(boxes), f))
	in := torch.Stack([]torch.Tensor{a.Clamp(0, w), b.Clamp(0, h), c.Clamp(0, w), d.Clamp(0, h)}, 1)
	return convert(in, XYXY, f).To(boxes.DType())
}

// moved adds numbers to the places of boxes, and cuts off what lies outside.
func moved(boxes torch.Tensor, f BoxFormat, dx, dy, h, w int) torch.Tensor {
	by := []int{dx, dy, dx, dy}
	if f != XYXY {
		by[2], by[3] = 0, 0
	}
	return clampBoxes(boxes.Add(torch.FromSlice(by).To(boxes.DType()).To(boxes.Device())), f, h, w)
}

// corners are the four corners [4 N, 2] of boxes in XYXY.
func corners(boxes torch.Tensor) torch.Tensor {
	a, b, c, d := columns(boxes)
	return torch.Stack([]torch.Tensor{a, b, c, b, c, d, a, d}, 1).Reshape(-1, 2)
}

// around are the least boxes in XYXY around groups of four points [4 N, 2].
func around(points torch.Tensor) torch.Tensor {
	low, high := points.Reshape(-1, 4, 2).AMinMax(1)
	return torch.Cat([]torch.Tensor{low, high}, 1)
}

// ClampBoundingBoxes cuts off what of the boxes lies outside of the image.
type ClampBoundingBoxes struct{}

// Apply changes the boxes.
func (t ClampBoundingBoxes) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (ClampBoundingBoxes) plan(Sample, *rand.Rand) []step { return []step{clampBoundingBoxes{}} }

type clampBoundingBoxes struct{}

func (clampBoundingBoxes) apply(s Sample) Sample {
	if s.Boxes.Defined() {
		h, w := s.size()
		s.Boxes = clampBoxes(s.Boxes, s.Format, h, w)
	}
	return s
}

// ConvertBoundingBoxFormat makes other numbers of the boxes.
type ConvertBoundingBoxFormat struct{ Format BoxFormat }

// Apply changes the boxes and their format.
func (t ConvertBoundingBoxFormat) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t ConvertBoundingBoxFormat) plan(Sample, *rand.Rand) []step {
	return []step{convertBoundingBoxFormat{t.Format}}
}

type convertBoundingBoxFormat struct{ Format BoxFormat }

func (c convertBoundingBoxFormat) apply(s Sample) Sample {
	if s.Boxes.Defined() {
		s.Boxes = convert(s.Boxes, s.Format, c.Format)
	}
	s.Format = c.Format
	return s
}

// SanitizeBoundingBoxes takes out boxes that are too small or reach out of the image, with their masks and labels.
type SanitizeBoundingBoxes struct {
	MinSize float64 // of a side; default 1
	MinArea float64 // default 1
}

// Apply takes them out.
func (t SanitizeBoundingBoxes) Apply(s Sample, r *rand.Rand) Sample { return run(t, s, r) }

func (t SanitizeBoundingBoxes) plan(Sample, *rand.Rand) []step {
	return []step{sanitizeBoundingBoxes{max(1, t.MinSize), max(1, t.MinArea)}}
}

type sanitizeBoundingBoxes struct{ MinSize, MinArea float64 }

func (m sanitizeBoundingBoxes) apply(s Sample) Sample {
	if !s.Boxes.Defined() {
		torch.Throw("sanitize_bounding_boxes", torch.KindValue, "the sample has no boxes")
	}
	h, w := s.size()
	a, b, c, d := columns(toXYXY(floating(s.Boxes), s.Format))
	wide, high := c.Sub(a), d.Sub(b)
	valid := wide.GeScalar(m.MinSize).LogicalAnd(high.GeScalar(m.MinSize)).LogicalAnd(wide.Mul(high).GeScalar(m.MinArea))
	for _, ok := range []torch.Tensor{a.GeScalar(0), c.LeScalar(w), c.GeScalar(0), a.LeScalar(w), b.GeScalar(0), d.LeScalar(h),
		d.GeScalar(0), b.LeScalar(h)} {
		valid = valid.LogicalAnd(ok)
	}
	n := s.Boxes.Size(0)
	for _, t := range []*torch.Tensor{&s.Boxes, &s.Masks, &s.Labels} {
		if t.Defined() && t.Dim() > 0 && t.Size(0) == n {
			*t = t.Index(valid)
		}
	}
	return s
}
