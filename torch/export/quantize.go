package export

import (
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/torch"
)

// quantizer computes convolutions and linear layers in whole numbers of eight bits.
type quantizer struct {
	*rewriter
	f      *flow
	narrow bool              // the processor adds two products in sixteen bits
	ours   bool              // it has kernels of ours
	images bool              // they may lie with their channels last
	layers []*layer          // in the order in which they are computed
	at     map[int]*layer    // by the node in whose place they come
	takes  map[int]string    // the value that a node takes in eight bits
	ruined map[string]bool   // values that are written to
	gone   map[int]bool      // the nodes that are part of a layer
	eight  map[string]bool   // values that are there in eight bits, by their names in float32
	known  map[string]eighth // those that are made by now
	nodes  []Node
}

// eighth is a value in eight bits.
type eighth struct {
	name  TensorArgument
	scale float64
	zero  int64
}

// layer is a convolution or a linear layer with the activation or the sum behind it.
type layer struct {
	node        *Node
	x, result   string
	weight      torch.Tensor
	convolution *convolution // nil for a linear layer
	act         activation
	other       string // what is added
	last        *Node  // that makes the result
	ours        bool   // computed by a kernel of ours
}

// each tells whether a layer computes each channel by itself.
func (l *layer) each() bool { return l.convolution != nil && l.convolution.groups > 1 }

// quantize replaces convolutions and linear layers whose ranges are known by ours of eight bits or, where there are none, large ones by
// oneDNN's. Activations and sums behind them are computed with them, and what only such layers read stays in eight bits.
func quantize(r *rewriter) {
	if r.ranges == nil {
		return
	}
	q := newQuantizer(r)
	if r.err != nil {
		return
	}
	if !proc.HasInstructions("avx2") {
		torch.Warn("export: CompileOptions.Int8: this processor has no AVX2, without which eight bits are slower than float32")
	}
	q.find()
	q.sums()
	q.spread()
	q.emit()
}

func newQuantizer(r *rewriter) *quantizer {
	q := &quantizer{rewriter: r, f: r.flow(), ours: wholeKernels(), images: r.anyStrides(), at: map[int]*layer{}, gone: map[int]bool{},
		takes: map[int]string{}, ruined: map[string]bool{}, eight: map[string]bool{}, known: map[string]eighth{}}
	q.narrow, r.err = saturates()
	return q
}

// saturates tells whether the processor adds two products of eight bits in sixteen, where two of the largest do not fit. Newer ones
// (VNNI) add in 32.
func saturates() (bool, error) {
	const width = 64
	narrow := false
	err := torch.Try(func() {
		w := torch.Full([]int{width, width}, 127).To(torch.Int8)
		x := torch.Full([]int{width, width}, 255).To(torch.Uint8)
		ones, zeros := torch.Ones(width), torch.Zeros(width).To(torch.Int32)
		packed, ok := inner("onednn::qlinear_prepack", w, []int{width, width})
		y, fits := inner("onednn::qlinear_pointwise", x, 1.0, 0, packed, ones, zeros, nil, 1.0, 0, torch.Float32, "none", []float64{}, "")
		if !ok || !fits {
			panic(&torch.Error{})
		}
		narrow = y.Min().Float64() != 127*255*width
	})
	return narrow, err
}

// span is the range of a value, with zero in it; ok is false where it is not known.
func (q *quantizer) span(name string) (s Span, ok bool) {
	s, ok = q.ranges[name]
	s = Span{Min: min(s.Min, 0), Max: max(s.Max, 0)}
	return s, ok && s.Max-s.Min > 0 && !math.IsInf(s.Max-s.Min, 0) && !math.IsNaN(s.Max-s.Min)
}

