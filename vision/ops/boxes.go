package ops

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
)

// BoxFormat is how four numbers say where a box is.
type BoxFormat struct{ n uint8 }

// The formats: two corners, a corner and the size, the centre and the size.
var (
	XYXY   = BoxFormat{0}
	XYWH   = BoxFormat{1}
	CXCYWH = BoxFormat{2}
)

// String is torchvision's name.
func (f BoxFormat) String() string { return [...]string{"xyxy", "xywh", "cxcywh"}[f.n] }

// checkBoxes refuses what are no boxes [..., 4].
func checkBoxes(op string, list ...torch.Tensor) {
	for _, boxes := range list {
		if d := boxes.Dim(); d < 2 || boxes.Size(d-1) != 4 {
			torch.Throw(op, torch.KindValue, "expected boxes [N, 4], got %v", boxes.Shape())
		}
	}
}

// column is one of the four numbers of every box.
func column(boxes torch.Tensor, i int) torch.Tensor { return boxes.Select(-1, i) }

// BoxConvert writes boxes [..., 4] of one format in another.
func BoxConvert(boxes torch.Tensor, from, to BoxFormat) torch.Tensor {
	checkBoxes("box_convert", boxes)
	return torch.Scope1(func() torch.Tensor {
		if from == to {
			return boxes.Clone()
		}
		a, b, c, d := column(boxes, 0), column(boxes, 1), column(boxes, 2), column(boxes, 3)
		switch from { // to corners
		case XYWH:
			c, d = a.Add(c), b.Add(d)
		case CXCYWH:
			w, h := c.MulScalar(0.5), d.MulScalar(0.5)
			a, b, c, d = a.Sub(w), b.Sub(h), a.Add(w), b.Add(h)
		}
		switch to { // from corners
		case XYWH:
			c, d = c.Sub(a), d.Sub(b)
		case CXCYWH:
			a, b, c, d = a.Add(c).DivScalar(2), b.Add(d).DivScalar(2), c.Sub(a), d.Sub(b)
		}
		return torch.Stack([]torch.Tensor{a, b, c, d}, -1)
	})
}

// BoxArea is the areas [...] of boxes [..., 4].
func BoxArea(boxes torch.Tensor) torch.Tensor {
	checkBoxes("box_area", boxes)
	return torch.Scope1(func() torch.Tensor { return area(upcast(boxes)) })
}

func area(boxes torch.Tensor) torch.Tensor {
	return column(boxes, 2).Sub(column(boxes, 0)).Mul(column(boxes, 3).Sub(column(boxes, 1)))
}

// upcast makes room for the products of what comes in a narrow type.
func upcast(x torch.Tensor) torch.Tensor {
	switch x.DType() {
	case torch.Float16, torch.BFloat16:
		return x.To(torch.Float32)
	case torch.Int8, torch.Int16, torch.Uint8:
		return x.To(torch.Int32)
	}
	return x
}

// BoxIoU is for boxes [N, 4] and [M, 4] the area that two have in common over that of both: [N, M].
func BoxIoU(a, b torch.Tensor) torch.Tensor {
	checkBoxes("box_iou", a, b)
	return torch.Scope1(func() torch.Tensor {
		common, both := overlap(a, b)
		return common.Div(both)
	})
}

// GeneralizedBoxIoU is [BoxIoU] less the part of the smallest box around two that neither covers (Rezatofighi et al.
// 2019): [N, M].
func GeneralizedBoxIoU(a, b torch.Tensor) torch.Tensor {
	checkBoxes("generalized_box_iou", a, b)
	return torch.Scope1(func() torch.Tensor {
		common, both := overlap(a, b)
		first, second := a.Unsqueeze(-2), b.Unsqueeze(-3)
		least := first.Narrow(-1, 0, 2).Minimum(second.Narrow(-1, 0, 2))
		most := first.Narrow(-1, 2, 2).Maximum(second.Narrow(-1, 2, 2))
		size := upcast(most.Sub(least)).ClampMin(0)
		around := column(size, 0).Mul(column(size, 1))
		return common.Div(both).Sub(around.Sub(both).Div(around))
	})
}

// DistanceBoxIoU is [BoxIoU] less the squared distance of two centres, measured by the diagonal of the smallest box around both (Zheng et
// al. 2020): [N, M]. Boxes have some width and height.
func DistanceBoxIoU(a, b torch.Tensor) torch.Tensor {
	checkBoxes("distance_box_iou", a, b)
	return torch.Scope1(func() torch.Tensor {
		distant, _ := distance(upcast(a), upcast(b))
		return distant
	})
}

