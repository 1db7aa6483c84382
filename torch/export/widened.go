package export

import "github.com/libtorch-go/libtorch/torch"

// widened has operators of ours in bfloat16 make float32, as their sums are until they are written, where that is what alone reads it
// takes: linear layers whose results are converted, as where they are returned, and convolutions in front of Winograd's, whose tiles become
// numbers of float32 first. What is between is twice as large then, and stays as it was where it would not be near still.
func widened(r *rewriter) {
	g, f, gone := &r.p.Graph, r.flow(), map[int]bool{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		name, _ := n.result()
		next, at := r.soleReader(f, name)
		if next == nil || g.Tensors[name].DType != torch.BFloat16 {
			continue
		}
		switch {
		case n.Target == "torch.ops.libtorchgo.linear.default" && n.arg("activation") == "none" && converts(next, torch.Float32):
			to := n.with("torch.ops.libtorchgo.linear_wide.default", given("x", n.arg("x")), given("weight", n.arg("weight")),
				given("outputs", n.arg("outputs")), given("bias", n.arg("bias")))
			to.makes(next)
			g.Nodes[i], gone[at] = to, true
			r.calls(&to)
		case r.isWidened(f, n, next, name):
			to := n.with("torch.ops.libtorchgo.direct_wide.default", given("x", n.arg("x")), given("weight", n.arg("weight")),
				given("bias", n.arg("bias")), given("outputs", n.arg("outputs")), given("kernel", n.arg("kernel")),
				given("stride", n.arg("stride")), given("padding", n.arg("padding")), given("dilation", n.arg("dilation")),
				given("activation", n.arg("activation")))
			m := g.Tensors[name]
			m.DType = torch.Float32
			g.Tensors[name], g.Nodes[i] = m, to
			r.calls(&to)
		}
	}
	r.remove(gone)
}

// staysNear is how many numbers of float32 stay in the cache until they are read.
const staysNear = 1 << 18

// isWidened tells whether a node is a direct convolution in front of one of Winograd's whose numbers are bfloat16.
func (r *rewriter) isWidened(f *flow, n, next *Node, name string) bool {
	if n.Target != directTarget || n.arg("sum") != nil || n.arg("activation") != "none" && n.arg("activation") != "relu" {
		return false
	}
	x, _ := kindOf(next.arg("x"))
	w, ok := r.state(f, next.arg("weight"))
	return (next.Target == winogradTarget || next.Target == addingForms[winogradTarget]) && x == name && ok &&
		w.DType() == torch.BFloat16 && r.p.Graph.Tensors[name].numbers() <= staysNear
}

// converts tells whether a node only converts what it reads to a dtype.
func converts(n *Node, to torch.DType) bool {
	return n.Target == "torch.ops.aten._to_copy.default" && len(n.Inputs) == 2 && n.arg("dtype") == to
}
