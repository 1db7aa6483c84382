package export

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// lower lets a program compute in another dtype what it computes in float32, but for its ends: weights and inputs are converted, and
// results are converted back.
func lower(r *rewriter) {
	if r.dtype.IsZero() || r.dtype == torch.Float32 {
		return
	}
	g, f := &r.p.Graph, r.flow()
	if r.err = r.lowers(f); r.err != nil {
		return
	}
	was := map[string]torch.DType{}
	for name, m := range g.Tensors {
		was[name] = m.DType
	}
	stay := r.ends(f)
	r.left(f, stay)
	names, before := r.loweredInputs(f, stay)
	r.loweredNodes(stay)
	for i := range g.Nodes {
		if !stay[i] {
			g.Nodes[i].Inputs = renamedAll(g.Nodes[i].Inputs, names)
		}
	}
	r.rename(len(g.Nodes), names)
	r.cross(f, stay)
	g.Nodes = append(before, g.Nodes...)
	for i, out := range g.Outputs {
		name, ok := out.(TensorArgument)
		if m := g.Tensors[string(name)]; ok && m.DType == r.dtype && was[string(name)] == torch.Float32 {
			own, node := r.converted(name, torch.Float32, string(name)+"_float32")
			g.Nodes = append(g.Nodes, node)
			g.Outputs[i], r.p.Signature.Outputs[i].Arg = own, own
		}
	}
}

// loweredInputs converts weights now, and inputs by the nodes that it returns, but for what is read in float32 alone; names are those of
// what is converted.
func (r *rewriter) loweredInputs(f *flow, stay map[int]bool) (names map[string]string, before []Node) {
	names = map[string]string{}
	for _, s := range slices.Clone(r.p.Signature.Inputs) {
		name, _ := kindOf(s.Arg)
		m := r.p.Graph.Tensors[name]
		if _, kind := kindOf(s.Arg); kind != "Tensor" || m.DType != torch.Float32 {
			continue
		}
		if readers := f.readers[name]; len(readers) > 0 && !slices.ContainsFunc(readers, func(at int) bool { return !stay[at] }) {
			continue
		}
		if t, ok := r.state(f, s.Arg); ok {
			names[name] = string(r.lowered(f.readers[name], name, t))
			continue
		}
		own, nodes := r.narrowed(name)
		before = append(before, nodes...)
		names[name] = own
	}
	return names, before
}

// loweredNodes lets what is float32 be of the other dtype, but for nodes that stay what they are.
func (r *rewriter) loweredNodes(stay map[int]bool) {
	g := &r.p.Graph
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if stay[i] {
			continue
		}
		inputs := slices.Clone(n.Inputs)
		for k := range inputs {
			if inputs[k].Value == Argument(torch.Float32) {
				inputs[k].Value = r.dtype
			}
			if v, ok := inputs[k].Value.(float64); ok && r.dtype == torch.Float16 && !math.IsInf(v, 0) {
				inputs[k].Value = min(max(v, -largestHalf), largestHalf)
			}
		}
		if r.isFactory(n) {
			inputs = set(inputs, "dtype", r.dtype)
		}
		n.Inputs = inputs
		for k, out := range n.Outputs {
			if n.Target == residualTarget && k == 0 {
				continue // sums stay in float32
			}
			namesIn(out, func(name string) {
				if m, ok := g.Tensors[name]; ok && m.DType == torch.Float32 {
					m.DType = r.dtype
					g.Tensors[name] = m
				}
			})
		}
	}
}

// isFactory tells whether a node makes a tensor of the default dtype out of nothing.
func (r *rewriter) isFactory(n *Node) bool {
	name, ok := n.result()
	schema, known := r.schema(n)
	return ok && known && creates(schema, "dtype") && r.p.Graph.Tensors[name].DType == torch.Float32
}

// lowers tells why a program cannot be computed in another dtype.
func (r *rewriter) lowers(f *flow) error {
	if r.dtype != torch.BFloat16 && (r.dtype != torch.Float16 || !r.device.IsCUDA()) {
		return fmt.Errorf("CompileOptions.DType is %v, expected float32 or bfloat16, or float16 on a card", r.dtype)
	}
	for _, n := range r.p.Graph.Nodes {
		if strings.HasPrefix(n.Target, "torch.ops.higher_order.") {
			return fmt.Errorf("node %q, %s: a program with branches or loops is computed in its own dtypes", n.Name, n.Target)
		}
	}
	for _, in := range r.p.Graph.Inputs {
		if name, _ := kindOf(in); f.written[f.root(name)] && r.p.Graph.Tensors[name].DType == torch.Float32 {
			return fmt.Errorf("the program changes %q: it is computed in its own dtypes", name)
		}
	}
	return nil
}

// largestHalf is float16's largest number, which stands for all above it: minus infinity times nothing, as a mask has it, would be no
// number.
const largestHalf = 65504.0

// narrowed is the name of a tensor of float32 in the program's dtype, and the nodes that make it.
func (r *rewriter) narrowed(name string) (own string, nodes []Node) {
	from := TensorArgument(name)
	if r.dtype == torch.Float16 {
		from = r.value(name+"_clamped", r.p.Graph.Tensors[name])
		nodes = append(nodes, Node{Name: string(from), Target: "torch.ops.aten.clamp.default", Outputs: []Argument{from},
			Inputs: []NamedArgument{given("self", TensorArgument(name)), given("min", -largestHalf), given("max", largestHalf)}})
	}
	to, node := r.converted(from, r.dtype, name+"_lowered")
	return string(to), append(nodes, node)
}

// converted is a tensor in another dtype, under a name like that, and the node that makes it.
func (r *rewriter) converted(from TensorArgument, dtype torch.DType, base string) (to TensorArgument, n Node) {
	m := r.p.Graph.Tensors[string(from)]
	m.DType = dtype
	to = r.value(base, m)
	return to, Node{Name: string(to), Target: "torch.ops.aten._to_copy.default", Outputs: []Argument{to},
		Inputs: []NamedArgument{given("self", from), {Name: "dtype", Value: dtype, Keyword: true}}}
}
