package export

import (
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// pointwise replaces convolutions of images and large linear layers, with an activation behind them, by oneDNN's operators or
// our own, which compute both at once and whose weights lie as they are read.
func pointwise(r *rewriter) {
	images, f := r.anyStrides(), r.flow()
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		name, ok := n.result()
		if _, _, product := n.weightDims(); !ok || !product {
			continue
		}
		w, frozen := r.weight(f, n)
		if !frozen {
			continue
		}
		if to, next, ok := r.fusing(f, name, func(a activation) (Node, bool) { return r.packed(n, w, a, images) }); ok {
			r.put(f, i, to, next)
		}
	}
}

// noActivation leaves a product as it is.
var noActivation = activation{attr: "none", scalars: []float64{}}

// behind is the activation that alone reads a value, and its place; none, nowhere, where something else does.
func (r *rewriter) behind(f *flow, name string) (a activation, at int) {
	if n, at := r.soleReader(f, name); n != nil {
		if a, known := activationOf(n); known {
			return a, at
		}
	}
	return noActivation, nowhere
}

// fusing is the node that takes the place of one that makes a value and of the activation behind it, whose place is next, or, where there
// is none for both, of the one alone.
func (r *rewriter) fusing(f *flow, name string, with func(activation) (Node, bool)) (to Node, next int, ok bool) {
	a, next := r.behind(f, name)
	if to, ok = with(a); !ok && next >= 0 {
		next = nowhere
		to, ok = with(noActivation)
	}
	return to, next, ok
}

// calls writes down that the program calls a node's operator.
func (r *rewriter) calls(n *Node) {
	r.p.operators = append(r.p.operators, strings.Join(strings.Split(n.Target, ".")[2:4], "::"))
}

// weight is the weight of a product that oneDNN computes: of constants, on the CPU, in a dtype that it has.
func (r *rewriter) weight(f *flow, n *Node) (w torch.Tensor, ok bool) {
	w, m, ok := r.frozenProduct(f, n)
	return w, ok && m.Device.IsCPU() && (m.DType == torch.Float32 || m.DType == torch.BFloat16)
}

// frozenProduct is the weight of a product, and what is known of its input: all of it is of one dtype, and the weight and the bias are
// constants.
func (r *rewriter) frozenProduct(f *flow, n *Node) (w torch.Tensor, m TensorMeta, ok bool) {
	if w, ok = r.state(f, n.arg("weight")); !ok {
		return w, m, false
	}
	x, _ := kindOf(n.arg("input"))
	m = r.p.Graph.Tensors[x]
	ok = m.Layout == torch.Strided && m.DType == w.DType()
	if bias := n.arg("bias"); ok && bias != nil {
		b, known := r.state(f, bias)
		ok = known && b.DType() == m.DType
	}
	return w, m, ok
}

// Linear layers of ours take a tenth less than oneDNN's and MKL's, with any number of rows, but where vectors of 512 bits are multiplied
// whole and weights meet many rows: with few they come nearer in time everywhere, those of 960 x 1280 in half of the others'. Where ours
// has not the activation, oneDNN's is faster than MKL's from so many multiplications on: its calls cost some 20 µs.
const (
	fewRows        = 64
	fewestProducts = 1 << 22
)

