package export

import (
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// wholeKernels tells whether the processor has kernels of ours that compute in eight bits.
var wholeKernels = func() bool {
	_, ok := inner("libtorchgo::depthwise_uint8_lanes", 1)
	return ok
}

// fewestWeights are those of a linear layer that takes longer to read in float32 than its input to be made of eight bits.
const fewestWeights = 1 << 14

// isWhole tells whether a node calls an operator of ours that computes in eight bits.
func isWhole(n *Node) bool { return isOwn(n) && strings.HasSuffix(n.Target, "_uint8.default") }

// isWholeConvolution tells whether a node makes images so.
func isWholeConvolution(n *Node) bool {
	return isWhole(n) && (strings.Contains(n.Target, ".direct_") || strings.Contains(n.Target, ".depthwise_"))
}

// fits tells whether a kernel of ours computes a convolution of images of so many channels.
func (l *layer) fits(channels int) bool {
	const mostTaps = 1 << 10 // of each channel by itself
	c, w := l.convolution, l.weight
	if !slices.Equal(c.dilation, []int64{1, 1}) || w.NumEl() == 0 {
		return false
	}
	return c.groups == 1 || int(c.groups) == channels && w.Size(0) == channels && w.Size(2)*w.Size(3) <= mostTaps
}

// wholeWeights are weights of eight bits as our kernels read them.
type wholeWeights struct {
	each          bool // each channel by itself
	weight, start torch.Tensor
	order         torch.Tensor // the channel of each lane
}

// newWholeWeights packs weights for images in which a number stands for zero; ok is false where the processor has no kernel.
func newWholeWeights(w torch.Tensor, each bool, zero int64) (packed wholeWeights, ok bool) {
	packed.each = each
	if !each {
		packed.weight, ok = inner("libtorchgo::direct_uint8_weight", w)
	} else if packed.weight, ok = inner("libtorchgo::depthwise_uint8_weight", w); ok {
		packed.order, ok = inner("libtorchgo::depthwise_uint8_lanes", w.Size(0))
	}
	if ok {
		packed.start = packed.lanes(w.To(torch.Int32).Flatten(1, -1).Sum(1).MulScalar(-zero).To(torch.Int32))
	}
	return packed, ok
}

// lanes are numbers of each output as the kernels read them.
func (p wholeWeights) lanes(t torch.Tensor) torch.Tensor {
	if p.each {
		return t.IndexSelect(0, p.order)
	}
	return t.Contiguous()
}

// own is the operator of ours that computes a layer, and its arguments.
func (q *quantizer) own(l *layer, x eighth, w, scales torch.Tensor, to eighth, dtype torch.DType) (target string, inputs []NamedArgument) {
	bias := q.bias(l, w, scales)
	if l.convolution == nil {
		w = w.Reshape(w.Size(0), w.Size(1), 1, 1)
	}
	packed, _ := newWholeWeights(w, l.each(), x.zero)
	if !bias.Defined() {
		bias = torch.ZerosLike(scales)
	}
	activation, _ := ownActivation(l.act)
	inputs = []NamedArgument{given("x", x.name), given("x_zero", x.zero), given("weight", q.constant("whole_weight", packed.weight))}
	if l.convolution != nil {
		inputs = append(inputs, given("kernel", []int64{int64(w.Size(2)), int64(w.Size(3))}))
	}
	inputs = append(inputs, given("start", q.constant("start", packed.start)),
		given("scale", q.constant("scale", packed.lanes(scales.MulScalar(x.scale)))), given("bias", q.constant("bias", packed.lanes(bias))))
	tail := []NamedArgument{given("activation", activation), given("y_scale", to.scale), given("y_zero", to.zero), given("dtype", dtype)}
	switch c := l.convolution; {
	case c == nil:
		return "libtorchgo.linear_uint8.default", append(inputs, tail...)
	case l.each():
		return "libtorchgo.depthwise_uint8.default", append(append(inputs, given("stride", c.stride), given("padding", c.padding)), tail...)
	default:
		sum, of := Argument(nil), eighth{scale: 1}
		if l.other != "" {
			of = q.known[l.other]
			sum = of.name
		}
		inputs = append(inputs, given("sum", sum), given("sum_scale", of.scale), given("sum_zero", of.zero), given("stride", c.stride),
			given("padding", c.padding))
		return "libtorchgo.direct_uint8.default", append(inputs, tail...)
	}
}

// averaged are the means of the channels of images in eight bits.
func (q *quantizer) averaged(n *Node, e eighth) {
	inputs := []NamedArgument{given("x", e.name), given("scale", e.scale), given("zero", e.zero), q.keeps(n)}
	q.nodes = append(q.nodes, n.with("torch.ops.libtorchgo.means_uint8.default", inputs...))
}

// gated are the channels of images in eight bits times a number each.
func (q *quantizer) gated(n *Node, name string, e eighth) {
	_, gate := q.kept(n)
	to := q.scaled(name)
	to.name = q.call(n, "libtorchgo.scale_uint8.default", name, name+"_uint8", torch.Uint8, given("x", e.name), given("x_scale", e.scale),
		given("x_zero", e.zero), given("by", gate), given("y_scale", to.scale), given("y_zero", to.zero))
	q.asFloat(n, name, to)
}
