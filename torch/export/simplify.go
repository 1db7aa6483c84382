package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
)

// dead takes out the nodes whose results nobody reads and which do nothing else, and the parameters, buffers and constants that
// nobody reads any more.
func dead(r *rewriter) {
	g := &r.p.Graph
	used := map[string]bool{}
	use := func(name string) { used[name] = true }
	for _, out := range g.Outputs {
		namesIn(out, use)
	}
	gone := map[int]bool{}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := &g.Nodes[i]
		wanted := !r.pure(n)
		for _, out := range n.Outputs {
			namesIn(out, func(name string) { wanted = wanted || used[name] })
		}
		if gone[i] = !wanted; wanted {
			for _, in := range n.Inputs {
				namesIn(in.Value, use)
			}
		}
	}
	r.remove(gone)
	replaced := r.replaced()
	var inputs []InputSpec
	g.Inputs = nil
	for _, s := range r.p.Signature.Inputs {
		if name, _ := kindOf(s.Arg); s.Kind == UserInput || used[name] || replaced[s.Target] {
			inputs, g.Inputs = append(inputs, s), append(g.Inputs, s.Arg)
		}
	}
	r.p.Signature.Inputs = inputs
}

// random are the beginnings of the names of operators that draw random numbers.
var random = []string{"rand", "normal", "bernoulli", "multinomial", "poisson", "binomial", "dropout", "alpha_dropout", "feature_",
	"native_dropout", "rrelu", "exponential", "geometric", "cauchy", "log_normal", "uniform", "_standard_gamma",
	"_sample_dirichlet", "lstm", "gru",
	"rnn_", "scaled_dot_product_attention", "_scaled_dot_product"}

// pure tells whether all that a node does is to make its results.
func (r *rewriter) pure(n *Node) bool {
	if _, ok := symbolic[n.Target]; ok {
		return true
	}
	draws := slices.ContainsFunc(random, func(prefix string) bool { return strings.HasPrefix(n.op(), prefix) })
	switch {
	case len(n.Outputs) == 0:
		return false
	case n.fuses():
		return true
	case n.op() == "" || n.trains() || len(r.writes(n)) > 0:
		return false
	case n.op() == "dropout" || strings.HasPrefix(n.op(), "scaled_dot_product"):
		return true // those that draw are in training
	}
	return !draws
}

// mostFolded is how many bytes a constant may have that was none before, and all of them together beside so many times what the program's
// tensors have: a file of a stranger's cannot ask for more.
const (
	mostFolded = 1 << 26
	mostTimes  = 16
)

// constants computes what does not depend on the inputs.
func constants(r *rewriter) {
	f := r.flow()
	made := map[string]TensorArgument{}
	names := map[string]string{}
	gone := map[int]bool{}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		name, ok := n.result()
		if !ok || !n.isFresh() && !views[n.op()] || f.written[f.root(name)] || f.returned[f.root(name)] {
			continue
		}
		t, ok := r.compute(f, n, made)
		if !ok {
			continue
		}
		made[name] = r.constant(name, t)
		names[name], gone[i] = string(made[name]), true
	}
	r.rename(0, names)
	r.remove(gone)
}

// views are the operators that look at their argument in another way, or copy it.
var views = setOf(`t transpose permute swapaxes swapdims movedim unsqueeze squeeze expand expand_as view view_as reshape flatten unflatten
	select slice narrow diagonal detach alias to contiguous`)

// compute computes a node whose arguments are constants.
func (r *rewriter) compute(f *flow, n *Node, made map[string]TensorArgument) (t torch.Tensor, ok bool) {
	values := map[string]torch.Tensor{}
	ok = true
	for _, in := range n.Inputs {
		if _, isGraph := in.Value.(*GraphArgument); isGraph {
			return t, false
		}
		namesIn(in.Value, func(name string) {
			own, is := made[name]
			if !is {
				own = TensorArgument(name)
			}
			v, known := r.state(f, own)
			values[name], ok = v, ok && known
		})
	}
	bytes := mostFolded + 1
	if name, _ := n.result(); ok {
		bytes = r.p.Graph.Tensors[name].bytes()
	}
	if bytes > mostFolded || r.spare < 0 {
		return t, false
	}
	own := plainGraph(n, values, r.p)
	b, err := (&preparer{program: r.p, schemas: map[string]library.Schema{}}).block(own, 0)
	if err != nil {
		return t, false
	}
	var inputs []any
	for _, in := range own.Inputs {
		name, _ := kindOf(in)
		inputs = append(inputs, values[name])
	}
	out, err := b.run(r.ctx, inputs)
	if err != nil {
		return t, false // it fails where it is run, too
	}
	if t, ok = out[0].(torch.Tensor); ok {
		r.spare -= t.NumEl() * t.ElementSize()
	}
	return t, ok
}

