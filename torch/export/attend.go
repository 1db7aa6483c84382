package export

import (
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// weaver makes the nodes of an attention.
type weaver struct {
	*seeker
	like  *Node // whose place in Python they take
	m     TensorMeta
	nodes []Node
	ok    bool
}

func (w *weaver) sizes(name string) []Expr { return w.p.Graph.Tensors[name].Sizes }

// call adds a node and returns its result.
func (w *weaver) call(op string, sizes []Expr, inputs ...NamedArgument) string {
	m := w.m
	m.Sizes, m.Strides = sizes, nil
	out := w.value("attention", m)
	n := w.like.with("torch.ops.aten."+op, inputs...)
	n.Name, n.Outputs = string(out), []Argument{out}
	w.nodes = append(w.nodes, n)
	return string(out)
}

const (
	matrix = 2 // dimensions of the matrices of an attention
	headed = 4 // those of batches of heads
)

// attend are the nodes in the place of the product of an attention's weights and values, of which the last makes its result, or that of
// the only view of it, which is gone then.
func (s *seeker) attend(at int, a attended) (nodes []Node, gone int, ok bool) {
	like := &s.p.Graph.Nodes[at]
	result, _ := like.result()
	w := &weaver{seeker: s, like: like, m: s.p.Graph.Tensors[result], ok: true}
	if len(a.sizes) > headed {
		a = w.merged(a)
	}
	lead := a.sizes[:len(a.sizes)-matrix]
	q, k, v := w.shaped(a.q, lead, a.paired), w.shaped(a.k, lead, a.paired), w.shaped(a.v, lead, a.paired)
	if !w.ok || !w.dense(q, 1) || a.isKT && !w.dense(k, matrix) || !a.isKT && !w.dense(k, 1) || !w.dense(v, 1) {
		return nil, nowhere, false
	}
	for _, by := range a.factors {
		q = w.call("mul.Tensor", w.sizes(q), given("self", TensorArgument(q)), given("other", TensorArgument(by)))
	}
	if a.isKT {
		sizes := slices.Clone(w.sizes(k))
		slices.Reverse(sizes[len(lead):])
		k = w.call("transpose.int", sizes, given("self", TensorArgument(k)), given("dim0", int64(-2)), given("dim1", int64(-1)))
	}
	out := w.computed(a, q, k, v)
	target, gone := like, nowhere
	if want := w.m.Sizes; !sameSizes(want, w.sizes(out)) {
		if gone = w.viewOf(result, w.sizes(out)); gone >= 0 {
			target = &s.p.Graph.Nodes[gone]
		} else {
			out = w.shaped(out, want[:len(want)-matrix], true)
		}
	}
	if !w.turned(target) {
		w.call("contiguous.default", w.sizes(out), given("self", TensorArgument(out)))
	}
	w.nodes[len(w.nodes)-1].makes(target)
	return w.nodes, gone, w.ok
}

// merged is an attention of windows in batches, or the like, as one of as many batches.
func (w *weaver) merged(a attended) attended {
	batches, windows := a.sizes[0], a.sizes[1]
	a.sizes = slices.Clone(a.sizes[1:])
	if a.sizes[0] = times(batches, windows); batches.String() == "1" {
		a.sizes[0] = windows
	}
	a.masks = slices.Clone(a.masks)
	for i, m := range a.masks {
		sizes := w.sizes(m.name)
		if len(sizes) > headed && sizes[0].String() == "1" {
			sizes = sizes[1:]
			own := w.p.Graph.Tensors[m.name].DType
			m.name = w.call("squeeze.dim", sizes, given("self", TensorArgument(m.name)), given("dim", int64(0)))
			w.is(m.name, own)
		}
		each := len(sizes) == headed && sizes[0].String() != "1" && batches.String() != "1" // of the windows of a batch
		w.ok = w.ok && len(sizes) <= headed && !each
		a.masks[i] = m
	}
	for _, by := range a.factors {
		w.ok = w.ok && len(w.sizes(by)) < headed
	}
	return a
}

// times is the product of two sizes.
func times(a, b Expr) Expr {
	n, one := a.Value()
	k, other := b.Value()
	if one && other {
		return integer(n * k)
	}
	product := joined("Mul", []Expr{a, b})
	n, one = a.hint()
	k, other = b.hint()
	if one && other {
		product.Hint = n * k
	}
	return product
}

// is says which dtype a value has that is not of the attention's.
func (w *weaver) is(name string, dtype torch.DType) {
	m := w.p.Graph.Tensors[name]
	m.DType = dtype
	w.p.Graph.Tensors[name] = m
}

// computed calls the operator, which wants batches of heads.
func (w *weaver) computed(a attended, q, k, v string) string {
	const dims = headed
	rank := len(a.sizes)
	head := min(1, rank-matrix) // a dimension of one more comes here: as heads, so that the result lies as the product did
	wide := func(name string) Argument {
		if name == "" {
			return nil
		}
		for range dims - rank {
			name = w.call("unsqueeze.default", slices.Insert(slices.Clone(w.sizes(name)), head, integer(1)),
				given("self", TensorArgument(name)), given("dim", int64(head)))
		}
		return TensorArgument(name)
	}
	sizes := append(slices.Clone(a.sizes[:rank-1]), w.sizes(v)[len(w.sizes(v))-1])
	m := w.combined(a)
	inputs := []NamedArgument{given("query", wide(q)), given("key", wide(k)), given("value", wide(v))}
	switch n := len(w.sizes(m)); {
	case m == "":
	case n == matrix || n == dims:
		inputs = append(inputs, given("attn_mask", TensorArgument(m)))
	case n == rank:
		inputs = append(inputs, given("attn_mask", wide(m)))
	default:
		m = w.call("unsqueeze.default", slices.Insert(slices.Clone(w.sizes(m)), 0, integer(1)), given("self", TensorArgument(m)),
			given("dim", int64(0)))
		inputs = append(inputs, given("attn_mask", TensorArgument(m)))
	}
	inputs = append(inputs, NamedArgument{Name: "scale", Value: a.scale, Keyword: true})
	own := slices.Insert(slices.Clone(sizes), head, slices.Repeat([]Expr{integer(1)}, dims-rank)...)
	out := w.call("scaled_dot_product_attention.default", own, inputs...)
	for range dims - rank {
		own = but(own, head, head+1)
		out = w.call("squeeze.dim", own, given("self", TensorArgument(out)), given("dim", int64(head)))
	}
	return out
}

// shaped is a tensor whose sizes but for the last two are others. One of them may depend on the inputs.
func (w *weaver) shaped(name string, lead []Expr, paired bool) string {
	sizes := w.sizes(name)
	if sameSizes(w.lead(name), lead) {
		return name
	}
	to := append(slices.Clone(lead), sizes[len(sizes)-matrix:]...)
	shape, open := make([]int64, len(to)), 0
	for i, s := range to {
		n, known := s.Value()
		if shape[i] = n; !known {
			shape[i] = -1
			open++
		}
	}
	if w.ok = w.ok && paired && open <= 1; !w.ok {
		return name
	}
	return w.call("reshape.default", to, given("self", TensorArgument(name)), given("shape", shape))
}

// dense tells whether the elements of a dimension, counted from the last, lie side by side as far as is known.
func (r *rewriter) dense(name string, back int) bool {
	strides := r.p.Graph.Tensors[name].Strides
	if len(strides) < back {
		return true
	}
	n, known := strides[len(strides)-back].Value()
	return !known || n == 1
}

// viewOf is the only node that reads a value, if it is a view of these sizes.
func (w *weaver) viewOf(name string, sizes []Expr) int {
	n, at := w.soleReader(w.f, name)
	if n == nil {
		return nowhere
	}
	own, _ := n.result()
	if !isView(n) && n.Target != "torch.ops.aten.reshape.default" || !sameSizes(w.sizes(own), sizes) {
		return nowhere
	}
	return at
}

// turned tells whether an attention's result may lie as the operator leaves it, with its heads behind its rows: there are no heads, or all
// that is done with it is to bring it into that order.
func (w *weaver) turned(n *Node) bool {
	name, _ := n.result()
	if len(w.sizes(name)) < headed {
		return true
	}
	for _, want := range []func(*Node) bool{w.swapsHeads, func(n *Node) bool {
		format := n.arg("memory_format")
		return n.op() == "contiguous" && format == nil || n.op() == "reshape" || n.op() == "flatten" || format == torch.ContiguousFormat
	}} {
		n, _ := w.soleReader(w.f, name)
		if n == nil || !want(n) {
			return false
		}
		name, _ = n.result()
	}
	return true
}

// swapsHeads tells whether a node exchanges the two dimensions before the last.
func (w *weaver) swapsHeads(n *Node) bool {
	own, _ := n.result()
	rows := int64(len(w.sizes(own)) - matrix)
	dims, _ := n.arg("dims").([]int64)
	order := make([]int64, rows+matrix)
	for i := range order {
		order[i] = int64(i)
	}
	order[rows-1], order[rows] = rows, rows-1
	a, b := n.arg("dim0"), n.arg("dim1")
	return n.op() == "permute" && slices.Equal(dims, order) ||
		n.op() == "transpose" && (a == rows-1 && b == rows || a == rows && b == rows-1)
}

// combined is the sum of an attention's masks, or a condition that says what is taken; empty where there is none.
func (w *weaver) combined(a attended) (name string) {
	if len(a.masks) == 1 && math.IsInf(a.masks[0].value, -1) {
		m := a.masks[0]
		if !m.drops {
			return m.name
		}
		name = w.call("logical_not.default", w.sizes(m.name), given("self", TensorArgument(m.name)))
		w.is(name, torch.Bool)
		return name
	}
	for _, m := range a.masks {
		own := m.name
		zero := func() TensorArgument { return w.constant("zero", torch.Zeros().To(w.m.DType)) }
		switch condition := given("condition", TensorArgument(m.name)); {
		case m.value == 0:
		case m.drops:
			own = w.call("where.ScalarSelf", w.sizes(m.name), condition, given("self", m.value), given("other", zero()))
		default:
			own = w.call("where.ScalarOther", w.sizes(m.name), condition, given("self", zero()), given("other", m.value))
		}
		if name != "" {
			own = w.call("add.Tensor", broadcast(w.sizes(name), w.sizes(own)), given("self", TensorArgument(name)),
				given("other", TensorArgument(own)))
		}
		name = own
	}
	return name
}

// broadcast are the sizes of a sum.
func broadcast(a, b []Expr) []Expr {
	if len(a) < len(b) {
		a, b = b, a
	}
	sizes := slices.Clone(a)
	for i, s := range b {
		if at := len(a) - len(b) + i; sizes[at].String() == "1" {
			sizes[at] = s
		}
	}
	return sizes
}
