package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// few is the largest part of a program's multiplications and of its weights, one in so many, that an end of it may take more in float32:
// the first layers of ResNet-18 and MobileNet, 5 to 6.5 % of the multiplications, would take 5 to 10 % more time, and the last ones of
// ResNets, which have 4 to 23 % of the weights, 1 %.
const few = 50

// ends are the nodes that stay in float32 where the others are lowered: products that read what the program is given, with what keeps close
// behind them, and products that it returns. What is rounded before the first reaches all that comes after, and what is rounded behind the
// last nothing makes up for. Float16 has none: it has as many digits as TF32.
func (r *rewriter) ends(f *flow) map[int]bool {
	g, stay := &r.p.Graph, map[int]bool{}
	if r.dtype == torch.Float16 {
		return stay
	}
	costs, all := map[int]cost{}, cost{}
	for i := range g.Nodes {
		c := r.cost(f, &g.Nodes[i])
		costs[i], all = c, cost{all.multiplications + c.multiplications, all.weights + c.weights}
	}
	for i := range g.Nodes {
		n, c := &g.Nodes[i], costs[i]
		x, _ := kindOf(n.arg("input"))
		name, _ := n.result()
		first, last := r.isInput(x), slices.Contains(g.Outputs, Argument(TensorArgument(name)))
		if !first && !last || c.weights == 0 || few*c.weights > all.weights || few*r.more(f, n, c) > all.multiplications {
			continue
		}
		stay[i] = true
		if first {
			r.stays(f, i, stay)
		}
	}
	return stay
}

// more is what a product takes in float32 beyond what it takes in the program's dtype, twice, since there are half as many multiplications:
// all of its own, but for Winograd's form of a kernel of 7 x 7, as ResNets begin with, which is nearly as fast as what bfloat16 has for it.
func (r *rewriter) more(f *flow, n *Node, c cost) float64 {
	x, _ := kindOf(n.arg("input"))
	sizes := r.p.Graph.Tensors[x].hints()
	w, _ := r.state(f, n.arg("weight"))
	of, image := convolutionOf(n)
	if !image || w.Dim() != 4 || of.groups != 1 || len(sizes) != 4 || !hasKernels(r.dtype) {
		return c.multiplications
	}
	form, takes := of.winograd(sizes, w, torch.Float32)
	if form.step == 0 {
		return c.multiplications
	}
	_, half := of.winograd(sizes, w, r.dtype)
	return max(0, 2*takes-half)
}

// hasKernels tells whether this processor has kernels of ours for convolutions in a dtype.
func hasKernels(dtype torch.DType) bool {
	_, ok := inner("libtorchgo::direct_weight", torch.Zeros(1, 1, 1, 1).To(dtype))
	return ok
}

// isInput tells whether a value is one that the program is given in float32.
func (r *rewriter) isInput(name string) bool {
	return slices.ContainsFunc(r.p.Signature.Inputs, func(s InputSpec) bool {
		return s.Kind == UserInput && s.Arg == Argument(TensorArgument(name)) && r.p.Graph.Tensors[name].DType == torch.Float32
	})
}

// cost is what a product computes and reads.
type cost struct{ multiplications, weights float64 }

// cost of a product of the program in float32; nothing for other nodes and where it is not known.
func (r *rewriter) cost(f *flow, n *Node) (c cost) {
	name, ok := n.result()
	m := r.p.Graph.Tensors[name]
	sizes := m.hints()
	if _, product := products[n.op()]; !product || !ok || m.DType != torch.Float32 || len(sizes) == 0 {
		return c
	}
	w, ok := r.state(f, n.arg("weight"))
	if !ok || w.Dim() < matrix || w.NumEl() == 0 {
		return c
	}
	c.weights = float64(w.NumEl())
	c.multiplications = c.weights / float64(w.Size(0))
	for _, n := range sizes {
		c.multiplications *= float64(n)
	}
	return c
}

// stays marks a node, and its activation and the largest of neighbouring pixels, where nothing else reads what is between.
func (r *rewriter) stays(f *flow, i int, stay map[int]bool) {
	g := &r.p.Graph
	for i >= 0 && i < len(g.Nodes) {
		stay[i] = true
		name, _ := g.Nodes[i].result()
		next, at := r.soleReader(f, name)
		if next == nil {
			return
		}
		if _, ok := activationOf(next); !ok && next.Target != "torch.ops.aten.max_pool2d.default" {
			return
		}
		i = at
	}
}

// left marks the layers that are to be left in float32, with what keeps close behind them, and what is computed of these alone.
func (r *rewriter) left(f *flow, stay map[int]bool) {
	g := &r.p.Graph
	if len(r.floats) == 0 {
		return
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		name, ok := n.result()
		switch c := r.cost(f, n); {
		case !ok || stay[i]:
		case c.weights > 0 && r.floats[name]:
			r.stays(f, i, stay)
		case c.weights == 0 && products[n.op()] == 0 && !f.written[f.root(name)] && g.Tensors[name].DType == torch.Float32:
			stay[i] = r.ofThose(f, n, stay)
		}
	}
}

// ofThose tells whether all that a node reads, but for constants, is made by nodes that stay.
func (r *rewriter) ofThose(f *flow, n *Node, stay map[int]bool) bool {
	made, all := false, true
	for _, in := range n.Inputs {
		namesIn(in.Value, func(name string) {
			at, ok := f.maker[name]
			made = made || ok
			all = all && (!ok || stay[at]) && !r.isInput(name)
		})
	}
	return made && all
}

// cross converts what nodes that stay in float32 and the others read of each other. Sums of residual branches are of float32, and read so
// by each other.
func (r *rewriter) cross(f *flow, stay map[int]bool) {
	g := &r.p.Graph
	before := map[int][]Node{}
	widened := func(i int) {
		names := map[string]string{}
		for _, in := range g.Nodes[i].Inputs {
			name, kind := kindOf(in.Value)
			if _, made := f.maker[name]; kind == "Tensor" && made && g.Tensors[name].DType == r.dtype {
				own, node := r.converted(TensorArgument(name), torch.Float32, name+"_float32")
				before[i] = append(before[i], node)
				names[name] = string(own)
			}
		}
		g.Nodes[i].Inputs = renamedAll(g.Nodes[i].Inputs, names)
	}
	lowered := func(i int) {
		name, _ := kindOf(g.Nodes[i].Outputs[0])
		if g.Tensors[name].DType != torch.Float32 {
			return
		}
		names := map[string]string{}
		for _, at := range f.readers[name] {
			if at == len(g.Nodes) || stay[at] || g.Nodes[at].Target == residualTarget {
				continue
			}
			if len(names) == 0 {
				own, nodes := r.narrowed(name)
				before[i+1] = append(before[i+1], nodes...)
				names[name] = own
			}
			g.Nodes[at].Inputs = renamedAll(g.Nodes[at].Inputs, names)
		}
	}
	for i := range g.Nodes {
		if stay[i] {
			widened(i)
		}
		if stay[i] || g.Nodes[i].Target == residualTarget {
			lowered(i)
		}
	}
	r.insert(before)
}
