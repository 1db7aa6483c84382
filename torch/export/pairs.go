package export

import "slices"

// leaves is how many numbers, with all that is read and written meanwhile, leave the cache before they are read again.
const leaves = 1 << 17

// pairs computes a direct convolution of 1 x 1 and the one behind it, of each channel by itself, together where what lies between them
// is large.
func pairs(r *rewriter) {
	g, f := &r.p.Graph, r.flow()
	for i := range g.Nodes {
		each := &g.Nodes[i]
		name, _ := kindOf(each.arg("x"))
		made, ok := f.maker[name]
		if each.Target != depthwiseTarget || each.arg("sum") != nil || !ok || f.only(name) != i || len(g.Tensors[name].Sizes) != 4 {
			continue
		}
		wide := &g.Nodes[made]
		if g.Tensors[name].numbers() < leaves || !isPlain(wide) {
			continue
		}
		to := each.with("torch.ops.libtorchgo.direct_depthwise.default", given("x", wide.arg("x")), given("weight", wide.arg("weight")),
			given("outputs", wide.arg("outputs")), given("bias", wide.arg("bias")), given("activation", wide.arg("activation")),
			given("each", each.arg("weight")), given("each_bias", each.arg("bias")), given("stride", each.arg("stride")),
			given("padding", each.arg("padding")), given("each_activation", each.arg("activation")))
		r.drop(f, made)
		r.put(f, i, to, nowhere)
	}
}

// isPlain tells whether a node is a direct convolution of 1 x 1 that neither pads nor adds.
func isPlain(n *Node) bool {
	stride, _ := n.arg("stride").([]int64)
	padding, _ := n.arg("padding").([]int64)
	kernel, _ := n.arg("kernel").([]int64)
	one := []int64{1, 1}
	return n.Target == directTarget && n.arg("sum") == nil && slices.Equal(kernel, one) && slices.Equal(stride, one) &&
		slices.Equal(padding, []int64{0, 0})
}
