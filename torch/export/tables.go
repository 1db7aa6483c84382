package export

// tables lets rows of tables on the CPU be copied by an operator of ours, which takes an eighth of the time for few of them: networks of
// categories have many tables.
func tables(r *rewriter) {
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		name, _ := kindOf(n.arg("weight"))
		if n.Target != "torch.ops.aten.embedding.default" || !r.p.Graph.Tensors[name].Device.IsCPU() {
			continue
		}
		to := n.with("torch.ops.libtorchgo.embedding.default", given("table", n.arg("weight")), given("indices", n.arg("indices")))
		r.p.Graph.Nodes[i] = to
		r.calls(&to)
	}
}
