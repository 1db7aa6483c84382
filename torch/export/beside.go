package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

const besideTarget = "torch.ops.libtorchgo.direct_beside.default"

// besides makes the sum of two convolutions of 1 x 1, as where a branch meets a shortcut that changes its channels, one convolution of the
// channels of both, with the activation behind it: what one of them makes needs not be written, and read again, and rounded in between.
func besides(r *rewriter) {
	if !r.anyStrides() {
		return
	}
	f := r.flow()
	for i := range r.p.Graph.Nodes {
		n := &r.p.Graph.Nodes[i]
		name, ok := n.result()
		if !n.isSum() || !ok {
			continue
		}
		x, other, ok := r.sides(f, n, i)
		if !ok {
			continue
		}
		to, next, ok := r.fusing(f, name, func(a activation) (Node, bool) { return r.beside(f, n, x, other, a) })
		if !ok {
			continue
		}
		r.drop(f, x.at)
		r.drop(f, other.at)
		r.put(f, i, to, next)
	}
}

// mixing is a convolution of 1 x 1 of all channels, whose weight is a constant, and its place.
type mixing struct {
	at     int
	node   *Node
	weight torch.Tensor
	stride []int64
}

// sides are the two sides of a sum, if both are such convolutions that nothing else reads, of which the first takes every pixel.
func (r *rewriter) sides(f *flow, sum *Node, at int) (x, other mixing, ok bool) {
	both := r.sidesOf(f, sum, at)
	if len(both) != 2 {
		return x, other, false
	}
	x, ok = r.mixing(f, both[0].own)
	other, known := r.mixing(f, both[1].own)
	if every := []int64{1, 1}; !slices.Equal(x.stride, every) {
		x, other = other, x
		ok = ok && slices.Equal(x.stride, every)
	}
	return x, other, ok && known && x.weight.DType() == other.weight.DType()
}

// mixing finds the convolution of 1 x 1 that makes a value.
func (r *rewriter) mixing(f *flow, name string) (m mixing, ok bool) {
	m.at = f.maker[name]
	m.node = &r.p.Graph.Nodes[m.at]
	x, _ := kindOf(m.node.arg("input"))
	c, image := convolutionOf(m.node)
	if !image || c.groups != 1 || slices.Max(c.padding) > 0 || f.written[f.root(x)] || len(r.p.Graph.Tensors[x].Sizes) != 4 {
		return m, false
	}
	m.stride = c.stride
	m.weight, ok = r.weight(f, m.node)
	return m, ok && m.weight.Dim() == 4 && m.weight.Size(2)*m.weight.Size(3) == 1
}

// beside is our operator for a sum of two such convolutions.
func (r *rewriter) beside(f *flow, sum *Node, x, other mixing, a activation) (to Node, ok bool) {
	activation, ok := ownActivation(a)
	if !ok {
		return to, false
	}
	packed, ok := inner("libtorchgo::direct_weight", torch.Cat([]torch.Tensor{x.weight, other.weight}, 1))
	if !ok {
		return to, false
	}
	return sum.with(besideTarget, given("x", x.node.arg("input")), given("other", other.node.arg("input")),
		given("weight", r.constant("direct_weight", packed)), given("bias", r.biases(f, x.node.arg("bias"), other.node.arg("bias"))),
		given("sum", nil), given("outputs", int64(x.weight.Size(0))), given("stride", other.stride), given("activation", activation)), true
}

// biases is the sum of the constants that are none or some biases, in float32.
func (r *rewriter) biases(f *flow, list ...Argument) Argument {
	var all []torch.Tensor
	for _, a := range list {
		if t, ok := r.state(f, a); ok {
			all = append(all, r.unrounded(a, t).To(torch.Float32))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return r.constant("bias", torch.Stack(all).Sum(0))
}
