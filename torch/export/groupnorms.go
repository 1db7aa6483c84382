package export

import "github.com/libtorch-go/libtorch/torch"

// groupNorms lets group norms of what has its channels last be computed by an operator of ours, with the activation behind them: images
// that our convolutions make, or signals and volumes, which libtorch would turn for it.
func groupNorms(r *rewriter) {
	turned := r.turned()
	for i := 0; i < len(r.p.Graph.Nodes); i++ {
		n := &r.p.Graph.Nodes[i]
		name, ok := n.result()
		x, _ := kindOf(n.arg("input"))
		m := r.p.Graph.Tensors[x]
		if n.Target != "torch.ops.aten.group_norm.default" || !ok || m.DType != torch.Float32 || !m.Device.IsCPU() || !turned[len(m.Sizes)] {
			continue
		}
		a, next := r.behind(r.flow(), name)
		activation, ours := ownActivation(a)
		if !ours {
			activation, next = "none", nowhere
		}
		to := n.with("torch.ops.libtorchgo.group_norm.default", given("x", n.arg("input")), given("groups", n.arg("num_groups")),
			given("weight", n.arg("weight")), given("bias", n.arg("bias")), given("eps", n.eps()),
			given("activation", activation))
		if next >= 0 {
			to.makes(&r.p.Graph.Nodes[next])
		}
		r.p.Graph.Nodes[i] = to
		r.calls(&to)
		r.remove(map[int]bool{next: next >= 0})
	}
}

// eps is what a norm adds to the variance.
func (n *Node) eps() Argument {
	if eps := n.arg("eps"); eps != nil {
		return eps
	}
	return 1e-5
}