// packed is oneDNN's or our operator for a product.
func (r *rewriter) packed(n *Node, w torch.Tensor, a activation, images bool) (to Node, ok bool) {
	x, _ := kindOf(n.arg("input"))
	sizes := r.p.Graph.Tensors[x].hints()
	tail := []NamedArgument{given("attr", a.attr), given("scalars", a.scalars), given("algorithm", a.algorithm)}
	if c, image := convolutionOf(n); image && images && len(sizes) == 4 && w.Dim() == 4 {
		if to, ok = r.convolve(n, w, c, a, sizes); ok {
			return to, true
		}
		if c.strays(r.p.Graph.Tensors[x].Sizes, w) {
			return to, false
		}
		if w, ok = inner("mkldnn::_reorder_convolution_weight", w, ints(c.padding), ints(c.stride), ints(c.dilation), int(c.groups), sizes); !ok {
			return to, false
		}
		inputs := []NamedArgument{given("X", n.arg("input")), given("W", r.constant("packed_weight", w)), given("B", n.arg("bias")),
			given("padding", c.padding), given("stride", c.stride), given("dilation", c.dilation), given("groups", c.groups)}
		return n.with("torch.ops.mkldnn._convolution_pointwise.default", append(inputs, tail...)...), true
	}
	if c, signal := signalOf(n); signal && images && len(sizes) == 3 && w.Dim() == 3 {
		return r.signal(n, w, c, a, sizes)
	}
	if c, volume := convolutionIn(n, 3); volume && images && len(sizes) == 5 && w.Dim() == 5 {
		return r.volumes(n, w, c, a, sizes)
	}
	if t, transposed := transposedOf(n); transposed && images && len(sizes) == w.Dim() {
		return r.transposed(n, w, t, a)
	}
	if n.op() != "linear" || len(sizes) == 0 || w.Dim() != 2 {
		return to, false
	}
	if to, ok = r.narrow(n, w, a); ok {
		return to, true
	}
	rows := 1
	for _, s := range sizes[:len(sizes)-1] {
		rows *= s
	}
	few := rows*w.Size(0)*w.Size(1) < fewestProducts
	if few || rows < fewRows || !multipliesWide() {
		if to, ok = r.ownLinear(n, w, a); ok {
			return to, true
		}
	}
	if few {
		return to, false
	}
	if w, ok = inner("mkldnn::_reorder_linear_weight", w, rows); !ok {
		return to, false
	}
	inputs := []NamedArgument{given("X", n.arg("input")), given("W", r.constant("packed_weight", w)), given("B", n.arg("bias"))}
	return n.with("torch.ops.mkldnn._linear_pointwise.default", append(inputs, tail...)...), true
}

// inner calls one of libtorch's inner operators with arguments that are known to fit. It fails on processors without the instructions,
// such as those for bfloat16.
func inner(name string, args ...any) (t torch.Tensor, ok bool) {
	err := torch.Try(func() {
		torch.Unsafe(func() { t = torch.Call(name, args...)[0].(torch.Tensor) })
	})
	return t, err == nil
}

func ints(list []int64) []int {
	all := make([]int, len(list))
	for i, n := range list {
		all[i] = int(n)
	}
	return all
}

// hint is a number, or what it was when the program was exported.
func (e Expr) hint() (n int64, ok bool) {
	if n, ok = e.Value(); !ok {
		n, ok = e.Hint.(int64)
	}
	return n, ok
}

// hints are the sizes that a tensor had when the program was exported; empty if they are not known.
func (m TensorMeta) hints() (list []int) {
	const largest = 1 << 31
	for _, s := range m.Sizes {
		n, ok := s.hint()
		if !ok || n < 1 || n > largest {
			return nil
		}
		list = append(list, int(n))
	}
	return list
}

// numbers is how many a tensor had when the program was exported; one if that is not known.
func (m TensorMeta) numbers() int {
	n := 1
	for _, size := range m.hints() {
		n *= size
	}
	return n
}

// byStride are the operators that depend on how their argument lies in memory.
var byStride = setOf(`as_strided sym_stride sym_storage_offset is_contiguous view_as_real view_as_complex resize_ set_ as_strided_
	unsafe_chunk`)

// anyStrides tells whether images may lie with their channels last: no node sees how a tensor lies in memory, but for views, which
// become reshapes, and those of memory that is written to cannot.
func (r *rewriter) anyStrides() bool {
	f := r.flow()
	return !slices.ContainsFunc(r.p.Graph.Nodes, func(n Node) bool {
		name, _ := n.result()
		return byStride[n.op()] || strings.HasPrefix(n.Target, "torch.ops.higher_order.") || isView(&n) && f.written[f.root(name)]
	})
}

