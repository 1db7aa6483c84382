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
		f := r.flow()
		activation, next := "none", f.only(name)
		last := n
		if next >= 0 && next < len(r.p.Graph.Nodes) {
			a, known := activationOf(&r.p.Graph.Nodes[next])
			own, ours := ownActivation(a)
			if known && ours {
				activation, last = own, &r.p.Graph.Nodes[next]
			}
		}
		eps := n.arg("eps")
		if eps == nil {
			eps = 1e-5
		}
		to := n.with("torch.ops.libtorchgo.group_norm.default", given("x", n.arg("input")), given("groups", n.arg("num_groups")),
			given("weight", n.arg("weight")), given("bias", n.arg("bias")), given("eps", eps), given("activation", activation))
		to.makes(last)
		r.p.Graph.Nodes[i] = to
		r.calls(&to)
		r.remove(map[int]bool{next: activation != "none"})
	}
}
