package export

import "slices"

// turns takes out views that turn a matrix back.
func turns(r *rewriter) {
	f := r.flow()
	names, gone := map[string]string{}, map[int]bool{}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		name, ok := n.result()
		turned, _ := kindOf(n.arg("self"))
		made, known := f.maker[turned]
		if n.op() != "t" || !ok || !known || r.p.Graph.Nodes[made].op() != "t" {
			continue
		}
		self, _ := kindOf(r.p.Graph.Nodes[made].arg("self"))
		if own, renamed := names[self]; renamed {
			self = own
		}
		names[name], gone[i] = self, true
	}
	r.rename(0, names)
	r.remove(gone)
}

// kept lets sums leave out the dimensions that a view takes from them, as the gradients of biases have it.
func kept(r *rewriter) {
	f := r.flow()
	gone := map[int]bool{}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		self, _ := kindOf(n.arg("self"))
		made, known := f.maker[self]
		if n.op() != "view" || !known || len(f.readers[self]) != 1 {
			continue
		}
		name, _ := n.result()
		sum := &r.p.Graph.Nodes[made]
		keeps := sum.Target == "torch.ops.aten.sum.dim_IntList" && sum.arg("keepdim") == true
		if !keeps || !sameSizes(r.without(sum), r.p.Graph.Tensors[name].Sizes) {
			continue
		}
		sum.Inputs = set(sum.Inputs, "keepdim", false)
		sum.makes(n)
		gone[i] = true
	}
	r.remove(gone)
}

// without are the sizes that are left of what a node sums up: none where it names no dimensions, for then it sums up all.
func (r *rewriter) without(sum *Node) (sizes []Expr) {
	x, _ := kindOf(sum.arg("self"))
	all := r.p.Graph.Tensors[x].Sizes
	dims, _ := sum.arg("dim").([]int64)
	for i, size := range all {
		if len(dims) > 0 && !slices.Contains(dims, int64(i)) && !slices.Contains(dims, int64(i-len(all))) {
			sizes = append(sizes, size)
		}
	}
	return sizes
}