func isView(n *Node) bool {
	return n.Target == "torch.ops.aten.view.default" || n.Target == "torch.ops.aten._unsafe_view.default"
}

// formats lets the program go on with images whose channels lie last, as convolutions return them: a view becomes a reshape, and what is
// returned lies as it did.
func formats(r *rewriter) {
	g, turned := &r.p.Graph, r.turned()
	if len(turned) == 0 {
		return
	}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; isView(n) {
			g.Nodes[i] = n.with("torch.ops.aten.reshape.default", given("self", n.arg("self")), given("shape", n.arg("size")))
		}
	}
	for i, out := range g.Outputs {
		name, tensor := out.(TensorArgument)
		m := g.Tensors[string(name)]
		if tensor && turned[len(m.Sizes)] && r.p.Signature.Outputs[i].Kind == UserOutput {
			own := r.lying(name, m)
			g.Outputs[i], r.p.Signature.Outputs[i].Arg = own, own
		}
	}
}

// turned are the numbers of dimensions of what may have its channels last: images, signals and volumes.
func (r *rewriter) turned() map[int]bool {
	turned := map[int]bool{}
	for i := range r.p.Graph.Nodes {
		if n := &r.p.Graph.Nodes[i]; r.channelsLast(n) {
			name, _ := n.result()
			turned[len(r.p.Graph.Tensors[name].Sizes)] = true
		}
	}
	return turned
}

// channelsLast tells whether a node makes images, or signals, whose channels lie last.
func (r *rewriter) channelsLast(n *Node) bool {
	return isOwnConvolution(n) || n.Target == transposedTarget || isWholeConvolution(n) ||
		strings.HasPrefix(n.Target, "torch.ops.mkldnn._convolution_pointwise.") ||
		strings.HasPrefix(n.Target, "torch.ops.onednn.qconv") || r.device.IsCUDA() && onCuDNN(n)
}

// lying is what is returned in the place of a tensor: one that lies as that did in the program.
func (r *rewriter) lying(name TensorArgument, m TensorMeta) TensorArgument {
	add := func(from TensorArgument, target string, arguments ...NamedArgument) TensorArgument {
		own := r.value(string(name)+"_contiguous", m)
		r.p.Graph.Nodes = append(r.p.Graph.Nodes, Node{Name: string(own), Target: target, Outputs: []Argument{own},
			Inputs: append([]NamedArgument{given("self", from)}, arguments...)})
		return own
	}
	contiguous := func(from TensorArgument, format torch.MemoryFormat) TensorArgument {
		return add(from, "torch.ops.aten.contiguous.default", NamedArgument{Name: "memory_format", Value: format, Keyword: true})
	}
	n, known := m.Strides[1].Value()
	last := known && n == 1 && m.Sizes[1].String() != "1"
	switch {
	case last && len(m.Sizes) == 5:
		return contiguous(name, torch.ChannelsLast3d)
	case last && len(m.Sizes) == 4:
		return contiguous(name, torch.ChannelsLast)
	case last && m.Strides[2].String() != "1":
		turn := []NamedArgument{given("dim0", int64(1)), given("dim1", int64(2))}
		turned := add(name, "torch.ops.aten.transpose.int", turn...)
		return add(contiguous(turned, torch.ContiguousFormat), "torch.ops.aten.transpose.int", turn...)
	}
	return contiguous(name, torch.ContiguousFormat)
}

// value adds a tensor to the graph and returns its name.
func (r *rewriter) value(base string, m TensorMeta) TensorArgument {
	name := r.unused(base, func(string) bool { return false })
	r.p.Graph.Tensors[name] = m
	return TensorArgument(name)
}

