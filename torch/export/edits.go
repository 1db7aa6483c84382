package export

import (
	"fmt"
	"slices"
)

// change has another node stand in a place. What the flow knows goes with it, but for memory that values shared before.
func (r *rewriter) change(f *flow, at int, to Node) {
	r.leave(f, at)
	r.p.Graph.Nodes[at] = to
	r.enter(f, at, &to)
}

// drop takes a node out. Its place stays empty until the pass ends, so that the others keep theirs.
func (r *rewriter) drop(f *flow, at int) { r.change(f, at, Node{}) }

// put has a node take the place of another, and of the activation behind it, if there is one.
func (r *rewriter) put(f *flow, at int, to Node, activation int) {
	if activation >= 0 {
		to.makes(&r.p.Graph.Nodes[activation])
		r.drop(f, activation)
	}
	r.change(f, at, to)
	r.calls(&to)
}

// leave takes out what the node at a place reads and makes.
func (r *rewriter) leave(f *flow, at int) {
	n := &r.p.Graph.Nodes[at]
	for _, in := range n.Inputs {
		namesIn(in.Value, func(name string) { f.leaves(name, at) })
	}
	for _, out := range n.Outputs {
		namesIn(out, func(name string) {
			if f.maker[name] == at {
				delete(f.maker, name)
				root := f.root(name)
				f.members[root] = slices.DeleteFunc(f.members[root], func(own string) bool { return own == name })
			}
		})
	}
}

// leaves says that a node no longer reads a value, where it did once.
func (f *flow) leaves(name string, at int) {
	list, root := f.readers[name], f.root(name)
	k := slices.Index(list, at)
	if k < 0 {
		return
	}
	f.readers[name] = slices.Delete(list, k, k+1)
	last := f.last[root]
	if last.at != at {
		return
	}
	if last.times--; last.times == 0 {
		for _, own := range f.members[root] {
			for _, reader := range f.readers[own] {
				last.see(lastReader{reader, 1})
			}
		}
	}
	f.last[root] = last
}

// stands says that whatever reads a value reads another one from now on.
func (f *flow) stands(name, other string) {
	f.joins(name, other)
	f.readers[other] = append(f.readers[other], f.readers[name]...)
	delete(f.readers, name)
}

// compact closes the places of nodes that were dropped.
func (r *rewriter) compact() {
	r.p.Graph.Nodes = slices.DeleteFunc(r.p.Graph.Nodes, func(n Node) bool { return n.Target == "" })
}

// unused is a name that no tensor of the graph has, and that nothing else has taken: a word, with a number if need be.
func (r *rewriter) unused(word string, taken func(name string) bool) string {
	for ; ; r.numbers[word]++ {
		name := word
		if n := r.numbers[word]; n > 0 {
			name = fmt.Sprint(word, "_", n)
		}
		if _, known := r.p.Graph.Tensors[name]; !known && !taken(name) {
			return name
		}
	}
}

// insert puts nodes before those of their places.
func (r *rewriter) insert(before map[int][]Node) {
	var all []Node
	for i, n := range r.p.Graph.Nodes {
		all = append(append(all, before[i]...), n)
	}
	r.p.Graph.Nodes = append(all, before[len(r.p.Graph.Nodes)]...)
}

// remove takes nodes out.
func (r *rewriter) remove(gone map[int]bool) {
	i := -1
	r.p.Graph.Nodes = slices.DeleteFunc(r.p.Graph.Nodes, func(Node) bool { i++; return gone[i] })
}

// rename lets the nodes from one place on, and the outputs, read other values.
func (r *rewriter) rename(from int, names map[string]string) {
	g := &r.p.Graph
	for i := from; i < len(g.Nodes); i++ {
		g.Nodes[i].Inputs = renamedAll(g.Nodes[i].Inputs, names)
	}
	for i := range g.Outputs {
		g.Outputs[i] = renamed(g.Outputs[i], names)
		r.p.Signature.Outputs[i].Arg = g.Outputs[i]
	}
}

// renamedAll are arguments with other names.
func renamedAll(inputs []NamedArgument, names map[string]string) []NamedArgument {
	if len(names) == 0 {
		return inputs
	}
	inputs = slices.Clone(inputs)
	for k := range inputs {
		inputs[k].Value = renamed(inputs[k].Value, names)
	}
	return inputs
}

// renamed is an argument with other names, which may have others in turn.
func renamed(a Argument, names map[string]string) Argument {
	return mapped(a, func(name string) string {
		last := name
		for own, ok := names[last]; ok; own, ok = names[last] {
			last = own
		}
		if last != name {
			names[name] = last // shorter for the next one
		}
		return last
	})
}

// mapped is an argument with the names that a function gives.
func mapped(a Argument, to func(string) string) Argument {
	switch a := a.(type) {
	case TensorArgument:
		return TensorArgument(to(string(a)))
	case SymIntArgument:
		return SymIntArgument(to(string(a)))
	case SymFloatArgument:
		return SymFloatArgument(to(string(a)))
	case SymBoolArgument:
		return SymBoolArgument(to(string(a)))
	case []TensorArgument:
		return mappedAll(a, to)
	case OptionalTensors:
		return OptionalTensors(mappedAll([]Argument(a), to))
	case SymInts:
		return SymInts(mappedAll([]Argument(a), to))
	case SymFloats:
		return SymFloats(mappedAll([]Argument(a), to))
	case SymBools:
		return SymBools(mappedAll([]Argument(a), to))
	case [][]TensorArgument:
		list := make([][]TensorArgument, len(a))
		for i, own := range a {
			list[i] = mappedAll(own, to)
		}
		return list
	}
	return a
}

func mappedAll[T any](list []T, to func(string) string) []T {
	all := make([]T, len(list))
	for i, v := range list {
		if own := mapped(v, to); own != nil {
			all[i] = own.(T)
		}
	}
	return all
}
