package export

import "github.com/libtorch-go/libtorch/torch"

// narrow is our operator for a linear layer that keeps its weight in fewer bits, with an activation behind it.
func (r *rewriter) narrow(n *Node, w torch.Tensor, a activation) (to Node, ok bool) {
	activation, known := ownActivation(a)
	name, _ := n.result()
	if r.weights.IsZero() || r.floats[name] || w.DType() != torch.Float32 || !known {
		return to, false
	}
	var scale Argument
	if r.weights == torch.Int8 {
		var scales torch.Tensor
		w, scales = scaledWeights(w, false)
		scale = r.constant("scale", scales)
	} else {
		w = balanced(w, r.weights, false)
	}
	w = w.To(torch.Float32) // which has all numbers of both, and lies in panels
	packed, ok := linearWeight(w)
	if !ok {
		return to, false
	}
	return n.with("torch.ops.libtorchgo.linear_narrow.default", given("x", n.arg("input")),
		given("weight", r.constant("narrow_weight", packed.To(r.weights))), given("scale", scale), given("bias", n.arg("bias")),
		given("outputs", int64(w.Size(0))), given("activation", activation)), true
}
