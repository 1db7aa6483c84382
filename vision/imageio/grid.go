package imageio

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// GridOptions are the rarer arguments of [Grid].
type GridOptions struct {
	NRow       int         // images in a row; default 8
	Padding    *int        // pixels between them, and around them all; default 2
	PadValue   float64     // what these are; default 0
	Normalize  bool        // shift and stretch the numbers so that they lie between 0 and 1
	ValueRange *[2]float64 // what becomes 0 and 1; default: the least and the greatest number
	ScaleEach  bool        // look for these in each image, rather than in all
}

// Grid lays images [N, C, H, W] out in rows, as one image [C, height, width] of the same dtype: torchvision's
// make_grid. It panics with a *torch.Error for another number of dimensions, or no images.
func Grid(images torch.Tensor, opts ...GridOptions) torch.Tensor {
	o := option.One(opts)
	columns, pad := 8, 2
	if o.NRow > 0 {
		columns = o.NRow
	}
	if o.Padding != nil {
		pad = *o.Padding
	}
	if images.Dim() != 4 || images.Size(0) == 0 || pad < 0 {
		torch.Throw("grid", torch.KindValue, "expected images [N, C, H, W] and padding of 0 or more, got a tensor of shape %v and %d",
			images.Shape(), pad)
	}
	n, c, h, w := images.Size(0), images.Size(1), images.Size(2)+pad, images.Size(3)+pad
	columns = min(columns, n)
	rows := (n + columns - 1) / columns
	var grid torch.Tensor
	torch.NoGrad(func() {
		torch.Scope(func() {
			if o.Normalize {
				images = o.stretched(images)
			}
			grid = torch.TensorOptions{DType: images.DType(), Device: images.Device()}.Full([]int{c, rows*h + pad, columns*w + pad},
				o.PadValue).Keep()
			for i := range n {
				place := grid.Narrow(1, i/columns*h+pad, h-pad).Narrow(2, i%columns*w+pad, w-pad)
				place.CopyInPlace(images.Select(0, i))
			}
		})
	})
	return grid
}

// stretched brings the numbers between 0 and 1.
func (o GridOptions) stretched(images torch.Tensor) torch.Tensor {
	one := func(t torch.Tensor) torch.Tensor {
		low, high := 0.0, 0.0
		if o.ValueRange != nil {
			low, high = o.ValueRange[0], o.ValueRange[1]
		} else {
			low, high = t.Min().Float64(), t.Max().Float64()
		}
		return t.Clamp(low, high).SubScalar(low).DivScalar(max(high-low, 1e-5))
	}
	if !o.ScaleEach {
		return one(images)
	}
	list := make([]torch.Tensor, images.Size(0))
	for i := range list {
		list[i] = one(images.Select(0, i))
	}
	return torch.Stack(list)
}
