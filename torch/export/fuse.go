package export

import (
	"fmt"
	"math"
	"slices"
)

// given is an argument by its place.
func given(name string, v Argument) NamedArgument { return NamedArgument{Name: name, Value: v} }

// set is a node's arguments with another one.
func set(list []NamedArgument, name string, v Argument) []NamedArgument {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Name == name {
			list[i].Value = v
			return list
		}
	}
	return append(list, NamedArgument{Name: name, Value: v, Keyword: true})
}

// products are the operators of weights and inputs, and the number of dimensions of their weights.
var products = map[string]int{"conv1d": 3, "conv2d": 4, "conv3d": 5, "linear": 2, "convolution": 4}

// paddings lets convolutions pad their input themselves, where zeros are put at both sides alike.
func paddings(r *rewriter) {
	f := r.flow()
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		in, _ := kindOf(n.arg("input"))
		made, ok := f.maker[in]
		dims := products[n.op()] - matrix // of images
		if !ok || dims < 1 || n.overload() != "default" || n.arg("transposed") == true || f.only(in) != i {
			continue
		}
		sides, ok := paddingOf(&r.p.Graph.Nodes[made], dims)
		own, given := n.arg("padding").([]int64)
		self := r.p.Graph.Nodes[made].arg("self")
		name, _ := kindOf(self)
		if !ok || !given && n.arg("padding") != nil || len(own) > 1 && len(own) != dims || f.written[f.root(name)] {
			continue
		}
		if len(own) == 1 {
			own = slices.Repeat(own, dims)
		}
		for k, p := range own {
			sides[k] += p
		}
		*n = n.with(n.Target, set(set(n.Inputs, "padding", sides), "input", self)...)
	}
}

// paddingOf are the zeros that a node puts at each side of the last dimensions.
func paddingOf(n *Node, dims int) (sides []int64, ok bool) {
	list, ok := n.arg("pad").([]int64)
	value, mode := n.arg("value"), n.arg("mode")
	zero := value == nil || value == 0.0 || value == int64(0)
	if n.op() != "pad" && n.op() != "constant_pad_nd" || !ok || !zero || mode != nil && mode != "constant" || len(list) != 2*dims {
		return nil, false
	}
	sides = make([]int64, dims)
	for k := range sides {
		before, after := list[2*k], list[2*k+1]
		if before != after || before < 0 {
			return nil, false
		}
		sides[dims-1-k] = before
	}
	return sides, true
}

// activation is a function of each element that oneDNN computes with a product.
type activation struct {
	attr      string
	scalars   []float64
	algorithm Argument
}

// activationOf is what a node computes, if oneDNN knows it.
func activationOf(n *Node) (a activation, ok bool) {
	number := func(name string, usual float64) float64 {
		switch v := n.arg(name).(type) {
		case float64:
			return v
		case int64:
			return float64(v)
		case nil:
			return usual
		}
		ok = false
		return 0
	}
	ok = true
	a.scalars = []float64{}
	switch n.op() {
	case "relu", "sigmoid", "tanh", "hardswish", "hardsigmoid":
		a.attr = n.op()
	case "silu":
		a.attr = "swish"
	case "relu6":
		a.attr, a.scalars = "hardtanh", []float64{0, 6}
	case "hardtanh":
		a.attr, a.scalars = "hardtanh", []float64{number("min_val", -1), number("max_val", 1)}
	case "leaky_relu":
		a.attr, a.scalars = "leaky_relu", []float64{number("negative_slope", 0.01)}
	case "gelu":
		a.attr, a.algorithm = "gelu", n.arg("approximate")
		if a.algorithm == nil {
			a.algorithm = "none"
		}
	default:
		return a, false
	}
	return a, ok
}

// convolution is what a node of a convolution of images says.
type convolution struct {
	stride, padding, dilation []int64
	groups                    int64
}

// convolutionOf is a convolution of images.
func convolutionOf(n *Node) (c convolution, ok bool) { return convolutionIn(n, 2) }

// signalOf is one of signals, as one of images of one row.
func signalOf(n *Node) (c convolution, ok bool) {
	c, ok = convolutionIn(n, 1)
	if !ok {
		return c, false
	}
	return convolution{ofOneRow(1, c.stride), ofOneRow(0, c.padding), ofOneRow(1, c.dilation), c.groups}, true
}

// ofOneRow is what a convolution says of the only side of signals, as one of images of one row.
func ofOneRow(down int64, across []int64) []int64 { return append([]int64{down}, across...) }

// convolutionIn is a convolution with so many sides.
func convolutionIn(n *Node, sides int) (c convolution, ok bool) {
	ok = n.Target == fmt.Sprintf("torch.ops.aten.conv%dd.default", sides) || n.op() == "convolution" && n.arg("transposed") == false
	c = convolution{n.sides("stride", 1, sides), n.sides("padding", 0, sides), n.sides("dilation", 1, sides), 1}
	if g := n.arg("groups"); g != nil {
		c.groups, _ = g.(int64)
	}
	return c, ok && isFrom(1, c.stride) && isFrom(0, c.padding) && isFrom(1, c.dilation) && c.groups > 0
}

// isFrom tells whether there are numbers, none of which is less, or beyond what can be reckoned with: a file may say anything, of which
// libtorch tells when it runs.
func isFrom(least int64, list []int64) bool {
	return len(list) > 0 && slices.Min(list) >= least && slices.Max(list) <= math.MaxInt32
}

// sides are the numbers of an argument that has one for each of some sides, or the same for all; nil for words, and other numbers of them.
func (n *Node) sides(name string, usual int64, sides int) []int64 {
	list, given := n.arg(name).([]int64)
	switch {
	case n.arg(name) == nil:
		return slices.Repeat([]int64{usual}, sides)
	case given && len(list) == 1:
		return slices.Repeat(list, sides)
	case !given || len(list) != sides:
		return nil
	}
	return list
}