// CompleteBoxIoU is [DistanceBoxIoU] less a term for how unlike two boxes are in form: [N, M]. No gradient goes through the weight of
// that term.
func CompleteBoxIoU(a, b torch.Tensor) torch.Tensor {
	checkBoxes("complete_box_iou", a, b)
	return torch.Scope1(func() torch.Tensor {
		a, b := upcast(a), upcast(b)
		distant, iou := distance(a, b)
		form := func(boxes torch.Tensor) torch.Tensor {
			return column(boxes, 2).Sub(column(boxes, 0)).Div(column(boxes, 3).Sub(column(boxes, 1))).Atan()
		}
		pi := math.Pi
		unlike := form(a).Unsqueeze(-1).Sub(form(b).Unsqueeze(-2)).PowScalar(2).MulScalar(4 / (pi * pi))
		var weight torch.Tensor
		torch.NoGrad(func() { weight = unlike.Div(iou.Neg().AddScalar(1).Add(unlike).AddScalar(boxEps)) })
		return distant.Sub(weight.Mul(unlike))
	})
}

// boxEps keeps quotients finite, as torchvision's eps.
const boxEps = 1e-7

// distance is the IoU of each two boxes with and without the distance of their centres.
func distance(a, b torch.Tensor) (distant, iou torch.Tensor) {
	iou = BoxIoU(a, b)
	first, second := a.Unsqueeze(-2), b.Unsqueeze(-3)
	least := first.Narrow(-1, 0, 2).Minimum(second.Narrow(-1, 0, 2))
	most := first.Narrow(-1, 2, 2).Maximum(second.Narrow(-1, 2, 2))
	size := upcast(most.Sub(least)).ClampMin(0)
	diagonal := column(size, 0).PowScalar(2).Add(column(size, 1).PowScalar(2)).AddScalar(boxEps)
	apart := func(i int) torch.Tensor {
		centre := func(boxes torch.Tensor) torch.Tensor { return column(boxes, i).Add(column(boxes, i+2)).DivScalar(2) }
		return upcast(centre(a).Unsqueeze(-1).Sub(centre(b).Unsqueeze(-2))).PowScalar(2)
	}
	return iou.Sub(apart(0).Add(apart(1)).Div(diagonal)), iou
}

// MasksToBoxes is the smallest boxes around what is not 0 in masks [N, H, W]: float32 [N, 4], of the first and the last column and row.
// An empty mask has the box 0, 0, 0, 0.
func MasksToBoxes(masks torch.Tensor) torch.Tensor {
	if masks.Dim() != 3 {
		torch.Throw("masks_to_boxes", torch.KindValue, "expected masks [N, H, W], got %v", masks.Shape())
	}
	return torch.Scope1(func() torch.Tensor {
		if masks.NumEl() == 0 {
			return torch.TensorOptions{Device: masks.Device()}.Zeros(0, 4)
		}
		some := masks.NeScalar(0)
		ends := func(dim int) (first, last torch.Tensor) { // of the rows or columns in which there is something
			line := some.AnyDim(dim).To(torch.Float32)
			return line.ArgMaxDim(1), line.Flip(1).ArgMaxDim(1).Neg().AddScalar(line.Size(1) - 1)
		}
		top, bottom := ends(2)
		left, right := ends(1)
		boxes := torch.Stack([]torch.Tensor{left, top, right, bottom}, 1).To(torch.Float32)
		return boxes.MaskedFill(some.Flatten(1).AnyDim(1).LogicalNot().Unsqueeze(1), 0)
	})
}

// overlap is the area that each two boxes have in common, and that of both.
func overlap(a, b torch.Tensor) (common, both torch.Tensor) {
	first, second := a.Unsqueeze(-2), b.Unsqueeze(-3)
	least := first.Narrow(-1, 0, 2).Maximum(second.Narrow(-1, 0, 2))
	most := first.Narrow(-1, 2, 2).Minimum(second.Narrow(-1, 2, 2))
	size := upcast(most.Sub(least)).ClampMin(0)
	common = column(size, 0).Mul(column(size, 1))
	return common, area(upcast(a)).Unsqueeze(-1).Add(area(upcast(b)).Unsqueeze(-2)).Sub(common)
}

// ClipBoxesToImage moves corners of boxes [..., 4] that are outside of an image of that height and width to its
// border.
func ClipBoxesToImage(boxes torch.Tensor, size [2]int) torch.Tensor {
	checkBoxes("clip_boxes_to_image", boxes)
	return torch.Scope1(func() torch.Tensor {
		x := boxes.Index(torch.Ellipsis, torch.Slice(0, torch.End, 2)).Clamp(0, size[1])
		y := boxes.Index(torch.Ellipsis, torch.Slice(1, torch.End, 2)).Clamp(0, size[0])
		return torch.Stack([]torch.Tensor{x, y}, boxes.Dim()).Reshape(boxes.Shape()...)
	})
}

