package export

import (
	"math"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// attended is what a product of weights and values says once it is known to be an attention.
type attended struct {
	q, k, v string
	isKT    bool // k is given as its columns
	scale   float64
	factors []string // of all scores of a head
	masks   []mask
	sizes   []Expr // of the weights
	paired  bool   // queries and keys, and weights and values, have the same sizes but for the last two
}

// mask is what is added to the products of an attention, or a condition where they are taken or left out.
type mask struct {
	name  string
	value float64 // of what is left out; 0 for what is added
	drops bool    // the condition says what is left out, not what is taken
}

// leftOut is the largest number that counts as minus infinity: what is added to it is lost in rounding.
const leftOut = -1e9

// attention replaces the softmax of products with their scale and mask, times values, by libtorch's operator for all of it, which
// keeps the weights of some rows at a time only. A row that a mask leaves out altogether is zero there, and was not a number.
func attention(r *rewriter) {
	s, before := &seeker{rewriter: r, f: r.flow()}, map[int][]Node{}
	for i := range r.p.Graph.Nodes {
		a, ok := s.attention(i)
		if !ok {
			continue
		}
		nodes, view, ok := s.attend(i, a)
		if !ok {
			continue
		}
		if view >= 0 {
			r.drop(s.f, view)
		}
		last := len(nodes) - 1
		before[i] = nodes[:last]
		for _, n := range before[i] {
			for _, in := range n.Inputs {
				namesIn(in.Value, func(name string) { s.f.reads(name, i) })
			}
		}
		r.change(s.f, i, nodes[last])
	}
	r.insert(before)
}

// seeker looks for attentions.
type seeker struct {
	*rewriter
	f *flow
}

// node is the node that makes a value.
func (s *seeker) node(name string) (n *Node, at int) {
	at, ok := s.f.maker[name]
	if !ok {
		return &Node{}, nowhere
	}
	return &s.p.Graph.Nodes[at], at
}

// factors are the names of the two arguments of a product of matrices, of which the second may be given by its columns.
func (n *Node) factors() (a, b string, turned, ok bool) {
	switch n.op() {
	case "matmul":
		a, _ = kindOf(n.arg("self"))
		b, _ = kindOf(n.arg("other"))
	case "bmm", "mm":
		a, _ = kindOf(n.arg("self"))
		b, _ = kindOf(n.arg("mat2"))
	case "baddbmm":
		a, _ = kindOf(n.arg("batch1"))
		b, _ = kindOf(n.arg("batch2"))
	case "einsum":
		equation, _ := n.arg("equation").(string)
		tensors, _ := n.arg("tensors").([]TensorArgument)
		if turned, ok = matrices(equation); ok && len(tensors) == 2 {
			a, b = string(tensors[0]), string(tensors[1])
		}
	}
	return a, b, turned, a != "" && b != ""
}

// matrices tells whether an equation of einsum is a product of matrices: "bij,bjk->bik", or with the second one turned, "bik,bjk->bij".
func matrices(equation string) (turned, ok bool) {
	equation = strings.ReplaceAll(equation, " ", "")
	factors, to, _ := strings.Cut(equation, "->")
	a, b, _ := strings.Cut(factors, ",")
	rank := len(to)
	if rank < matrix || len(a) != rank || len(b) != rank || strings.Contains(equation, ".") || strings.Contains(b, a[rank-2:rank-1]) {
		return false, false
	}
	lead, row, inner := a[:rank-2], a[rank-2:rank-1], a[rank-1:]
	column, turned := strings.Trim(b[rank-2:], inner), strings.HasSuffix(b, inner)
	return turned, len(column) == 1 && b[:rank-2] == lead && to == lead+row+column && !strings.Contains(lead, inner)
}

// attention looks at a node as the product of weights and values.
func (s *seeker) attention(at int) (a attended, ok bool) {
	n := &s.p.Graph.Nodes[at]
	weights, v, turned, ok := n.factors()
	if !ok || turned || n.op() == "baddbmm" {
		return a, false
	}
	softmax, made := s.through(weights, at)
	if softmax == nil || !s.isSoftmax(softmax) {
		return a, false
	}
	scores, _ := kindOf(softmax.arg("self"))
	a = attended{v: v, scale: 1, sizes: s.p.Graph.Tensors[scores].Sizes, paired: s.paired(weights, v)}
	const most = headed + 1
	if rank := len(a.sizes); rank < 2 || rank > most || !s.scores(&a, scores, made) {
		return a, false
	}
	for _, name := range slices.Concat([]string{a.q, a.k, a.v}, a.factors, maskNames(a.masks)) {
		if s.f.written[s.f.root(name)] {
			return a, false
		}
	}
	q := s.p.Graph.Tensors[a.q]
	return a, a.scale > 0 && q.DType.IsFloatingPoint() && q.DType == s.p.Graph.Tensors[a.k].DType && q.DType == s.p.Graph.Tensors[v].DType
}

func maskNames(masks []mask) (names []string) {
	for _, m := range masks {
		names = append(names, m.name)
	}
	return names
}

// through goes from a value that only one node reads back through what does not change its elements.
func (s *seeker) through(name string, reader int) (n *Node, at int) {
	for {
		n, at = s.node(name)
		if at < 0 || s.f.only(name) != reader {
			return nil, nowhere
		}
		own, same := s.noise(n)
		if !same || !slices.Equal(tail(s.p.Graph.Tensors[own]), tail(s.p.Graph.Tensors[name])) {
			return n, at
		}
		name, reader = own, at
	}
}

// tail are the last two sizes of a tensor in words.
func tail(m TensorMeta) []string {
	return each(m.Sizes[max(0, len(m.Sizes)-matrix):], Expr.String)
}

// noise is the argument whose elements a node returns in their order.
func (s *seeker) noise(n *Node) (name string, ok bool) {
	self, _ := kindOf(n.arg("self"))
	result, _ := n.result()
	from, to := s.p.Graph.Tensors[self], s.p.Graph.Tensors[result]
	switch n.op() {
	case "dropout":
		p := n.arg("p")
		self, _ = kindOf(n.arg("input"))
		return self, n.arg("train") == false || p == 0.0 || p == int64(0)
	case "expand":
		return self, sameSizes(from.Sizes, to.Sizes)
	case "to", "_to_copy":
		return self, from.DType == to.DType && from.Device == to.Device && from.Layout == to.Layout
	case "view", "reshape", "_unsafe_view":
		return self, n.overload() == "default"
	case "clone", "contiguous", "alias", "detach", "unflatten", "flatten":
		return self, true
	}
	return "", false
}

func (s *seeker) isSoftmax(n *Node) bool {
	self, _ := kindOf(n.arg("self"))
	result, _ := n.result()
	m := s.p.Graph.Tensors[self]
	dim, ok := n.arg("dim").(int64)
	last := ok && (dim == -1 || dim == int64(len(m.Sizes)-1))
	return last && (n.Target == "torch.ops.aten.softmax.int" || n.Target == "torch.ops.aten._softmax.default") &&
		m.DType == s.p.Graph.Tensors[result].DType
}

// scores goes back from what the softmax reads to the product of queries and keys.
func (s *seeker) scores(a *attended, name string, reader int) bool {
	for {
		n, at := s.node(name)
		if at < 0 || s.f.only(name) != reader {
			return false
		}
		if _, _, _, ok := n.factors(); ok {
			return s.product(a, n)
		}
		own, ok := s.noise(n)
		if !ok {
			own, ok = s.scaled(n, &a.scale)
		}
		if !ok {
			own, ok = s.weighed(a, n)
		}
		if !ok {
			own, ok = s.masked(a, n)
		}
		if m := s.p.Graph.Tensors[own]; !ok || !slices.Equal(tail(m), tail(s.p.Graph.Tensors[name])) {
			return false
		}
		name, reader = own, at
	}
}

// product takes the product of queries and keys.
func (s *seeker) product(a *attended, n *Node) bool {
	if n.op() == "baddbmm" {
		alpha, beta := s.number(n.arg("alpha"), 1), s.number(n.arg("beta"), 1)
		self, _ := kindOf(n.arg("self"))
		if beta != 0 && (beta != 1 || !s.adds(a, self, n)) {
			return false
		}
		a.scale *= alpha
	}
	q, k, turned, _ := n.factors()
	a.paired, a.isKT = a.paired && s.paired(q, k), !turned
	back := 1
	if a.isKT {
		back = matrix
	}
	a.q, a.k, a.v = s.operand(a, q, &a.scale, 1), s.operand(a, k, &a.scale, back), s.operand(a, a.v, nil, 1)
	if n, at := s.node(a.k); at >= 0 && a.isKT && s.turns(n) {
		a.k, _ = kindOf(n.arg("self"))
		a.k, a.isKT = s.operand(a, a.k, &a.scale, 1), false
	}
	return true
}

// paired tells whether two factors have the same sizes but for the last two.
func (s *seeker) paired(a, b string) bool { return sameSizes(s.lead(a), s.lead(b)) }

// lead are the sizes of a tensor but for the last two.
func (r *rewriter) lead(name string) []Expr {
	sizes := r.p.Graph.Tensors[name].Sizes
	return sizes[:max(0, len(sizes)-matrix)]
}

// operand goes back from a factor to what has the dimensions of the weights, without its scale, and without copies if the elements of a
// dimension, counted from the last, lie side by side.
func (s *seeker) operand(a *attended, name string, scale *float64, back int) string {
	for {
		n, at := s.node(name)
		if at < 0 {
			return name
		}
		own, ok := s.noise(n)
		copies := n.op() == "clone" || n.op() == "contiguous"
		wanted := !sameSizes(s.lead(name), a.sizes[:len(a.sizes)-matrix]) || n.op() == "expand" || n.op() == "alias"
		if copies {
			wanted = s.dense(own, back)
		}
		if ok = ok && wanted && slices.Equal(tail(s.p.Graph.Tensors[own]), tail(s.p.Graph.Tensors[name])); !ok && scale != nil {
			own, ok = s.scaled(n, scale)
		}
		if !ok || s.f.written[s.f.root(own)] {
			return name
		}
		name = own
	}
}

// turns tells whether a node exchanges the last two dimensions.
func (s *seeker) turns(n *Node) bool {
	self, _ := kindOf(n.arg("self"))
	rank := int64(len(s.p.Graph.Tensors[self].Sizes))
	from := func(a Argument) int64 {
		d, ok := a.(int64)
		if !ok {
			return 0
		}
		return (d + rank) % max(rank, 1)
	}
	switch n.op() {
	case "t", "mT":
		return true
	case "numpy_T":
		return rank == matrix
	case "transpose":
		a, b := from(n.arg("dim0")), from(n.arg("dim1"))
		return min(a, b) == rank-2 && max(a, b) == rank-1
	case "permute":
		dims, ok := n.arg("dims").([]int64)
		want := make([]int64, rank)
		for i := range want {
			want[i] = int64(i)
		}
		if rank > 1 {
			want[rank-1], want[rank-2] = rank-2, rank-1
		}
		return ok && slices.EqualFunc(dims, want, func(a, b int64) bool { return from(a) == b })
	}
	return false
}

// number is a number that is the same in each run, or NaN.
func (s *seeker) number(a Argument, usual float64) float64 {
	switch v := a.(type) {
	case nil:
		return usual
	case int64:
		return float64(v)
	case float64:
		return v
	}
	if t, ok := s.state(s.f, a); ok && t.NumEl() == 1 && t.Dim() == 0 && !t.IsComplex() {
		return t.Float64()
	}
	return math.NaN()
}

// scaled is the argument that a node multiplies by a number.
func (s *seeker) scaled(n *Node, scale *float64) (name string, ok bool) {
	self, other := n.arg("self"), n.arg("other")
	by := s.number(other, math.NaN())
	switch {
	case n.op() == "div" && n.arg("rounding_mode") == nil:
		by = 1 / by
	case n.op() != "mul":
		return "", false
	case math.IsNaN(by):
		self, by = other, s.number(self, math.NaN())
	}
	result, _ := n.result()
	name, _ = kindOf(self)
	if m := s.p.Graph.Tensors[name]; math.IsNaN(by) || m.DType != s.p.Graph.Tensors[result].DType {
		return "", false
	}
	*scale *= by
	return name, true
}

// weighed is the argument that a node multiplies by a number for each head.
func (s *seeker) weighed(a *attended, n *Node) (name string, ok bool) {
	self, _ := kindOf(n.arg("self"))
	by, _ := kindOf(n.arg("other"))
	result, _ := n.result()
	if !s.hasSizes(a, self) {
		self, by = by, self
	}
	factor := s.p.Graph.Tensors[by]
	if n.Target != "torch.ops.aten.mul.Tensor" || !s.hasSizes(a, self) || !s.hasSizes(a, result) || len(factor.Sizes) > len(a.sizes) ||
		factor.DType != s.p.Graph.Tensors[self].DType || !slices.Equal(tail(factor), []string{"1", "1"}) {
		return "", false
	}
	a.factors = append(a.factors, by)
	return self, true
}

// masked is the argument that a node adds something to, or of which it takes a part.
func (s *seeker) masked(a *attended, n *Node) (name string, ok bool) {
	self, _ := kindOf(n.arg("self"))
	other, _ := kindOf(n.arg("other"))
	condition, _ := kindOf(n.arg("mask"))
	value, drops := s.number(n.arg("value"), math.NaN()), true
	switch n.op() {
	case "add":
		if n.overload() != "Tensor" || s.number(n.arg("alpha"), 1) != 1 {
			return "", false
		}
		result, _ := n.result()
		if !s.leads(self) {
			self, other = other, self
		}
		if !s.hasSizes(a, result) || !s.hasSizes(a, self) {
			return "", false
		}
		return self, s.adds(a, other, n)
	case "where":
		condition, _ = kindOf(n.arg("condition"))
		value, drops = s.number(n.arg("other"), math.NaN()), false
		if math.IsNaN(value) {
			self, value, drops = other, s.number(n.arg("self"), math.NaN()), true
		}
	case "masked_fill":
	default:
		return "", false
	}
	ok = condition != "" && value <= leftOut && (a.unscaled() || math.IsInf(value, -1)) && s.hasSizes(a, self) &&
		s.p.Graph.Tensors[condition].DType == torch.Bool
	a.masks = append(a.masks, mask{condition, value, drops})
	return self, ok
}

// leads tells whether a value is made from a product of matrices by scales and masks.
func (s *seeker) leads(name string) bool {
	for {
		n, _ := s.node(name)
		if _, _, _, ok := n.factors(); ok {
			return true
		}
		own, ok := s.noise(n)
		if !ok {
			own, ok = s.scaled(n, new(float64))
		}
		if !ok {
			own, _ = kindOf(n.arg("self"))
			ok = n.op() == "add" || n.op() == "mul" || n.op() == "where" || n.op() == "masked_fill"
		}
		if !ok {
			return false
		}
		name = own
	}
}

// adds takes what a node adds to the scores.
func (s *seeker) adds(a *attended, name string, n *Node) bool {
	result, _ := n.result()
	m := s.p.Graph.Tensors[name]
	if more := len(m.Sizes) - len(a.sizes); more > 0 && len(without(m.Sizes, len(a.sizes))) == len(a.sizes) {
		if t, frozen := s.state(s.f, TensorArgument(name)); frozen {
			name = string(s.constant("mask", t.Reshape(t.Shape()[more:]...)))
			m = s.p.Graph.Tensors[name]
		}
	}
	a.masks = append(a.masks, mask{name: name})
	return name != "" && a.unscaled() && s.hasSizes(a, result) && m.DType == s.p.Graph.Tensors[result].DType && len(m.Sizes) <= len(a.sizes)
}

// unscaled tells whether nothing multiplies the scores that was found so far.
func (a *attended) unscaled() bool { return a.scale == 1 && len(a.factors) == 0 }

// hasSizes tells whether a value has the sizes of the weights, but for ones before them.
func (s *seeker) hasSizes(a *attended, name string) bool {
	return sameSizes(without(s.p.Graph.Tensors[name].Sizes, len(a.sizes)), a.sizes)
}

// without are sizes without ones at the beginning, as long as there are more than so many.
func without(sizes []Expr, rank int) []Expr {
	for len(sizes) > rank && sizes[0].String() == "1" {
		sizes = sizes[1:]
	}
	return sizes
}
