package export

import "github.com/libtorch-go/libtorch/torch"

// What Winograd's tiles become comes in bands of rows where their weights stay near: others would come from afar for each band.
const nearWeights = 1 << 18

// pooled takes the largest of neighbouring pixels while what Winograd's tiles become is near, where it is large, and in the dtype that they
// are converted to.
func pooled(r *rewriter) {
	g, f := &r.p.Graph, r.flow()
	for i := range g.Nodes {
		n := &g.Nodes[i]
		name, _ := kindOf(n.arg("x"))
		if n.Target != "torch.ops.libtorchgo.max_pool2d.default" {
			continue
		}
		made, ok := f.maker[name]
		if !ok || f.only(name) != i || !r.pools(f, &g.Nodes[made]) {
			continue
		}
		wide, dtype := &g.Nodes[made], g.Tensors[name].DType
		converted := r.conversion(f, n, dtype)
		if converted >= 0 {
			dtype = torch.BFloat16
		}
		to := n.with("torch.ops.libtorchgo.winograd_max_pool2d.default", given("x", wide.arg("x")), given("weight", wide.arg("weight")),
			given("bias", wide.arg("bias")), given("padding", wide.arg("padding")), given("activation", wide.arg("activation")),
			given("kernel", n.arg("kernel")), given("stride", n.arg("stride")), given("window_padding", n.arg("padding")),
			given("dtype", dtype))
		r.drop(f, made)
		r.put(f, i, to, converted)
	}
}

// pools tells whether a node is a convolution of Winograd's whose results are large, and whose weights are not.
func (r *rewriter) pools(f *flow, n *Node) bool {
	name, _ := n.result()
	w, ok := r.state(f, n.arg("weight"))
	return n.Target == winogradTarget && n.arg("sum") == nil && ok && w.NumEl() <= nearWeights &&
		r.p.Graph.Tensors[name].numbers() >= leaves
}

// conversion is the place of the node that alone reads what another makes of float32, and converts it to bfloat16.
func (r *rewriter) conversion(f *flow, n *Node, from torch.DType) (at int) {
	name, _ := n.result()
	to, at := r.soleReader(f, name)
	if to == nil || from != torch.Float32 || !converts(to, torch.BFloat16) || !hasKernels(torch.BFloat16) {
		return nowhere
	}
	return at
}