// find finds the layers, and activations that are computed with them.
func (q *quantizer) find() {
	for i := range q.p.Graph.Nodes {
		n := &q.p.Graph.Nodes[i]
		l, ok := q.layer(n)
		if !ok {
			continue
		}
		if next := q.reader(l.result); next >= 0 {
			own := &q.p.Graph.Nodes[next]
			if a, known := activationOf(own); known && l.takes(a) {
				l.act, l.last = a, own
				l.result, _ = own.result()
				q.gone[next] = true
			}
		}
		q.layers, q.at[i], q.takes[i] = append(q.layers, l), l, l.x
	}
}

// reader is the only node that reads a value.
func (q *quantizer) reader(name string) int {
	_, at := q.soleReader(q.f, name)
	return at
}

// layer looks at a node as a layer that can be computed in eight bits.
func (q *quantizer) layer(n *Node) (l *layer, ok bool) {
	name, ok := n.result()
	if !ok || products[n.op()] == 0 || q.ranges[name].Float {
		return nil, false
	}
	l = &layer{node: n, last: n, result: name, act: activation{attr: "none", scalars: []float64{}}}
	l.x, _ = kindOf(n.arg("input"))
	if l.weight, ok = q.weight(q.f, n); !ok || l.weight.DType() != torch.Float32 {
		return nil, false
	}
	if _, ok = q.span(l.x); !ok || q.f.written[q.f.root(l.x)] {
		return nil, false
	}
	sizes := q.p.Graph.Tensors[l.x].hints()
	if c, image := convolutionOf(n); image && len(sizes) == 4 && l.weight.Dim() == 4 {
		l.convolution = &c
		l.ours = q.ours && l.fits(sizes[1])
		quick := q.narrow && !l.ours && leavesQuick && l.isQuick(sizes)
		return l, q.images && !quick && (l.ours || !c.strays(q.p.Graph.Tensors[l.x].Sizes, l.weight))
	}
	if n.op() != "linear" || l.weight.Dim() != 2 || len(sizes) == 0 {
		return l, false
	}
	large := rows(sizes)*l.weight.NumEl() >= fewestProducts
	l.ours = q.ours && !large
	return l, large || l.ours && l.weight.NumEl() >= fewestWeights
}

// leavesQuick is whether layers that are quick in float32 stay so: the tests of eight bits, whose layers are small, have them all in those.
var leavesQuick = true

// isQuick tells of a convolution whether the kernels of ours for float32 take less time than oneDNN's where these add two products of
// eight bits in sixteen, which is twice as many at once: Winograd's multiply less than half, those of each channel read more than they
// compute, and small ones begin sooner. So MobileNet takes 6.5 ms on a Zen 3, and 8.0 in eight bits throughout.
func (l *layer) isQuick(sizes []int) bool {
	c, w := l.convolution, l.weight
	few := sizes[0]*c.outputs(sizes, w, 0)*c.outputs(sizes, w, 1)*w.NumEl() <= mostDirect
	form, _ := c.winograd(sizes, w, torch.Float32)
	return c.groups > 1 || few || form.step > 0
}

// rows are the rows of a linear layer's input.
func rows(sizes []int) int {
	n := 1
	for _, s := range sizes[:len(sizes)-1] {
		n *= s
	}
	return n
}

// takes lets a layer compute an activation, where there is a kernel that can. GELU stays apart: ours in eight bits has not been measured
// with it.
func (l *layer) takes(a activation) bool {
	if _, known := ownActivation(a); l.ours && known && a.attr != "gelu" {
		return true
	}
	if !l.knows(a) || l.ours && l.convolution == nil {
		return false
	}
	l.ours = false
	return true
}

// knows tells whether oneDNN computes an activation with the layer in eight bits.
func (l *layer) knows(a activation) bool {
	switch a.attr {
	case "relu", "hardtanh", "hardswish", "swish":
		return true
	case "gelu", "leaky_relu", "tanh":
		return l.convolution == nil
	}
	return false
}

