package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// lowered is a constant in the program's dtype. What it was stays known, for operators of ours that round it in another form, or not at
// all.
func (r *rewriter) lowered(readers []int, name string, t torch.Tensor) TensorArgument {
	low := t
	if r.dtype == torch.Float16 {
		low = t.Clamp(-largestHalf, largestHalf)
	}
	weighs := func(at int) bool {
		if at >= len(r.p.Graph.Nodes) {
			return false
		}
		n := &r.p.Graph.Nodes[at]
		w, _ := kindOf(n.arg("weight"))
		return products[n.op()] != 0 && w == name
	}
	if slices.ContainsFunc(readers, weighs) {
		low = balanced(low, r.dtype, false)
	}
	to := r.constant("lowered", low.To(r.dtype))
	r.rounded[string(to)] = t
	return to
}

// balanced are weights in a dtype of fewer bits, rounded such that the errors of those of one output, which have one first index, add up to
// nearly nothing, inwards such that none becomes larger for it. What a layer reads is mostly of one sign, as behind a ReLU, or alike, as
// neighbouring pixels are, so that errors count by their sum.
func balanced(t torch.Tensor, dtype torch.DType, inwards bool) (own torch.Tensor) {
	torch.Unsafe(func() { own = torch.Call("libtorchgo::balanced", t.To(torch.CPU), dtype, inwards)[0].(torch.Tensor) })
	return own.To(t.Device())
}

// unrounded is a constant as it was before the program was lowered.
func (r *rewriter) unrounded(a Argument, t torch.Tensor) torch.Tensor {
	name, _ := kindOf(a)
	if was, ok := r.rounded[name]; ok {
		return was
	}
	return t
}