// RemoveSmallBoxes is which of boxes [N, 4] are at least that wide and high: int64 [kept].
func RemoveSmallBoxes(boxes torch.Tensor, minSize float64) torch.Tensor {
	checkBoxes("remove_small_boxes", boxes)
	return torch.Scope1(func() torch.Tensor {
		wide := column(boxes, 2).Sub(column(boxes, 0)).GeScalar(minSize)
		high := column(boxes, 3).Sub(column(boxes, 1)).GeScalar(minSize)
		return wide.LogicalAnd(high).Nonzero().Select(1, 0)
	})
}

// NMS keeps of boxes [N, 4] with scores [N] those that overlap no better one by more than the threshold, measured by
// [BoxIoU]: int64 [kept], the best first. Boxes are float32 or float64; they are looked at on the CPU, wherever they
// are, but after [UseTorchvision].
func NMS(boxes, scores torch.Tensor, iouThreshold float64) torch.Tensor {
	const op = "nms"
	checkBoxes(op, boxes)
	if boxes.Dim() != 2 || scores.Dim() != 1 || boxes.Size(0) != scores.Size(0) || boxes.DType() != scores.DType() {
		torch.Throw(op, torch.KindValue, "expected boxes [N, 4] and scores [N] of one type, got %v%v and %v%v",
			boxes.DType(), boxes.Shape(), scores.DType(), scores.Shape())
	}
	return torch.Scope1(func() torch.Tensor {
		if torchvision.Load() {
			return call1("torchvision::nms", boxes, scores, iouThreshold)
		}
		order := torch.Values[int64](scores.ArgSortStable(torch.ArgSortOptions{Descending: true}))
		var kept []int64
		switch boxes.DType() {
		case torch.Float32:
			kept = suppress(torch.Values[float32](boxes), order, iouThreshold)
		case torch.Float64:
			kept = suppress(torch.Values[float64](boxes), order, iouThreshold)
		default:
			torch.Throw(op, torch.KindType, "expected boxes of float32 or float64, got %v", boxes.DType())
		}
		return torch.FromSlice(kept, len(kept)).To(boxes.Device())
	})
}

// BatchedNMS is [NMS] among the boxes of each class, an integer for each box [N]: int64 [kept], the best of all first.
func BatchedNMS(boxes, scores, classes torch.Tensor, iouThreshold float64) torch.Tensor {
	const op, together = "batched_nms", 4000
	checkBoxes(op, boxes)
	if classes.Dim() != 1 || classes.Size(0) != boxes.Size(0) || classes.DType().IsFloatingPoint() {
		torch.Throw(op, torch.KindValue, "expected an integer for each of boxes %v, got %v%v", boxes.Shape(), classes.DType(), classes.Shape())
	}
	return torch.Scope1(func() torch.Tensor {
		if n := boxes.NumEl(); n > 0 && n <= together { // far from each other, boxes of two classes have nothing in common
			far := classes.To(boxes.DType()).Mul(boxes.Max().AddScalar(1))
			return NMS(boxes.Add(far.Unsqueeze(1)), scores, iouThreshold)
		}
		keep := torch.ZerosLike(scores, torch.TensorOptions{DType: torch.Bool})
		all, _, _ := classes.Unique()
		for _, class := range torch.Values[int64](all.To(torch.Int64)) {
			own := classes.EqScalar(class).Nonzero().Select(1, 0)
			kept := NMS(boxes.IndexSelect(0, own), scores.IndexSelect(0, own), iouThreshold)
			keep.IndexFillInPlace(0, own.IndexSelect(0, kept), true)
		}
		kept := keep.Nonzero().Select(1, 0)
		return kept.IndexSelect(0, scores.IndexSelect(0, kept).ArgSort(torch.ArgSortOptions{Descending: true}))
	})
}

// suppress goes through boxes from the best on, in the arithmetic of torchvision's kernel.
func suppress[F float32 | float64](boxes []F, order []int64, threshold float64) []int64 {
	kept, gone := []int64{}, make([]bool, len(order))
	side := func(from, to F) F { return max(0, to-from) }
	for n, i := range order {
		if gone[i] {
			continue
		}
		kept = append(kept, i)
		a := boxes[4*i : 4*i+4]
		area := (a[2] - a[0]) * (a[3] - a[1])
		for _, j := range order[n+1:] {
			b := boxes[4*j : 4*j+4]
			common := side(max(a[0], b[0]), min(a[2], b[2])) * side(max(a[1], b[1]), min(a[3], b[3]))
			if ratio := common / (area + (b[2]-b[0])*(b[3]-b[1]) - common); float64(ratio) > threshold {
				gone[j] = true
			}
		}
	}
	return kept
}
