package export

import (
	"maps"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// expander writes operators that PyTorch has in Python alone as those of libtorch that they are made of.
type expander struct {
	g     Graph
	like  *Node
	nodes []Node
}

// decompositions are these operators. They return false for arguments that they do not know.
var decompositions = map[string]func(*expander, *Node) bool{
	"torch.ops.quantized_decomposed.quantize_per_tensor.default":    (*expander).quantize,
	"torch.ops.quantized_decomposed.dequantize_per_tensor.default":  (*expander).dequantize,
	"torch.ops.quantized_decomposed.quantize_per_channel.default":   (*expander).quantizeChannels,
	"torch.ops.quantized_decomposed.dequantize_per_channel.default": (*expander).dequantizeChannels,
}

// expanded is a graph without such operators.
func expanded(g *Graph) *Graph {
	if !slices.ContainsFunc(g.Nodes, func(n Node) bool { return decompositions[n.Target] != nil }) {
		return g
	}
	e := &expander{g: *g}
	e.g.Tensors, e.g.Nodes = maps.Clone(g.Tensors), nil
	for i := range g.Nodes {
		n := &g.Nodes[i]
		e.like, e.nodes = n, nil
		if fn := decompositions[n.Target]; fn != nil && fn(e, n) {
			last := &e.nodes[len(e.nodes)-1]
			name, _ := last.result()
			delete(e.g.Tensors, name)
			last.makes(n)
		} else {
			e.nodes = []Node{*n}
		}
		e.g.Nodes = append(e.g.Nodes, e.nodes...)
	}
	return &e.g
}

// call adds a call whose first argument is x. The result has its sizes and a dtype.
func (e *expander) call(op string, dtype torch.DType, x TensorArgument, more ...NamedArgument) TensorArgument {
	m := e.g.Tensors[string(x)]
	m.DType, m.Strides = dtype, nil
	base, _ := e.like.result()
	name := base
	for _, taken := e.g.Tensors[name]; taken; _, taken = e.g.Tensors[name] {
		name += "_"
	}
	e.g.Tensors[name] = m
	n := e.like.with("torch.ops.aten."+op, append([]NamedArgument{given("self", x)}, more...)...)
	n.Name, n.Outputs = name, []Argument{TensorArgument(name)}
	e.nodes = append(e.nodes, n)
	return TensorArgument(name)
}

func (e *expander) to(x TensorArgument, dtype torch.DType) TensorArgument {
	return e.call("to.dtype", dtype, x, given("dtype", dtype))
}

// settings are what the operators have in common: the input and its dtype, that of the result, and the bounds.
func (e *expander) settings(n *Node) (x TensorArgument, from, to torch.DType, bounds []NamedArgument, ok bool) {
	x, ok = n.arg("input").(TensorArgument)
	from = e.g.Tensors[string(x)].DType
	to, _ = n.arg("dtype").(torch.DType)
	if strings.Contains(n.Target, ".dequantize") {
		ok = ok && to == from
		if to = torch.Float32; n.arg("out_dtype") != nil {
			to, _ = n.arg("out_dtype").(torch.DType)
		}
	} else {
		ok = ok && (from == torch.Float32 || from == torch.Float16 || from == torch.BFloat16)
		if ok && from != torch.Float32 {
			x = e.to(x, torch.Float32)
		}
	}
	least, most := n.arg("quant_min"), n.arg("quant_max")
	_, a := least.(int64)
	_, b := most.(int64)
	return x, from, to, []NamedArgument{given("min", least), given("max", most)}, ok && a && b && !to.IsZero()
}

// quantize is clamp(round(input · 1/scale) + zero, min, max) in the dtype.
func (e *expander) quantize(n *Node) bool {
	x, _, to, bounds, ok := e.settings(n)
	scale, a := n.arg("scale").(float64)
	zero, b := n.arg("zero_point").(int64)
	if !ok || !a || !b || scale == 0 {
		return false
	}
	x = e.call("round.default", torch.Float32, e.call("mul.Scalar", torch.Float32, x, given("other", 1/scale)))
	x = e.call("add.Scalar", torch.Float32, x, given("other", zero))
	e.to(e.call("clamp.default", torch.Float32, x, bounds...), to)
	return true
}

// dequantize is (input - zero) · scale.
func (e *expander) dequantize(n *Node) bool {
	x, _, to, _, ok := e.settings(n)
	scale, a := n.arg("scale").(float64)
	zero, b := n.arg("zero_point").(int64)
	if !ok || !a || !b {
		return false
	}
	x = e.call("sub.Scalar", to, e.to(x, to), given("other", zero))
	e.call("mul.Scalar", to, x, given("other", scale))
	return true
}

// channels are the scales and the zeros of channels in the shape of the input, and the order of its dimensions that has the channels first.
func (e *expander) channels(n *Node, x TensorArgument) (scales, zeros TensorArgument, order []int64, ok bool) {
	scales, ok = n.arg("scales").(TensorArgument)
	zeros, _ = n.arg("zero_points").(TensorArgument)
	axis, is := n.arg("axis").(int64)
	rank := len(e.g.Tensors[string(x)].Sizes)
	if !ok || !is || axis < 0 || axis >= int64(rank) {
		return scales, zeros, nil, false
	}
	shape := slices.Repeat([]int64{1}, rank)
	shape[0] = -1
	column := func(t TensorArgument) TensorArgument {
		return e.call("reshape.default", e.g.Tensors[string(t)].DType, t, given("shape", shape))
	}
	if scales = column(scales); zeros != "" {
		zeros = column(zeros)
	}
	order = make([]int64, rank)
	for i := range order {
		order[i] = int64(i)
	}
	order[0], order[axis] = axis, 0
	return scales, zeros, order, true
}

// quantizeChannels is quantize with a scale and a zero for each channel.
func (e *expander) quantizeChannels(n *Node) bool {
	x, _, to, bounds, ok := e.settings(n)
	if !ok {
		return false
	}
	scales, zeros, order, ok := e.channels(n, x)
	if !ok || zeros == "" {
		return false
	}
	dtype := e.g.Tensors[string(scales)].DType
	scales = e.call("mul.Scalar", dtype, e.call("reciprocal.default", dtype, scales), given("other", 1.0))
	x = e.call("mul.Tensor", dtype, e.call("permute.default", torch.Float32, x, given("dims", order)), given("other", scales))
	x = e.call("add.Tensor", dtype, e.call("round.default", dtype, x), given("other", zeros))
	x = e.call("permute.default", dtype, e.call("clamp.default", dtype, x, bounds...), given("dims", order))
	e.to(x, to)
	return true
}

// dequantizeChannels is dequantize with a scale and a zero for each channel.
func (e *expander) dequantizeChannels(n *Node) bool {
	x, from, to, _, ok := e.settings(n)
	if !ok {
		return false
	}
	scales, zeros, order, ok := e.channels(n, x)
	if !ok {
		return false
	}
	dtype := e.g.Tensors[string(scales)].DType
	x = e.call("permute.default", from, x, given("dims", order))
	if zeros != "" {
		x = e.call("sub.Tensor", e.g.Tensors[string(zeros)].DType, x, given("other", zeros))
	}
	x = e.to(e.call("mul.Tensor", dtype, x, given("other", scales)), to)
	e.call("permute.default", to, x, given("dims", order))
	return true
}
