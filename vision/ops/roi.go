package ops

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// RoIAlignOptions are the rarer arguments of [RoIAlign].
type RoIAlignOptions struct {
	Scale         float64 // of x to the image that the boxes are in: 1/16 where a network has halved it four times; default 1
	SamplingRatio int     // points of a cell along each side; default: as many as it has pixels there
	Aligned       bool    // pixels are where their centres are, half a pixel further (Detectron2); default as in the paper
}

// boxesAtOnce bounds the memory of the weights.
const boxesAtOnce = 64

// RoIAlign cuts boxes out of images x [N, C, H, W], divides each into size cells and averages x at points of each cell, between
// pixels linearly (He et al. 2017, Mask R-CNN): [boxes, C, size[0], size[1]]. There is a tensor of boxes [K, 4] for each image, in
// x's dtype. Outside of an image everything is 0. Gradients go to x alone.
//
// What lies between pixels is a sum along each side, so this is two products of matrices; torchvision's kernel sums up in
// another order, and runs in place of this after [UseTorchvision].
func RoIAlign(x torch.Tensor, boxes []torch.Tensor, size [2]int, opts ...RoIAlignOptions) torch.Tensor {
	const op = "roi_align"
	o := option.One(opts)
	checkBoxes(op, boxes...)
	switch {
	case x.Dim() != 4 || x.Size(0) != len(boxes):
		torch.Throw(op, torch.KindValue, "expected images [N, C, H, W] and boxes for each, got %v and boxes for %d", x.Shape(), len(boxes))
	case size[0] < 1 || size[1] < 1 || o.SamplingRatio < 0:
		torch.Throw(op, torch.KindValue, "expected cells and no negative number of points, got %v and %d", size, o.SamplingRatio)
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	for _, list := range boxes {
		if list.Dim() != 2 || list.DType() != x.DType() {
			torch.Throw(op, torch.KindValue, "expected boxes [K, 4] of %v, got %v of %v", x.DType(), list.Shape(), list.DType())
		}
	}
	return torch.Scope1(func() torch.Tensor {
		if torchvision.Load() {
			points := o.SamplingRatio
			if points == 0 {
				points = -1
			}
			return call1("torchvision::roi_align", x, rows(x, boxes).Detach(), o.Scale, size[0], size[1], points, o.Aligned)
		}
		parts := []torch.Tensor{x.NewZeros([]int{0, x.Size(1), size[0], size[1]})}
		for i, list := range boxes {
			for from := 0; from < list.Size(0); from += boxesAtOnce {
				some := list.Narrow(0, from, min(boxesAtOnce, list.Size(0)-from))
				parts = append(parts, cells(x.Select(0, i), some.Detach(), size, o))
			}
		}
		return torch.Cat(parts)
	})
}

// cells are those of boxes [K, 4] in an image [C, H, W]: [K, C, size[0], size[1]].
func cells(x, boxes torch.Tensor, size [2]int, o RoIAlignOptions) torch.Tensor {
	k, c, h, w := boxes.Size(0), x.Size(0), x.Size(1), x.Size(2)
	var across, down torch.Tensor
	torch.NoGrad(func() {
		boxes := upcast(boxes).MulScalar(o.Scale)
		if o.Aligned {
			boxes = boxes.SubScalar(0.5)
		}
		across = points(column(boxes, 0), column(boxes, 2), size[1], w, o).To(x.DType())
		down = points(column(boxes, 1), column(boxes, 3), size[0], h, o).To(x.DType())
	})
	rows := x.Reshape(c*h, w).MM(across.Reshape(k*size[1], w).T()).Reshape(c, h, k, size[1])
	all := down.BMM(rows.Permute(2, 1, 0, 3).Reshape(k, h, c*size[1]))
	return all.Reshape(k, size[0], c, size[1]).Permute(0, 2, 1, 3)
}

// points is how much each of n pixels counts in each cell of boxes that go from first to last [K] along a side: [K, cells, n].
func points(first, last torch.Tensor, cells, n int, o RoIAlignOptions) torch.Tensor {
	length := last.Sub(first)
	if !o.Aligned {
		length = length.ClampMin(1)
	}
	cell := length.DivScalar(cells)
	count := torch.FullLike(cell, o.SamplingRatio)
	if o.SamplingRatio == 0 {
		count = cell.Ceil().ClampMin(0)
	}
	at := func(t torch.Tensor) torch.Tensor { return t.Reshape(-1, 1, 1) }
	number := torch.Arange(max(1, int(count.Max().Float64()))).To(first.Device())
	place := at(first).Add(torch.Arange(cells).To(first.Device()).Reshape(1, -1, 1).Mul(at(cell))).
		Add(number.AddScalar(0.5).Mul(at(cell)).Div(at(count.ClampMin(1))))
	inside := place.GeScalar(-1).LogicalAnd(place.LeScalar(n)).LogicalAnd(number.Lt(at(count)))
	near := place.Clamp(0, n-1).Unsqueeze(-1).Sub(torch.Arange(n).To(first.Device())).Abs()
	weights := near.Neg().AddScalar(1).ClampMin(0).Mul(inside.Unsqueeze(-1))
	return weights.SumDim([]int{2}).Div(at(count.ClampMin(1)))
}