// bytes is how large a tensor is; beyond all bounds where that depends on the inputs.
func (m TensorMeta) bytes() int {
	total := int64(16)
	for _, s := range m.Sizes {
		n, ok := s.Value()
		if !ok || n > mostFolded || total > mostFolded {
			return mostFolded + 1
		}
		total *= n
	}
	return int(total)
}

// plainGraph is a graph of one node.
func plainGraph(n *Node, values map[string]torch.Tensor, p *Program) *Graph {
	g := &Graph{Nodes: []Node{*n}, Outputs: n.Outputs, Tensors: p.Graph.Tensors}
	for name := range values {
		g.Inputs = append(g.Inputs, TensorArgument(name))
	}
	return g
}

// common computes once what is computed twice.
func common(r *rewriter) {
	f := r.flow()
	seen, names, gone := map[string][]string{}, map[string]string{}, map[int]bool{}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		_, ofNumbers := symbolic[n.Target]
		ofNumbers = ofNumbers || n.op() == "sym_size"
		if !ofNumbers && !n.isFresh() {
			continue
		}
		key, own := n.Target, true
		for _, in := range n.Inputs {
			key += fmt.Sprintf("|%s=%T%v", in.Name, in.Value, renamed(in.Value, names))
			namesIn(in.Value, func(name string) { own = own && (ofNumbers || !f.written[f.root(name)]) })
		}
		var results []string
		for _, out := range n.Outputs {
			namesIn(out, func(name string) {
				results = append(results, name)
				own = own && !f.written[f.root(name)] && !f.returned[f.root(name)]
			})
		}
		first, twice := seen[key]
		switch {
		case !own:
		case !twice:
			seen[key] = results
		case len(first) == len(results):
			gone[i] = true
			for k, name := range results {
				names[name] = first[k]
			}
		}
	}
	r.rename(0, names)
	r.remove(gone)
}

// changes tells whether a node returns the argument that it changes.
func (r *rewriter) changes(i int) bool {
	return strings.HasSuffix(r.p.Graph.Nodes[i].op(), "_") && len(r.writes(&r.p.Graph.Nodes[i])) == 1
}

// alike tells whether all tensors that a node reads are of the dtype of its result, and the argument that it may change of its sizes.
func (r *rewriter) alike(n *Node, result string) bool {
	to, ok := r.p.Graph.Tensors[result], true
	for _, in := range n.Inputs {
		namesIn(in.Value, func(name string) {
			m, tensor := r.p.Graph.Tensors[name]
			ok = ok && (!tensor || m.DType == to.DType && m.Device == to.Device)
		})
	}
	self, _ := kindOf(n.arg("self"))
	return ok && sameSizes(r.p.Graph.Tensors[self].Sizes, to.Sizes)
}

func sameSizes(a, b []Expr) bool {
	return slices.EqualFunc(a, b, func(x, y Expr) bool { return x.String() == y.String() })
}

// identities takes out the nodes that return their argument, dropout in evaluation and copies of what is as it should be, and what
// compares dtypes and devices, which the program's inputs decide.
func identities(r *rewriter) {
	f := r.flow()
	names, gone := map[string]string{}, map[int]bool{}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		name, ok := n.result()
		self, _ := kindOf(n.arg("input"))
		if n.op() == "alias" || n.op() == "lift_fresh" {
			self, _ = kindOf(n.arg("self"))
		}
		switch {
		case n.op() == "_assert_tensor_metadata":
			gone[i] = true
		case !ok || self == "" || f.written[f.root(name)] || f.returned[f.root(name)]:
		case n.op() == "alias", n.op() == "lift_fresh", strings.HasSuffix(n.op(), "dropout") && n.arg("train") == false:
			names[name], gone[i] = self, true
		}
	}
	r.rename(0, names)
	r.remove(gone)
}

