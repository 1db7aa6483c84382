package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// signal is the operator of ours that computes a convolution of signals, as one of images of one row, or of one column where what the
// kernel sees lies apart. Its results lie with their channels last, as images do, and linear layers want them.
func (r *rewriter) signal(n *Node, w torch.Tensor, c convolution, a activation, sizes []int) (to Node, ok bool) {
	activation, known := ownActivation(a)
	switch {
	case !known:
		return to, false
	case c.groups > 1:
		if c.dilation[1] != 1 {
			return to, false
		}
		return r.depthwise(n, w.Unsqueeze(2), c, activation, sizes)
	case c.dilation[1] == 1:
		return r.direct(n, w.Unsqueeze(2), c, activation)
	}
	for _, pair := range [][]int64{c.stride, c.padding, c.dilation} {
		slices.Reverse(pair)
	}
	return r.direct(n, w.Unsqueeze(3), c, activation)
}

// volumes is the operator of ours that computes a convolution of volumes, as one of images whose channels are those of all slices that the
// kernel sees: so it takes as few multiplications as images take.
func (r *rewriter) volumes(n *Node, w torch.Tensor, c convolution, a activation, sizes []int) (to Node, ok bool) {
	activation, known := ownActivation(a)
	if !known || c.groups != 1 || !slices.Equal(c.dilation, []int64{1, 1, 1}) {
		return to, false
	}
	kernel := []int64{int64(w.Size(2)), int64(w.Size(3)), int64(w.Size(4))}
	slice := convolution{c.stride[1:], c.padding[1:], c.dilation[1:], 1}
	flat := func(w torch.Tensor) torch.Tensor {
		return w.Permute(0, 2, 1, 3, 4).Reshape(w.Size(0), -1, w.Size(3), w.Size(4))
	}
	images := []int{sizes[0] * c.outputs(sizes, w, 0), w.Size(1) * w.Size(2), sizes[3], sizes[4]}
	packed, winograd := slice.winogradWeight(images, flat(r.unrounded(n.arg("weight"), w)), w.DType())
	if !winograd {
		if packed, ok = inner("libtorchgo::direct_weight", flat(w)); !ok {
			return to, false
		}
	}
	return r.ours(n, volumesTarget, "volumes_weight", packed, activation, given("outputs", int64(w.Size(0))), given("kernel", kernel),
		given("stride", c.stride), given("padding", c.padding), given("winograd", winograd)), true
}