// sums finds convolutions that add their result to what nothing else reads, if that is there in eight bits.
func (q *quantizer) sums() {
	for i := range q.p.Graph.Nodes {
		n := &q.p.Graph.Nodes[i]
		if !n.isSum() {
			continue
		}
		self, _ := kindOf(n.arg("self"))
		other, _ := kindOf(n.arg("other"))
		if !q.sum(i, n, self, other) {
			q.sum(i, n, other, self)
		}
	}
}

// sum lets the convolution that makes one side of a sum add the other side.
func (q *quantizer) sum(i int, n *Node, side, other string) bool {
	made, ok := q.f.maker[side]
	l := q.at[made]
	name, _ := n.result()
	if !ok || l == nil || l.result != side || l.act.attr != "none" || l.other != "" || other == side || q.reader(side) != i ||
		!q.adds(l, other, i) {
		return false
	}
	result, last, end := name, n, i
	if next := q.reader(name); next >= 0 && q.p.Graph.Nodes[next].op() == "relu" {
		last, end = &q.p.Graph.Nodes[next], next
		result, _ = last.result()
	}
	if _, ok := q.span(result); !ok && !l.ours {
		return false
	}
	if end != i {
		l.act.attr = "relu"
		q.gone[end] = true
	}
	delete(q.at, made)
	q.gone[made] = true
	l.other, l.result, l.last = other, result, last
	q.at[i], q.takes[i] = l, other
	if !l.ours {
		q.ruined[other] = true
	}
	return true
}

// adds tells whether a layer can add a value, which oneDNN's overwrite.
func (q *quantizer) adds(l *layer, other string, at int) bool {
	m, to := q.p.Graph.Tensors[l.result], q.p.Graph.Tensors[other]
	if l.convolution == nil || l.ours && l.each() || !sameSizes(m.Sizes, to.Sizes) || !q.comes(other) {
		return false
	}
	if l.ours {
		return !q.f.written[q.f.root(other)]
	}
	return other != l.x && !q.ruined[l.x] && q.overwritable(q.f, other, at)
}

// comes tells whether a value can be made in eight bits: by a layer, or of such a value.
func (q *quantizer) comes(name string) bool {
	if _, ok := q.span(name); !ok {
		return false
	}
	if slices.ContainsFunc(q.layers, func(l *layer) bool { return l.result == name }) {
		return true
	}
	made, ok := q.f.maker[name]
	if !ok || !q.images {
		return false
	}
	from, _ := q.kept(&q.p.Graph.Nodes[made])
	return from != "" && q.comes(from)
}

// kept is the value of which a node makes one that may stay in eight bits: the largest of each window, or channels times a gate.
func (q *quantizer) kept(n *Node) (from string, gate Argument) {
	self, other := n.arg("self"), n.arg("other")
	switch {
	case n.op() == "max_pool2d":
	case !q.ours || n.Target != "torch.ops.aten.mul.Tensor":
		return "", nil
	case q.isGate(other, self):
		gate = other
	case q.isGate(self, other):
		self, gate = other, self
	default:
		return "", nil
	}
	from, _ = kindOf(self)
	return from, gate
}

// spread finds the values that are wanted in eight bits: those that layers read and that can be made so.
func (q *quantizer) spread() {
	want := func(name string) { q.eight[name] = q.comes(name) }
	for _, l := range q.layers {
		want(l.x)
		if l.other != "" {
			want(l.other)
		}
	}
	for _, n := range slices.Backward(q.p.Graph.Nodes) {
		if name, ok := n.result(); ok && q.eight[name] {
			if from, _ := q.kept(&n); from != "" {
				want(from)
			}
		}
	}
	for i := range q.p.Graph.Nodes {
		n := &q.p.Graph.Nodes[i]
		name, ok := n.result()
		if !ok || q.at[i] != nil {
			continue
		}
		if from, _ := q.kept(n); q.eight[name] && q.eight[from] {
			q.takes[i] = from
		} else if self, _ := kindOf(n.arg("self")); q.ours && isMeans(n) && q.eight[self] {
			q.takes[i] = self
		}
	}
}
