package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// heads lets attentions on the CPU be computed by an operator of ours, which takes two thirds of the time and leaves to libtorch what it
// has no kernel for when it runs: few rows, and more keys than stay in the cache.
func heads(r *rewriter) {
	s := &seeker{rewriter: r, f: r.flow()}
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		name, _ := kindOf(n.arg("query"))
		m := r.p.Graph.Tensors[name]
		if n.Target != "torch.ops.aten.scaled_dot_product_attention.default" || !m.Device.IsCPU() || len(m.Sizes) != 4 || n.trains() ||
			m.DType != torch.Float32 && m.DType != torch.BFloat16 {
			continue
		}
		key, value, grouped := n.arg("key"), n.arg("value"), n.arg("enable_gqa") == true
		if k, v, ok := s.repeated(n); ok {
			key, value, grouped = k, v, true
		}
		to := n.with("torch.ops.libtorchgo.attention.default", given("query", n.arg("query")), given("key", key), given("value", value),
			given("mask", n.arg("attn_mask")), given("causal", n.arg("is_causal") == true), given("scale", n.arg("scale")),
			given("grouped", grouped))
		r.p.Graph.Nodes[i] = to
		r.calls(&to)
	}
}

// repeated are an attention's keys and values before they are repeated for the queries of a group.
func (s *seeker) repeated(n *Node) (key, value TensorArgument, ok bool) {
	key, ok = s.once(n.arg("key"))
	value, both := s.once(n.arg("value"))
	return key, value, ok && both && sameSizes(s.lead(string(key)), s.lead(string(value)))
}

// reshapes are the operators that keep the order of elements, and name other sizes for them.
var reshapes = setOf(`view reshape _unsafe_view flatten`)

// once is what is repeated: heads get a dimension behind them, are expanded there, and these are heads again.
func (s *seeker) once(a Argument) (own TensorArgument, ok bool) {
	const behind = 2
	name, _ := kindOf(a)
	to := s.p.Graph.Tensors[name].Sizes
	n, _ := s.node(name)
	if !reshapes[n.op()] || len(to) != headed {
		return own, false
	}
	name, _ = kindOf(n.arg("self"))
	for n, _ = s.node(name); n.op() == "clone" || n.op() == "contiguous"; n, _ = s.node(name) {
		name, _ = kindOf(n.arg("self"))
	}
	wide := s.p.Graph.Tensors[name].Sizes
	if n.op() != "expand" || len(wide) != headed+1 || !sameSizes(but(wide, 1, behind+1), but(to, 1, behind)) {
		return own, false
	}
	name, _ = kindOf(n.arg("self"))
	n, _ = s.node(name)
	own, _ = n.arg("self").(TensorArgument)
	from := s.p.Graph.Tensors[string(own)].Sizes
	ok = n.op() == "unsqueeze" && n.arg("dim") == int64(behind) && sameSizes(from, but(wide, behind, behind+1))
	return own, ok && !s.f.written[s.f.root(string(own))]
}

// but are sizes without those from first to last.
func but(sizes []Expr, first, last int) []Expr {
	return slices.Delete(slices.Clone(sizes), first, last)
}
