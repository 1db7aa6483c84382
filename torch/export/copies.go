package export

// empty are the operators that make memory and nothing in it.
var empty = setOf("empty_like empty_strided new_empty new_empty_strided empty")

// copies takes out copies of what nobody looks at again afterwards, and which lies in memory as the copy would: the original takes the
// copy's place. A gradient that is recorded has been copied, since the recording has it as well, where it would have been taken.
func copies(r *rewriter) {
	f, names := r.flow(), map[string]string{}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		n.Inputs = renamedAll(n.Inputs, names)
		result, ok := n.result()
		source, memory := "", nowhere
		switch n.op() {
		case "clone":
			source, _ = kindOf(n.arg("self"))
		case "copy_":
			to, _ := kindOf(n.arg("self"))
			if at, made := f.maker[to]; made && empty[r.p.Graph.Nodes[at].op()] && len(f.readers[to]) == 1 {
				source, _ = kindOf(n.arg("src"))
				memory = at
			}
		}
		if !ok || source == "" || !r.lieAlike(source, result) || !r.forgotten(f, source, i) {
			continue
		}
		r.drop(f, i)
		if memory >= 0 {
			r.drop(f, memory)
		}
		f.stands(result, source)
		names[result] = source
	}
	r.rename(len(r.p.Graph.Nodes), names)
}

// forgotten tells whether a value lies in memory that operators of aten have made in the graph, and that node i is the last to read.
func (r *rewriter) forgotten(f *flow, name string, i int) bool {
	root := f.root(name)
	for _, own := range f.members[root] {
		if at, made := f.maker[own]; !made || r.p.Graph.Nodes[at].op() == "" {
			return false
		}
	}
	return !f.given[root] && f.readLast(root, i)
}

// lieAlike tells whether two tensors have the same dtype, shape and place in memory of their own.
func (r *rewriter) lieAlike(a, b string) bool {
	x, y := r.p.Graph.Tensors[a], r.p.Graph.Tensors[b]
	return x.DType == y.DType && x.Device == y.Device && x.Layout == y.Layout && sameSizes(x.Sizes, y.Sizes) &&
		sameSizes(x.Strides, y.Strides) && len(x.Strides) == len(x.Sizes) && x.StorageOffset.String() == y.StorageOffset.String()
}
