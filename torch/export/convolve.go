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
)

// isOwn tells whether a node calls an operator of ours.
func isOwn(n *Node) bool { return strings.HasPrefix(n.Target, "torch.ops.libtorchgo.") }

func isOwnConvolution(n *Node) bool {
	return n.Target == winogradTarget || n.Target == directTarget || n.Target == depthwiseTarget
}

// ownActivations are those that can be behind a convolution of our own.
var ownActivations = setOf("none relu hardswish hardsigmoid swish sigmoid")

// ownActivation is the name of an activation behind a convolution of our own.
func ownActivation(a activation) (name string, ok bool) {
	if a.attr == "hardtanh" && slices.Equal(a.scalars, []float64{0, 6}) {
		return "relu6", true
	}
	return a.attr, ownActivations[a.attr]
}

// costs are what a convolution takes, in multiplications: oneDNN's for each weight, which has to come from afar, and Winograd's, too, and
// for each number of a tile, which is transformed.
type costs struct{ directWeight, winogradWeight, transforming int }

// They fit what was measured on processors with AVX2 and with AVX-512, which multiply twice as much while a weight comes, out of the cache.
var (
	narrowCosts = costs{12, 8, 10}
	wideCosts   = costs{24, 23, 20}
)

const clearly = 0.95

// ownCosts are those of this processor.
var ownCosts = sync.OnceValue(func() (c costs) {
	c = narrowCosts
	torch.Scope(func() {
		if packed, ok := inner("libtorchgo::direct_weight", torch.Ones(1, 1, 1, 1)); ok && packed.Size(-1) == 16 {
			c = wideCosts
		}
	})
	return c
})

// winogradTile is how many outputs, squared, a tile has that makes a convolution of 3 x 3 faster than oneDNN's: 2 or 4, or 0 where none
// does.
func (c costs) winogradTile(images, channels, outputs, height, width int) (tile int) {
	weights := channels * outputs
	least := clearly * float64(9*weights*(images*height*width+c.directWeight))
	for _, m := range []int{4, 2} {
		numbers, tiles := (m+2)*(m+2), images*((height+m-1)/m)*((width+m-1)/m)
		if cost := float64(numbers * (weights*(tiles+c.winogradWeight) + c.transforming*tiles*(channels+outputs))); cost < least {
			tile, least = m, cost
		}
	}
	return tile
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
	ones := []int64{1, 1}
	activation, known := ownActivation(a)
	if w.DType() != torch.Float32 || !slices.Equal(c.dilation, ones) || !known {
		return to, false
	}
	outputs := func(side int) int {
		return (sizes[2+side]+2*int(c.padding[side])-w.Size(2+side))/int(c.stride[side]) + 1
	}
	height, width := outputs(0), outputs(1)
	own := func(target, base string, packed torch.Tensor, place ...NamedArgument) Node {
		inputs := []NamedArgument{given("x", n.arg("input")), given("weight", r.constant(base, packed))}
		if target == directTarget {
			inputs = append(inputs, given("outputs", int64(w.Size(0))))
		}
		inputs = append(append(inputs, given("bias", n.arg("bias")), given("sum", nil)), place...)
		return n.with(target, append(inputs, given("activation", activation))...)
	}
	if c.groups > 1 {
		if int(c.groups) == sizes[1] && w.Size(0) == sizes[1] {
			if packed, ok := inner("libtorchgo::depthwise_weight", w); ok {
				return own(depthwiseTarget, "depthwise_weight", packed, given("stride", c.stride), given("padding", c.padding)), true
			}
		}
		return to, false
	}
	if w.Size(2) == 3 && w.Size(3) == 3 && slices.Equal(c.stride, ones) && slices.Max(c.padding) <= 2 {
		tile := ownCosts().winogradTile(sizes[0], w.Size(1), w.Size(0), height, width)
		if packed, ok := inner("libtorchgo::winograd_weight", w, tile); ok { // not for no tile, nor for channels that fill no vectors
			return own(winogradTarget, "winograd_weight", packed, given("padding", c.padding)), true
		}
	}
	if directIsFaster(sizes[0], w.Size(1), w.Size(0), w.Size(2)*w.Size(3), height, width) {
		if packed, ok := inner("libtorchgo::direct_weight", w); ok {
			return own(directTarget, "direct_weight", packed, given("stride", c.stride), given("padding", c.padding)), true
		}
	}
	return to, false
}

// fewRowed is the operator of ours that computes a linear layer, with an activation behind it.
func (r *rewriter) fewRowed(n *Node, w torch.Tensor, a activation) (to Node, ok bool) {
	activation, known := ownActivation(a)
	if w.DType() != torch.Float32 || !known {
		return to, false
	}
	packed, ok := inner("libtorchgo::direct_weight", w.Reshape(w.Size(0), w.Size(1), 1, 1))
	if !ok {
		return to, false
	}
	return n.with("torch.ops.libtorchgo.linear.default", given("x", n.arg("input")), given("weight", r.constant("direct_weight", packed)),
		given("outputs", int64(w.Size(0))), given("bias", n.arg("bias")), given("activation", activation)), true
}
