package export

import (
	"slices"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
)

// The convolutions of our own, whose arguments have the same names.
const (
	winogradTarget  = "torch.ops.libtorchgo.winograd.default"
	directTarget    = "torch.ops.libtorchgo.direct.default"
	depthwiseTarget = "torch.ops.libtorchgo.depthwise.default"
	volumesTarget   = "torch.ops.libtorchgo.volumes.default"
	groupedTarget   = "torch.ops.libtorchgo.grouped.default"
)

// addingForms write to what they add.
var addingForms = map[string]string{
	winogradTarget: "torch.ops.libtorchgo.winograd_.default", directTarget: "torch.ops.libtorchgo.direct_.default",
}

// isOwn tells whether a node calls an operator of ours.
func isOwn(n *Node) bool { return strings.HasPrefix(n.Target, "torch.ops.libtorchgo.") }

func isOwnConvolution(n *Node) bool {
	switch n.Target {
	case winogradTarget, directTarget, depthwiseTarget, groupedTarget, volumesTarget, dilatedTarget, besideTarget:
		return true
	}
	return false
}

// ownActivations are those that can be behind a convolution of our own.
var ownActivations = setOf("none relu hardswish hardsigmoid swish sigmoid gelu")

// ownActivation is the name of an activation behind a convolution of our own.
func ownActivation(a activation) (name string, ok bool) {
	if a.attr == "hardtanh" && slices.Equal(a.scalars, []float64{0, 6}) {
		return "relu6", true
	}
	if a.attr == "gelu" && a.algorithm != "none" {
		return "gelu_tanh", a.algorithm == "tanh"
	}
	return a.attr, ownActivations[a.attr]
}

// costs are what a convolution takes, in multiplications: a direct one for each weight, which has to come from afar, and Winograd's,
// too, and for each number of a tile, which is transformed. Weights come meanwhile, as far as hidden says.
type costs struct {
	directWeight, winogradWeight, transforming int
	hidden                                     float64 // what of the time for computing hides that for weights
	forms                                      []winogradForm
}

// of is what computing and weights take together.
func (c costs) of(computing, weights int) float64 {
	return float64(computing) + max(0, float64(weights)-c.hidden*float64(computing))
}

// winogradForm is one of Winograd's: tiles of so many outputs, down and across, which lie step pixels apart. Numbers of float32 in a
// program of bfloat16 are wide: half as many are multiplied in the same time. Images are to have so many pixels a side, and channels.
type winogradForm struct {
	down, across, step int
	wide               bool
	fewest, channels   int
	folded             bool // a kernel of 7 x 7 is one of 4 x 4, without steps, over images of few channels of which 2 x 2 pixels are one
}

func (f winogradForm) kernel() int {
	if f.folded {
		return 7
	}
	return 3
}

// serves tells whether the form is for images of so many channels.
func (f winogradForm) serves(channels int) bool {
	return channels >= f.channels && (!f.folded || channels <= fewChannels)
}

// depth is how many channels what is one pixel has.
func (f winogradForm) depth(channels int) int {
	if f.folded {
		return 4 * channels
	}
	return channels
}

// seen is how many inputs of a side so many outputs see.
func (f winogradForm) seen(outputs int) int {
	if f.folded {
		return outputs + 3
	}
	return f.step*(outputs-1) + 3
}

// side is what becomes of a side of an image of outputs.
type side struct {
	tiles   int
	numbers int // of all tiles: the last one has as many as its outputs see inputs
	weights int // that they meet
}

func (f winogradForm) side(outputs, tile int) side {
	whole, rest := outputs/tile, outputs%tile
	s := side{whole, whole * f.seen(tile), f.seen(min(tile, outputs))}
	if rest > 0 {
		s.tiles, s.numbers = whole+1, s.numbers+f.seen(rest)
	}
	return s
}

func (f winogradForm) numbers() int { return f.seen(f.down) * f.seen(f.across) }

// They fit what was measured on processors whose vectors have 256 bits, or 512 in two halves, on others with AVX-512, which multiply twice
// as much while a weight comes, out of the cache, and with AVX-512's instructions for bfloat16. Tiles of 4 x 4 outputs would round numbers
// of bfloat16 three times as much as those of 2 x 2, with which a network is as far from float32 as Python's bfloat16. Those of 2 x 4 lie
// between: with them ResNets stay nearer than Python's. For small images their weights come from afar for too few tiles.
var (
	squares   = []winogradForm{{down: 4, across: 4, step: 1}, {down: 2, across: 2, step: 1}, {down: 2, across: 2, step: 2}}
	halfForms = append([]winogradForm{
		{down: 4, across: 4, step: 1, wide: true},
		{down: 2, across: 4, step: 1, fewest: 14, channels: 64},
	}, squares[1:]...)
	floatForms  = append([]winogradForm{{down: 3, across: 3, step: 2, folded: true}}, squares...)
	narrowCosts = costs{12, 8, 10, 0.5, floatForms}
	wideCosts   = costs{24, 24, 20, 0, floatForms}
	halfCosts   = costs{3, 3, 16, 0, halfForms}
)