// sums lets a convolution add its result to a tensor that nothing else reads, with the ReLU behind the sum.
func sums(r *rewriter) {
	f := r.flow()
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		name, ok := n.result()
		if !n.isSum() || !ok {
			continue
		}
		conv, other, ok := r.summands(f, n, i)
		if !ok {
			continue
		}
		made := f.maker[conv]
		next, at := r.soleReader(f, name)
		relu := next != nil && next.op() == "relu" && r.takesReLU(f, &r.p.Graph.Nodes[made])
		if !relu {
			at = nowhere
		}
		to := adding(&r.p.Graph.Nodes[made], other, relu)
		to.makes(n)
		r.drop(f, made)
		r.put(f, i, to, at)
	}
}

// takesReLU tells whether a convolution that adds something can have a ReLU behind it. oneDNN's calls libtorch for both where the images do
// not lie with their channels last, and that has none for bfloat16.
func (r *rewriter) takesReLU(f *flow, conv *Node) bool {
	x, _ := kindOf(conv.arg("X"))
	made, ok := f.maker[x]
	return isOwnConvolution(conv) || r.p.Graph.Tensors[x].DType != torch.BFloat16 || ok && r.channelsLast(&r.p.Graph.Nodes[made])
}

// addable is the input of a convolution that can add something to its result; in place is where it writes to what it adds.
func addable(n *Node) (x string, inPlace, ok bool) {
	switch {
	case n.Target == "torch.ops.mkldnn._convolution_pointwise.default" && n.arg("attr") == "none":
		x, _ = kindOf(n.arg("X"))
		return x, true, true
	case isOwnConvolution(n) && n.arg("sum") == nil && n.arg("activation") == "none":
		x, _ = kindOf(n.arg("x"))
		return x, false, true
	}
	return "", false, false
}

// adding is such a convolution that adds something.
func adding(n *Node, other TensorArgument, relu bool) Node {
	unary := Argument(nil)
	if relu {
		unary = "relu"
	}
	if isOwnConvolution(n) {
		inputs := set(n.Inputs, "sum", other)
		if relu {
			inputs = set(inputs, "activation", unary)
		}
		return n.with(n.Target, inputs...)
	}
	inputs := append([]NamedArgument{given("other", other)}, n.Inputs[:7]...)
	return n.with("torch.ops.mkldnn._convolution_pointwise_.binary", append(inputs, given("binary_attr", "add"), given("alpha", 1.0),
		given("unary_attr", unary), given("unary_scalars", []float64{}), given("unary_algorithm", nil))...)
}

// summands are the two sides of a sum: a convolution that nothing else reads, and a tensor that it may add.
func (r *rewriter) summands(f *flow, n *Node, at int) (conv string, other TensorArgument, ok bool) {
	for _, s := range r.sidesOf(f, n, at) {
		x, inPlace, ok := addable(&r.p.Graph.Nodes[f.maker[s.own]])
		if ok && !f.written[f.root(x)] && (!inPlace || f.root(x) != f.root(s.other) && r.overwritable(f, s.other, at)) {
			return s.own, TensorArgument(s.other), true
		}
	}
	return "", "", false
}

// summand is a side of a sum that a node makes for it alone, and the other one.
type summand struct{ own, other string }

// sidesOf are the ways to see a sum of two values that are alike as one that is added to the other.
func (r *rewriter) sidesOf(f *flow, sum *Node, at int) (list []summand) {
	self, _ := kindOf(sum.arg("self"))
	other, _ := kindOf(sum.arg("other"))
	a, b := r.p.Graph.Tensors[self], r.p.Graph.Tensors[other]
	if self == other || self == "" || other == "" || !sameSizes(a.Sizes, b.Sizes) || a.DType != b.DType {
		return nil
	}
	for _, s := range []summand{{self, other}, {other, self}} {
		if _, made := f.maker[s.own]; made && f.only(s.own) == at {
			list = append(list, s)
		}
	}
	return list
}
