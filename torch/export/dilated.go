package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

const dilatedTarget = "torch.ops.libtorchgo.dilated.default"

// dilated is our operator for a convolution of 3 x 3 pixels that lie apart, as segmentation has them: pixels so far apart are images of
// their own, for which Winograd's forms are. ok is false where a direct convolution, of what of its kernel meets the images, takes less.
func (r *rewriter) dilated(n *Node, w torch.Tensor, c convolution, activation string, sizes []int) (to Node, ok bool) {
	apart, d := c.dilation[0], int(c.dilation[0])
	ones, padding := []int64{1, 1}, []int64{c.padding[0] / apart, c.padding[1] / apart}
	if d > min(sizes[2], sizes[3]) || c.groups > 1 || c.dilation[1] != apart || !slices.Equal(c.stride, ones) ||
		c.padding[0]%apart+c.padding[1]%apart > 0 {
		return to, false
	}
	part := convolution{ones, padding, ones, 1}
	parts := []int{sizes[0] * d * d, sizes[1], (sizes[2] + d - 1) / d, (sizes[3] + d - 1) / d}
	form, takes := part.winograd(parts, w, w.DType())
	met := w.Size(0) * w.Size(1) * sizes[0] * c.sweep(0, sizes[2], w).products() * c.sweep(1, sizes[3], w).products()
	if form.step == 0 || takes > clearly*float64(met) {
		return to, false
	}
	packed, ok := form.weight(r.unrounded(n.arg("weight"), w), w.DType())
	if !ok {
		return to, false
	}
	return r.ours(n, dilatedTarget, "winograd_weight", packed, activation, given("padding", c.padding), given("dilation", apart)), true
}
