package export

import (
	"slices"
	"strings"
)

// functional lets operators that change their argument in place return something new where nobody reads the argument in another
// way, so that the other passes see through them; [inPlace] undoes it at the end.
func functional(r *rewriter) {
	b := newBindings(r)
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		n.Inputs = renamedAll(n.Inputs, b.now)
		if to, ok := r.returning(n, b); ok {
			*n = to
			b.anew(string(to.Outputs[0].(TensorArgument)))
			continue
		}
		for _, out := range n.Outputs {
			namesIn(out, b.same)
		}
	}
	r.rename(len(r.p.Graph.Nodes), b.now)
}

// returning is the operator that returns what another one writes to its argument.
func (r *rewriter) returning(n *Node, b *bindings) (to Node, ok bool) {
	base, in := strings.CutSuffix(n.op(), "_")
	name, made := n.result()
	self, isTensor := n.arg("self").(TensorArgument)
	rests := strings.HasSuffix(base, "dropout") && n.arg("train") == false
	if !in || !fresh[base] && base != "detach" && !rests || !made || !isTensor || !b.plain(string(self), name) || !r.alike(n, name) {
		return to, false
	}
	to = n.with("torch.ops.aten."+base+"."+n.overload(), slices.Clone(n.Inputs)...)
	if rests {
		to.Inputs[0].Name = "input"
	}
	_, ok = r.schema(&to)
	return to, ok
}

// bindings are what the values stand for that a graph writes to: whoever reads one of those that share memory reads the last of them.
type bindings struct {
	*rewriter
	f      *flow
	now    map[string]string   // a value that is another one by now
	others map[string]int      // of memory: how many values have it, and no operator that changes its argument has returned them
	since  map[string][]string // and which values have it, since an operator returned something new in its place
}

func newBindings(r *rewriter) *bindings {
	b := &bindings{r, r.flow(), map[string]string{}, map[string]int{}, map[string][]string{}}
	for root, names := range b.f.members {
		for _, name := range names {
			if made, ok := b.f.maker[name]; !ok || !r.changes(made) {
				b.others[root]++
			}
		}
	}
	return b
}

// plain tells whether a value is what an operator made, and whatever else has its memory is returned by operators that changed it.
func (b *bindings) plain(self, result string) bool {
	made, ok := b.f.maker[self]
	return ok && b.p.Graph.Nodes[made].isFresh() && b.others[b.f.root(result)] == 1
}

// same says that a value is made that may have another one's memory.
func (b *bindings) same(name string) {
	root := b.f.root(name)
	b.since[root] = append(b.since[root], name)
}

// anew says that a value has memory of its own from here on, and the others that had its own stand for it.
func (b *bindings) anew(name string) {
	root := b.f.root(name)
	for _, own := range b.since[root] {
		b.now[own] = name
	}
	b.since[root], b.others[root] = []string{name}, 1
}