const clearly = 0.95

// costsOf are those of a dtype.
func costsOf(dtype torch.DType) costs {
	if dtype == torch.BFloat16 {
		return halfCosts
	}
	return floatCosts(multipliesWide())
}

// multipliesWide tells whether this processor multiplies vectors of 512 bits, and not in two halves.
var multipliesWide = sync.OnceValue(func() bool { return tells("libtorchgo::multiplies_wide") })

// tells asks one of our operators of the processor.
func tells(operator string) (yes bool) {
	torch.Unsafe(func() { yes = torch.Call(operator)[0].(bool) })
	return yes
}

// floatCosts are those of a processor that multiplies whole vectors of 512 bits, or does not.
func floatCosts(wide bool) costs {
	if wide {
		return wideCosts
	}
	return narrowCosts
}

// winograd is the form that makes a convolution with a kernel of so many weights a side faster than a direct one, or none where none does,
// and what is then taken, in multiplications.
func (c costs) winograd(images, channels, outputs, kernel, step, height, width int) (best winogradForm, takes float64) {
	taps := kernel * kernel * channels * outputs
	takes = c.of(taps*images*height*width, taps*c.directWeight)
	least := clearly * takes
	for _, f := range c.forms {
		if f.kernel() != kernel || f.step != step || min(height, width) < f.fewest || !f.serves(channels) {
			continue
		}
		depth := f.depth(channels)
		weights := depth * outputs
		down, across := f.side(height, f.down), f.side(width, f.across)
		multiplying, coming := weights*images*down.numbers*across.numbers, weights*down.weights*across.weights*c.winogradWeight
		if f.wide {
			multiplying, coming = 2*multiplying, 2*coming
		}
		transforming := c.transforming * f.numbers() * images * down.tiles * across.tiles * (depth + outputs)
		if cost := c.of(multiplying+transforming, coming); cost < least {
			best, least, takes = f, cost, cost
		}
	}
	return best, takes
}

// Direct convolutions of ours are as fast as oneDNN's where both only compute, and faster where oneDNN takes its time to find what to
// compute with, up to so many multiplications, where there are so few channels that its vectors are not full, and for 1 x 1, whose weights
// come from afar while others are used.
const (
	mostDirect  = 1 << 24
	fewChannels = 4
)

func directIsFaster(images, channels, outputs, taps, height, width int) bool {
	return images*channels*outputs*taps*height*width <= mostDirect || channels <= fewChannels || taps == 1
}

// convolve is the operator of ours that computes a convolution of images, with what is behind it, where it is faster than oneDNN's.
func (r *rewriter) convolve(n *Node, w torch.Tensor, c convolution, a activation, sizes []int) (to Node, ok bool) {
	activation, known := ownActivation(a)
	if !known {
		return to, false
	}
	if !slices.Equal(c.dilation, []int64{1, 1}) {
		return r.dilated(n, w, c, activation, sizes)
	}
	height, width := c.outputs(sizes, w, 0), c.outputs(sizes, w, 1)
	if c.groups > 1 {
		if to, ok = r.depthwise(n, w, c, activation, sizes); ok {
			return to, true
		}
		return r.grouped(n, w, c, activation)
	}
	if packed, ok := c.winogradWeight(sizes, r.unrounded(n.arg("weight"), w), w.DType()); ok {
		return r.ours(n, winogradTarget, "winograd_weight", packed, activation, given("padding", c.padding)), true
	}
	if w.DType() == torch.BFloat16 || directIsFaster(sizes[0], w.Size(1), w.Size(0), w.Size(2)*w.Size(3), height, width) {
		return r.direct(n, w, c, activation)
	}
	return to, false
}

// ours is an operator of ours for a convolution, with packed weights of that name and the arguments that say where its kernel goes.
func (r *rewriter) ours(n *Node, target, base string, packed torch.Tensor, activation string, place ...NamedArgument) Node {
	inputs := []NamedArgument{given("x", n.arg("input")), given("weight", r.constant(base, packed)), given("bias", n.arg("bias")),
		given("sum", nil)}
	inputs = append(append(inputs, place...), given("activation", activation))
	return r.biased(n.with(target, inputs...))
}

// direct is our operator for a convolution with weights of images, whose kernel's rows may lie apart.
func (r *rewriter) direct(n *Node, w torch.Tensor, c convolution, activation string) (to Node, ok bool) {
	packed, ok := inner("libtorchgo::direct_weight", w)
	if !ok {
		return to, false
	}
	kernel := []int64{int64(w.Size(2)), int64(w.Size(3))}
	return r.ours(n, directTarget, "direct_weight", packed, activation, given("outputs", int64(w.Size(0))), given("kernel", kernel),
		given("stride", c.stride), given("padding", c.padding), given("dilation", c.dilation[0])), true
}

