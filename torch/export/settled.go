package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// factories are the operators that make a tensor of given sizes, by those that do so after another one.
var factories = map[string]string{
	"torch.ops.aten.new_zeros.default": "torch.ops.aten.zeros.default", "torch.ops.aten.new_ones.default": "torch.ops.aten.ones.default",
	"torch.ops.aten.new_full.default": "torch.ops.aten.full.default",
}

// likes lets what is made after another tensor, of sizes that are known, be made out of nothing: it depends on no input then.
func likes(r *rewriter) {
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		target, known := factories[n.Target]
		size, fixed := n.arg("size").([]int64)
		name, ok := n.result()
		m := r.p.Graph.Tensors[name]
		if !known || !fixed || !ok || !m.Device.IsCPU() || m.Layout != torch.Strided {
			continue
		}
		inputs := []NamedArgument{given("size", size)}
		if value := n.arg("fill_value"); value != nil {
			inputs = append(inputs, given("fill_value", value))
		}
		r.p.Graph.Nodes[i] = n.with(target, set(inputs, "dtype", m.DType)...)
	}
}

// settled makes constants of what is made of constants and written to before anything else reads it, as a bias of which a part is zero.
func settled(r *rewriter) {
	f := r.flow()
	for i := 0; i < len(r.p.Graph.Nodes); i++ {
		name, ok := r.p.Graph.Nodes[i].result()
		if !ok || !r.p.Graph.Nodes[i].isFresh() || !f.written[name] || f.root(name) != name || f.returned[name] {
			continue
		}
		if names, gone := r.settle(f, i); len(gone) > 0 {
			r.rename(0, names)
			r.remove(gone)
			f = r.flow()
			i--
		}
	}
}

// settle computes what a node makes and others write to. Gone are these nodes, and names are those of what they return: each of the writers
// what it changes. None are gone if something else reads it meanwhile, or they depend on inputs.
func (r *rewriter) settle(f *flow, first int) (names map[string]string, gone map[int]bool) {
	name, _ := r.p.Graph.Nodes[first].result()
	last := r.lastWriter(f, name)
	made := map[string]TensorArgument{}
	names, gone = map[string]string{}, map[int]bool{}
	for i := first; i <= last; i++ {
		n := &r.p.Graph.Nodes[i]
		own, single := n.result()
		writes := r.writesTo(f, n, name)
		switch {
		case i > first && !readsOf(f, n, name):
			continue
		case !single || i > first && !writes && !views[n.op()] || writes && !r.changes(i):
			return nil, nil
		}
		t, known := r.compute(f, n, made)
		if !known {
			return nil, nil
		}
		made[own] = r.constant(own, t)
		switch {
		case i == first:
			names[own], gone[i] = string(made[own]), true
		case writes:
			names[own], _ = kindOf(n.arg("self"))
			gone[i] = true
		}
	}
	return names, gone
}

// lastWriter is the last node that writes to the memory of a value.
func (r *rewriter) lastWriter(f *flow, name string) (last int) {
	for i := range r.p.Graph.Nodes {
		if r.writesTo(f, &r.p.Graph.Nodes[i], name) {
			last = i
		}
	}
	return last
}

func (r *rewriter) writesTo(f *flow, n *Node, name string) bool {
	return slices.ContainsFunc(r.writes(n), func(own string) bool { return f.root(own) == name })
}

// readsOf tells whether a node reads the memory of a value.
func readsOf(f *flow, n *Node, name string) (reads bool) {
	for _, in := range n.Inputs {
		namesIn(in.Value, func(own string) { reads = reads || f.root(own) == name })
	}
	return reads
}
