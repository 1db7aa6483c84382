package export

import "github.com/libtorch-go/libtorch/torch"

// channelNorms lets group norms, and batch norms that no weight took in, of what has its channels last be computed by operators of ours,
// with the activation behind them: images that our convolutions make, or signals and volumes, which libtorch would turn for it; and rows.
func channelNorms(r *rewriter) {
	turned, f := r.turned(), r.flow()
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		if n.op() != "group_norm" && (n.op() != "batch_norm" || n.trains()) {
			continue
		}
		name, ok := n.result()
		x, _ := kindOf(n.arg("input"))
		m := r.p.Graph.Tensors[x]
		dims := len(m.Sizes)
		if !ok || m.DType != torch.Float32 || !m.Device.IsCPU() || dims != matrix && !turned[dims] {
			continue
		}
		a, next := r.behind(f, name)
		activation, ours := ownActivation(a)
		if !ours {
			activation, next = "none", nowhere
		}
		to, ok := r.channelNorm(f, n, activation)
		if !ok {
			continue
		}
		r.put(f, i, to, next)
	}
}

// channelNorm is a norm with an activation behind it, computed by ours.
func (r *rewriter) channelNorm(f *flow, n *Node, activation string) (to Node, ok bool) {
	x := given("x", n.arg("input"))
	if n.op() == "group_norm" {
		return n.with("torch.ops.libtorchgo.group_norm.default", x, given("groups", n.arg("num_groups")), given("weight", n.arg("weight")),
			given("bias", n.arg("bias")), given("eps", n.eps()), given("activation", activation)), true
	}
	s, known := r.scaling(f, n)
	if !known {
		return to, false
	}
	weight, bias := r.constant("norm_weight", s.scale.To(torch.Float32)), r.constant("norm_bias", s.shift.To(torch.Float32))
	return n.with("torch.ops.libtorchgo.batch_norm.default", x, given("weight", weight), given("bias", bias),
		given("activation", activation)), true
}

// eps is what a norm adds to the variance.
func (n *Node) eps() Argument {
	if eps := n.arg("eps"); eps != nil {
		return eps
	}
	return 1e-5
}