// depthwise is our operator for a convolution of each channel by itself.
func (r *rewriter) depthwise(n *Node, w torch.Tensor, c convolution, activation string, sizes []int) (to Node, ok bool) {
	if int(c.groups) != sizes[1] || w.Size(0) != sizes[1] {
		return to, false
	}
	packed, ok := inner("libtorchgo::depthwise_weight", w)
	if !ok {
		return to, false
	}
	return r.ours(n, depthwiseTarget, "depthwise_weight", packed, activation, given("stride", c.stride), given("padding", c.padding)), true
}

// Vectors of outputs are made of as few groups as fill them, at most so many: what a group does not see is multiplied by zeros.
const mostMerged = 4

// merging is how many of some groups, of so many outputs each, fill the vectors that weights of a dtype have; ok is false where too few do.
func merging(groups, outputs int, dtype torch.DType) (merged int, ok bool) {
	for merged = 1; merged <= mostMerged; merged++ {
		packed, known := inner("libtorchgo::direct_weight", torch.Zeros(merged*outputs, 1, 1, 1).To(dtype))
		if !known {
			return 0, false
		}
		vector := packed.Size(3)
		if dtype == torch.BFloat16 {
			vector /= 2 // two numbers that are multiplied at once
		}
		if groups%merged == 0 && packed.Size(0)*vector == merged*outputs {
			return merged, true
		}
	}
	return 0, false
}

// grouped is our operator for a convolution of groups of channels.
func (r *rewriter) grouped(n *Node, w torch.Tensor, c convolution, activation string) (to Node, ok bool) {
	groups := int(c.groups)
	own := w.Size(0) / groups // outputs
	merged, ok := merging(groups, own, w.DType())
	if !ok {
		return to, false
	}
	shape := []int{groups / merged, merged, own, 1, w.Size(1), w.Size(2), w.Size(3)}
	whole := w.Reshape(shape...).Mul(torch.Eye(merged).To(w.DType()).Reshape(1, merged, 1, merged, 1, 1, 1))
	var parts []torch.Tensor
	for i := range groups / merged {
		part, ok := inner("libtorchgo::direct_weight", whole.Select(0, i).Reshape(merged*own, merged*w.Size(1), w.Size(2), w.Size(3)))
		if !ok {
			return to, false
		}
		parts = append(parts, part)
	}
	kernel := []int64{int64(w.Size(2)), int64(w.Size(3))}
	return r.ours(n, groupedTarget, "grouped_weight", torch.Stack(parts), activation, given("outputs", int64(w.Size(0))),
		given("kernel", kernel), given("stride", c.stride), given("padding", c.padding)), true
}

// winograd is the form that makes a convolution of images of these sizes faster than a direct one in a dtype, and what is then taken; none
// where none does.
func (c convolution) winograd(sizes []int, w torch.Tensor, dtype torch.DType) (f winogradForm, takes float64) {
	kernel := w.Size(2)
	if kernel != w.Size(3) || c.stride[0] != c.stride[1] || slices.Max(c.padding) >= int64(kernel) {
		return winogradForm{}, 0
	}
	height, width := c.outputs(sizes, w, 0), c.outputs(sizes, w, 1)
	return costsOf(dtype).winograd(sizes[0], w.Size(1), w.Size(0), kernel, int(c.stride[0]), height, width)
}

// winogradWeight is a convolution's weight as the form reads it that makes it faster; ok is false where none does, or channels fill no
// vectors.
func (c convolution) winogradWeight(sizes []int, w torch.Tensor, dtype torch.DType) (packed torch.Tensor, ok bool) {
	form, _ := c.winograd(sizes, w, dtype)
	if form.step == 0 {
		return packed, false
	}
	return form.weight(w, dtype)
}

// weight is a convolution's weight as the form reads it; ok is false where channels fill no vectors.
func (f winogradForm) weight(w torch.Tensor, dtype torch.DType) (packed torch.Tensor, ok bool) {
	return inner("libtorchgo::winograd_weight", w, []int{f.down, f.across}, f.step, f.wide, dtype)
}

// linearWeight is the weight of a linear layer as ours reads it: that of a convolution of images of one pixel.
func linearWeight(w torch.Tensor) (packed torch.Tensor, ok bool) {
	return inner("libtorchgo::direct_weight", w.Reshape(w.Size(0), w.Size(1), 1, 1))
}

// ownLinear is our operator for a linear layer, with an activation behind it.
func (r *rewriter) ownLinear(n *Node, w torch.Tensor, a activation) (to Node, ok bool) {
	activation, known := ownActivation(a)
	if !known {
		return to, false
	}
	packed, ok := linearWeight(w)
	if !ok {
		return to, false
	}
	return r.biased(n.with("torch.ops.libtorchgo.linear.default", given("x", n.arg("input")),
		given("weight", r.constant("direct_weight", packed)), given("outputs", int64(w.Size(0))), given("bias", n.arg("bias")),
		given("activation", activation))), true
}

// biased is a node of ours whose bias is float32, as sums are.
func (r *rewriter) biased(n Node) Node {
	if t, ok := r.held(n.arg("bias")); ok && t.DType() != torch.Float32 {
		n.Inputs = set(n.Inputs, "bias", r.constant("bias", r.unrounded(n.arg("bias"), t).To(torch.Float32)))
	}
	return n
}
