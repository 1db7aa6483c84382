package export

import (
	"math"
	"slices"
)

// rotary lets rotary embeddings, x * cos + cat(-b, a) * sin of the halves a and b of x, be computed by an operator of ours in one pass: a
// decoder's queries and keys, which would go through six operators in each layer.
func rotary(r *rewriter) {
	s := &seeker{rewriter: r, f: r.flow()}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		x, cos, sin, ok := s.rotary(n)
		if !ok {
			continue
		}
		to := n.with("torch.ops.libtorchgo.rotary.default", given("x", x), given("cos", cos), given("sin", sin))
		r.p.Graph.Nodes[i] = to
		r.calls(&to)
	}
}

// rotary tells what a node that adds makes a rotary embedding of.
func (s *seeker) rotary(n *Node) (x, cos, sin Argument, ok bool) {
	if n.Target != "torch.ops.aten.add.Tensor" || s.number(n.arg("alpha"), 1) != 1 || n.trains() {
		return nil, nil, nil, false
	}
	// The turned half second: sums lie as what comes first, which is x, and not what was put together.
	plain, turned := s.maker(n.arg("self"), "mul"), s.maker(n.arg("other"), "mul")
	if plain == nil || turned == nil {
		return nil, nil, nil, false
	}
	for _, own := range bothSides {
		of, found := s.turned(turned.arg(own[0]))
		for _, factor := range bothSides {
			if name, _ := kindOf(plain.arg(factor[0])); found && name == of {
				x, cos, sin = plain.arg(factor[0]), plain.arg(factor[1]), turned.arg(own[1])
				sum, _ := n.result()
				return x, cos, sin, s.remains(of, sum) && s.eachHas(of, cos) && s.eachHas(of, sin) && !s.f.written[s.f.root(of)]
			}
		}
	}
	return nil, nil, nil, false
}

// bothSides are the arguments of a sum or a product, either one first.
var bothSides = [][2]string{{"self", "other"}, {"other", "self"}}

// remains tells whether x, rows of float32, has the sizes of what is made of it: then no factor has more.
func (s *seeker) remains(x, result string) bool {
	const most = 5
	sizes := s.p.Graph.Tensors[x].Sizes
	return s.isRows(x) && len(sizes) <= most && sameSizes(sizes, s.p.Graph.Tensors[result].Sizes)
}

// eachHas tells whether a factor has a number for each of a row's.
func (s *seeker) eachHas(x string, factor Argument) bool {
	name, _ := kindOf(factor)
	own, all := s.p.Graph.Tensors[name].Sizes, s.p.Graph.Tensors[x].Sizes
	return s.isRows(name) && own[len(own)-1].String() == all[len(all)-1].String()
}

// turned is x of cat(-b, a), where a and b are its halves.
func (s *seeker) turned(a Argument) (x string, ok bool) {
	n := s.maker(a, "cat")
	if n == nil {
		return "", false
	}
	parts, _ := n.arg("tensors").([]TensorArgument)
	name, _ := n.result()
	dims := len(s.p.Graph.Tensors[name].Sizes)
	if len(parts) != 2 || s.number(n.arg("dim"), 0) != -1 && s.number(n.arg("dim"), 0) != float64(dims-1) {
		return "", false
	}
	neg := s.maker(parts[0], "neg")
	if neg == nil {
		return "", false
	}
	x, first := s.half(parts[1])
	other, second := s.half(neg.arg("self"))
	return x, x != "" && x == other && first == 0 && second == 1
}

// half is what a value is half of, of each row's numbers, and which; empty for what is none.
func (s *seeker) half(a Argument) (x string, which int) {
	name, _ := kindOf(a)
	n, at := s.node(name)
	if at < 0 {
		return "", 0
	}
	x, _ = kindOf(n.arg("self"))
	sizes := s.p.Graph.Tensors[x].Sizes
	if len(sizes) == 0 {
		return "", 0
	}
	last := len(sizes) - 1
	columns, known := sizes[last].Value()
	if dim := s.number(n.arg("dim"), 0); !known || columns%2 != 0 || dim != -1 && dim != float64(last) {
		return "", 0
	}
	middle := float64(columns / 2)
	switch n.op() {
	case "slice":
		from, to := s.number(n.arg("start"), 0), s.number(n.arg("end"), math.MaxInt64)
		if from < 0 {
			from += float64(columns)
		}
		if s.number(n.arg("step"), 1) == 1 && (from == 0 && to == middle || from == middle && to >= float64(columns)) {
			return x, int(from / middle)
		}
	case "narrow":
		from, length := s.number(n.arg("start"), 0), s.number(n.arg("length"), 0)
		if length == middle && (from == 0 || from == middle) {
			return x, int(from / middle)
		}
	case "chunk", "split", "split_with_sizes":
		parts, _ := n.Outputs[0].([]TensorArgument)
		if len(parts) == 2 && s.p.Graph.Tensors[string(parts[0])].Sizes[last].String() == integer(columns/2).String() {
			return x, slices.Index(parts, TensorArgument(name))
		}
	}
	return "", 0
}
