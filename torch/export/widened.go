package export

import "github.com/libtorch-go/libtorch/torch"

// widened has linear layers of ours in bfloat16 make float32 where nothing else reads what they make, as where it is returned: sums are float32
// until they are written.
func widened(r *rewriter) {
	g, f, gone := &r.p.Graph, r.flow(), map[int]bool{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		name, _ := n.result()
		at := f.only(name)
		if n.Target != "torch.ops.libtorchgo.linear.default" || n.arg("activation") != "none" || at < 0 || at == len(g.Nodes) ||
			!converts(&g.Nodes[at], torch.Float32) {
			continue
		}
		to := n.with("torch.ops.libtorchgo.linear_wide.default", given("x", n.arg("x")), given("weight", n.arg("weight")),
			given("outputs", n.arg("outputs")), given("bias", n.arg("bias")))
		to.makes(&g.Nodes[at])
		g.Nodes[i], gone[at] = to, true
		r.calls(&to)
	}
	r.remove(gone)
}

// converts tells whether a node only converts what it reads to a dtype.
func converts(n *Node, to torch.DType) bool {
	return n.Target == "torch.ops.aten._to_copy.default" && len(n.Inputs) == 2 && n.arg("dtype") == to
}