// inPlaceForms are the operators that may write to their first argument instead.
var inPlaceForms = setOf(`relu relu6 silu sigmoid tanh hardswish hardsigmoid hardtanh leaky_relu gelu elu mish
	add sub mul div clamp exp neg sqrt`)

// inPlace lets operators write to an argument that nothing reads afterwards.
func inPlace(r *rewriter) {
	f := r.flow()
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		to, ok := r.addsInPlace(f, n, i)
		if !ok {
			to, ok = r.joinsInPlace(f, n, i)
		}
		if ok {
			r.put(f, i, to, nowhere)
			continue
		}
		name, ok := n.result()
		self, isTensor := n.arg("self").(TensorArgument)
		if !ok || !isTensor || !inPlaceForms[n.op()] || !r.overwritable(f, string(self), i) || !r.alike(n, name) ||
			!r.frozen && isAmbiguous(r.p.Graph.Tensors[string(self)]) {
			continue
		}
		_, tensor := n.arg("other").(TensorArgument)
		if m := r.p.Graph.Tensors[name]; n.arg("other") != nil && !tensor && (m.DType == torch.BFloat16 || m.DType == torch.Float16) {
			continue // libtorch rounds the number to the dtype there, and not otherwise
		}
		to = n.with("torch.ops.aten."+n.op()+"_."+n.overload(), n.Inputs...)
		if _, known := r.schema(&to); known {
			r.change(f, i, to)
		}
	}
}

// isAmbiguous tells of a tensor whether its strides may be others than those of a new one: a dimension of one number may have any, and
// convolutions and products of matrices go by them, in the order in which they add up.
func isAmbiguous(m TensorMeta) bool {
	if len(m.Sizes) <= matrix {
		return false
	}
	one := func(e Expr) bool {
		n, fixed := e.Value()
		return fixed && n == 1
	}
	free := func(e Expr) bool {
		_, fixed := e.Value()
		return !fixed
	}
	return slices.ContainsFunc(m.Sizes[1:], one) ||
		(one(m.Sizes[0]) || slices.ContainsFunc(m.Sizes, free)) && m.Strides != nil && !m.isInOrder()
}

// isInOrder tells whether a tensor lay row by row when the program was exported, or with its channels last.
func (m TensorMeta) isInOrder() bool {
	sizes := m.hints()
	if sizes == nil {
		return false
	}
	var rows []int
	for d := range slices.Backward(sizes) {
		rows = append(rows, d)
	}
	follow := func(order []int) bool { // whether each dimension lies as far apart as those before it fill
		apart := 1
		for _, d := range order {
			if n, known := m.Strides[d].hint(); !known || int(n) != apart {
				return false
			}
			apart *= sizes[d]
		}
		return true
	}
	const channels = 1
	last := slices.DeleteFunc(slices.Clone(rows), func(d int) bool { return d == channels })
	return follow(rows) || follow(append([]int{channels}, last...))
}

// addsInPlace is a convolution of ours that adds its result to what it would otherwise add to that, and is brought near only once.
func (r *rewriter) addsInPlace(f *flow, n *Node, i int) (to Node, ok bool) {
	sum, _ := kindOf(n.arg("sum"))
	x, _ := kindOf(n.arg("x"))
	form, has := addingForms[n.Target]
	if !has || sum == "" || f.root(sum) == f.root(x) || !r.overwritable(f, sum, i) {
		return to, false
	}
	return n.with(form, n.Inputs...), true
}

// overwritable tells whether a value's memory is its own and nothing but node i, once, reads it from there on.
func (r *rewriter) overwritable(f *flow, name string, i int) bool {
	root := f.root(name)
	made, ok := f.maker[name]
	if !ok || f.given[root] {
		return false
	}
	if n := &r.p.Graph.Nodes[made]; !n.isFresh() && !r.changes(made) && !n.fusesInPlace() {
		return false
	}
	return f.readLast(root, i)
}

// readLast tells whether nothing but node i, once, reads memory from there on.
func (f *flow) readLast(root string, i int) bool {
	return f.last[root] == lastReader{i, 1}
}
