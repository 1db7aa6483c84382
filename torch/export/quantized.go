package export

import (
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// emit makes the graph anew.
func (q *quantizer) emit() {
	for i := range q.p.Graph.Nodes {
		n := &q.p.Graph.Nodes[i]
		name, _ := n.result()
		switch l := q.at[i]; {
		case l != nil:
			q.layered(l)
		case q.gone[i]:
		case q.takes[i] != "" && n.op() == "max_pool2d":
			q.pooled(n, name, q.known[q.takes[i]])
		case q.takes[i] != "" && isMeans(n):
			q.averaged(n, q.known[q.takes[i]])
		case q.takes[i] != "":
			q.gated(n, name, q.known[q.takes[i]])
		default:
			q.nodes = append(q.nodes, *n)
		}
	}
	if len(q.layers) > 0 {
		q.p.Graph.Nodes = q.nodes
		q.p.operators = append(q.p.operators, "onednn::qconv_pointwise", "onednn::qconv2d_pointwise", "onednn::qlinear_pointwise",
			"quantized::max_pool2d", "libtorchgo::direct_uint8", "libtorchgo::depthwise_uint8", "libtorchgo::linear_uint8",
			"libtorchgo::quantize_uint8", "libtorchgo::means_uint8", "libtorchgo::scale_uint8")
	}
}

// call adds a node that makes a value of a dtype.
func (q *quantizer) call(like *Node, target, result, base string, dtype torch.DType, inputs ...NamedArgument) TensorArgument {
	m := q.p.Graph.Tensors[result]
	m.DType = dtype
	name := q.value(base, m)
	n := like.with("torch.ops."+target, inputs...)
	n.Name, n.Outputs = string(name), []Argument{name}
	q.nodes = append(q.nodes, n)
	return name
}

// scaled is the scale and the zero of a value in eight bits.
func (q *quantizer) scaled(name string) (e eighth) {
	s, _ := q.span(name)
	const steps = 255
	e.scale = (s.Max - s.Min) / steps
	e.zero = int64(-s.Min/e.scale + 0.5)
	return e
}

// inEight is a value in eight bits, which is made of float32 where it is not yet there.
func (q *quantizer) inEight(name string, like *Node) eighth {
	e, ok := q.known[name]
	if !ok {
		e = q.scaled(name)
		if q.ours {
			e.name = q.call(like, "libtorchgo.quantize_uint8.default", name, name+"_uint8", torch.Uint8, given("x", TensorArgument(name)),
				given("scale", e.scale), given("zero", e.zero))
			q.known[name] = e
			return e
		}
		own := q.call(like, "aten.quantize_per_tensor.default", name, name+"_quantized", torch.QUint8, given("self", TensorArgument(name)),
			given("scale", e.scale), given("zero_point", e.zero), given("dtype", torch.QUint8))
		e.name = q.call(like, "aten.int_repr.default", name, name+"_uint8", torch.Uint8, given("self", own))
		q.known[name] = e
	}
	return e
}

// asFloat makes a value that is there in eight bits of float32, for those who read it so.
func (q *quantizer) asFloat(n *Node, name string, e eighth) {
	q.known[name] = e
	if !slices.ContainsFunc(q.f.readers[name], func(i int) bool { return q.takes[i] != name }) {
		return
	}
	own := q.call(n, "aten._to_copy.default", name, name+"_float32", torch.Float32, given("self", e.name),
		NamedArgument{Name: "dtype", Value: torch.Float32, Keyword: true})
	if e.zero != 0 {
		own = q.call(n, "aten.sub.Scalar", name, name+"_float32", torch.Float32, given("self", own), given("other", float64(e.zero)))
	}
	to := n.with("torch.ops.aten.mul.Scalar", given("self", own), given("other", e.scale))
	to.Name, to.Outputs = name, []Argument{TensorArgument(name)}
	q.nodes = append(q.nodes, to)
}

// pooled is the largest of each window of a value in eight bits.
func (q *quantizer) pooled(n *Node, name string, e eighth) {
	w := windowOf(n)
	e.name = q.call(n, "quantized.max_pool2d.default", name, name+"_uint8", torch.Uint8, given("qx", e.name), given("kernel_size", w.kernel),
		given("stride", w.stride), given("padding", w.padding), given("dilation", w.dilation), given("ceil_mode", w.ceil))
	q.asFloat(n, name, e)
}

// scaledWeights are weights in whole numbers with a scale for each channel. Where the processor adds two products in sixteen bits, those of
// neighbouring inputs are to be small enough, which narrow are.
func scaledWeights(weight torch.Tensor, narrow bool) (w, scales torch.Tensor) {
	const most = 127 // of one, and of two, whose product with 255 then fits
	channels := weight.Size(0)
	scales = weight.Abs().Reshape(channels, -1).AMax(1).DivScalar(most)
	if inputs := weight.Size(1); narrow && inputs > 1 {
		pairs := weight.MoveDim(1, -1).Reshape(channels, -1, inputs)
		if inputs%2 > 0 {
			pairs = torch.Cat([]torch.Tensor{pairs, torch.ZerosLike(pairs.Narrow(-1, 0, 1))}, -1)
		}
		pairs = pairs.Reshape(channels, -1, 2)
		sums := pairs.ClampMin(0).Sum(-1).Maximum(pairs.Neg().ClampMin(0).Sum(-1)).AMax(1)
		scales = scales.Maximum(sums.DivScalar(most))
	}
	scales = torch.Where(scales.EqScalar(0), torch.Ones(), scales)
	shape := slices.Repeat([]int{1}, weight.Dim())
	shape[0] = -1
	return balanced(weight.Div(scales.Reshape(shape...)), torch.Int8, narrow), scales
}

// layered computes a layer in eight bits.
func (q *quantizer) layered(l *layer) {
	x := q.inEight(l.x, l.node)
	to, dtype := eighth{scale: 1}, torch.Float32
	if q.eight[l.result] || l.other != "" && !l.ours {
		to, dtype = q.scaled(l.result), torch.Uint8
	}
	w, scales := scaledWeights(l.weight, q.narrow)
	var target string
	var inputs []NamedArgument
	if l.ours {
		target, inputs = q.own(l, x, w, scales, to, dtype)
	} else {
		inputs = []NamedArgument{given("qx", x.name), given("x_scale", x.scale), given("x_zero_point", x.zero)}
		inputs = append(inputs, q.weights(l, x, w, scales)...)
		var settings []NamedArgument
		target, settings = q.settings(l, q.optional(q.bias(l, w, scales)), to, dtype)
		inputs = append(inputs, settings...)
	}
	if dtype == torch.Float32 {
		n := l.node.with("torch.ops."+target, inputs...)
		n.makes(l.last)
		q.nodes = append(q.nodes, n)
		return
	}
	to.name = q.call(l.node, target, l.result, l.result+"_uint8", dtype, inputs...)
	q.asFloat(l.node, l.result, to)
}

// optional is a bias as an argument; none where there is none.
func (q *quantizer) optional(t torch.Tensor) Argument {
	if !t.Defined() {
		return nil
	}
	return q.constant("bias", t)
}

// weights are a layer's weights as oneDNN reads them.
func (q *quantizer) weights(l *layer, x eighth, w, scales torch.Tensor) []NamedArgument {
	sizes := q.p.Graph.Tensors[l.x].hints()
	op, args := "onednn::qlinear_prepack", []any{w, sizes}
	if c := l.convolution; c != nil {
		op = "onednn::qconv_prepack"
		args = []any{w, scales, x.scale, int(x.zero), ints(c.stride), ints(c.padding), ints(c.dilation), int(c.groups), sizes}
	}
	packed, ok := inner(op, args...)
	if !ok {
		q.err = fmt.Errorf("node %q: oneDNN has no layout of eight bits for these weights", l.node.Name)
		packed = w
	}
	return []NamedArgument{given("qw", q.constant("packed_weight", packed)), given("w_scale", q.constant("weight_scales", scales)),
		given("w_zero_point", q.constant("weight_zeros", torch.Zeros(scales.Size(0)).To(torch.Int32)))}
}

// bias is what a layer adds, less what the rounding of its weights adds on average: most of what rounding does to the results is always
// the same.
func (q *quantizer) bias(l *layer, w, scales torch.Tensor) torch.Tensor {
	own, has := q.state(q.f, l.node.arg("bias"))
	outputs, inputs := l.weight.Size(0), l.weight.Size(1)
	groups := 1
	if l.convolution != nil {
		groups = int(l.convolution.groups)
	}
	means := q.ranges[l.x].Mean
	if len(means) != inputs*groups {
		return own
	}
	shape := slices.Repeat([]int{1}, w.Dim())
	shape[0] = -1
	off := w.To(torch.Float64).Mul(scales.To(torch.Float64).Reshape(shape...)).Sub(l.weight)
	off = off.Reshape(groups, outputs/groups, inputs, -1).Sum(-1)
	b := off.Mul(torch.FromSlice(means, groups, 1, inputs)).Sum(-1).Flatten().Neg()
	if has {
		b = b.Add(own)
	}
	return b.To(torch.Float32)
}

// settings are the operator of a layer and its arguments behind the weights.
func (q *quantizer) settings(l *layer, b Argument, to eighth, dtype torch.DType) (target string, inputs []NamedArgument) {
	output := []NamedArgument{given("output_scale", to.scale), given("output_zero_point", to.zero), given("output_dtype", dtype)}
	bias, algorithm := given("bias", b), l.act.algorithm
	switch c := l.convolution; {
	case c == nil:
		if algorithm == nil {
			algorithm = ""
		}
		return "onednn.qlinear_pointwise.default", slices.Concat([]NamedArgument{bias}, output,
			[]NamedArgument{given("post_op_name", l.act.attr), given("post_op_args", l.act.scalars), given("post_op_algorithm", algorithm)})
	case l.other != "":
		sum := q.known[l.other]
		return "onednn.qconv2d_pointwise.binary", slices.Concat([]NamedArgument{given("qaccum", sum.name), bias}, c.inputs(), output,
			[]NamedArgument{given("accum_scale", sum.scale), given("accum_zero_point", sum.zero), given("binary_attr", "sum"), given("alpha", 1.0),
				given("unary_attr", l.act.attr), given("unary_scalars", l.act.scalars), given("unary_algorithm", "")})
	default:
		return "onednn.qconv_pointwise.default", slices.Concat([]NamedArgument{bias}, c.inputs(), output,
			[]NamedArgument{given("attr", l.act.attr), given("scalars", l.act.scalars), given("algorithm", algorithm)})
	}
}

// inputs are a convolution's settings as oneDNN's operators take them.
func (c *convolution) inputs() []NamedArgument {
	return []NamedArgument{given("stride", c.stride), given("padding", c.padding), given("dilation", c.dilation), given("groups", c.groups)}
}
