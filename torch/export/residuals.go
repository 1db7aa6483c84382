package export

import (
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// joining is our operator that adds two tensors and makes the layer norm of the sum.
const (
	joining        = "torch.ops.libtorchgo.add_norm"
	residualTarget = joining + ".default"
)

// residuals joins sums and the layer norms that read them, as at the end of a transformer's branches: one pass over memory, not two. Where
// the program is computed in bfloat16 the sums stay in float32, because each layer adds to them and would round all that came before.
func residuals(r *rewriter) {
	f := r.flow()
	norms := map[int]int{} // of sums, by their nodes
	for i := range r.p.Graph.Nodes {
		if at, ok := r.normOf(f, i); ok {
			norms[i] = at
		}
	}
	if len(norms) == 0 || !r.addsAndNorms() {
		return
	}
	gone := map[int]bool{}
	for i := range r.p.Graph.Nodes {
		at, ok := norms[i]
		if !ok {
			continue
		}
		sum, norm := &r.p.Graph.Nodes[i], &r.p.Graph.Nodes[at]
		x, y := sum.arg("self"), sum.arg("other")
		if name, _ := kindOf(y); isJoined(norms, f, name) {
			x, y = y, x // what goes around the branches may be written to
		}
		to := sum.with(residualTarget, given("x", x), given("y", y), given("weight", norm.arg("weight")),
			given("bias", norm.arg("bias")), given("eps", norm.eps()))
		to.Outputs = []Argument{sum.Outputs[0], norm.Outputs[0]}
		gone[at] = true
		r.p.Graph.Nodes[i] = to
		r.calls(&to)
	}
	r.remove(gone)
}

// isJoined tells whether a value is one of the sums.
func isJoined(norms map[int]int, f *flow, name string) bool {
	made, ok := f.maker[name]
	_, sum := norms[made]
	return ok && sum
}

// normOf is the layer norm that reads a sum, if one does and the operator of ours computes both.
func (r *rewriter) normOf(f *flow, i int) (at int, ok bool) {
	g := &r.p.Graph
	n := &g.Nodes[i]
	name, ok := n.result()
	a, _ := kindOf(n.arg("self"))
	b, _ := kindOf(n.arg("other"))
	m := g.Tensors[name]
	if !ok || !n.isSum() || len(m.Sizes) == 0 || f.written[f.root(name)] {
		return nowhere, false
	}
	for _, own := range []TensorMeta{m, g.Tensors[a], g.Tensors[b]} {
		if own.DType != torch.Float32 || !own.Device.IsCPU() || own.Layout != torch.Strided || !sameSizes(own.Sizes, m.Sizes) {
			return nowhere, false
		}
	}
	at = nowhere
	for _, reader := range f.readers[name] {
		if reader < len(g.Nodes) && g.Nodes[reader].Target == "torch.ops.aten.layer_norm.default" {
			if at >= 0 {
				return nowhere, false
			}
			at = reader
		}
	}
	return at, at >= 0 && r.normalizesRows(f, &g.Nodes[at], m.Sizes[len(m.Sizes)-1])
}

// normalizesRows tells whether a layer norm is one of rows of so many numbers, with constants for each.
func (r *rewriter) normalizesRows(f *flow, norm *Node, columns Expr) bool {
	const multiple = 16
	n, known := columns.Value()
	shape, _ := norm.arg("normalized_shape").([]int64)
	for _, name := range []string{"weight", "bias"} {
		if t, ok := r.state(f, norm.arg(name)); !ok || t.DType() != torch.Float32 || t.Dim() != 1 {
			return false
		}
	}
	return known && n > 0 && n%multiple == 0 && slices.Equal(shape, []int64{n})
}

// joinsInPlace is an operator of ours that writes a sum to one of its sides, which nothing else reads, and is of float32 and one that such
// an operator has made, so that it lies row by row.
func (r *rewriter) joinsInPlace(f *flow, n *Node, i int) (to Node, ok bool) {
	if n.Target != residualTarget {
		return to, false
	}
	x, _ := kindOf(n.arg("x"))
	y, _ := kindOf(n.arg("y"))
	made, ok := f.maker[x]
	if !ok || !strings.HasPrefix(r.p.Graph.Nodes[made].Target, joining) || r.p.Graph.Nodes[made].Outputs[0] != n.arg("x") ||
		f.root(x) == f.root(y) || !r.overwritable(f, x, i) {
		return to, false
	}
	return n.with(joining+"_.default", n.Inputs...), true
}

// addsAndNorms tells whether this processor has the kernel for what the program is computed in.
func (r *rewriter) addsAndNorms() bool {
	dtype := torch.Float32
	if !r.dtype.IsZero() {
		dtype = r.dtype
	}
	x := torch.Zeros(1, 16).To(dtype)
	w := torch.Zeros(16).To(dtype)
	_, ok := inner("libtorchgo::add_norm", x, x, w, w, 1.0)
	return ok
}
