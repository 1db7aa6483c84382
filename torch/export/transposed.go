package export

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

const transposedTarget = "torch.ops.libtorchgo.transposed.default"

// transposedConvolution is what a node of a transposed convolution of images says, or of signals, as images of one row.
type transposedConvolution struct{ stride, padding, outputPadding []int64 }

func transposedOf(n *Node) (c transposedConvolution, ok bool) {
	sides := map[string]int{"torch.ops.aten.conv_transpose1d.default": 1, "torch.ops.aten.conv_transpose2d.input": 2}[n.Target]
	if sides == 0 {
		return c, false
	}
	c = transposedConvolution{n.sides("stride", 1, sides), n.sides("padding", 0, sides), n.sides("output_padding", 0, sides)}
	dilation := n.sides("dilation", 1, sides)
	groups := n.arg("groups")
	if !isFrom(1, c.stride) || !isFrom(0, c.padding) || !isFrom(0, c.outputPadding) || !isFrom(1, dilation) ||
		slices.Max(dilation) > 1 || groups != nil && groups != int64(1) {
		return c, false
	}
	if sides == 1 {
		c = transposedConvolution{ofOneRow(1, c.stride), ofOneRow(0, c.padding), ofOneRow(0, c.outputPadding)}
	}
	return c, true
}

// transposed is the operator of ours that computes a transposed convolution: one without steps, whose outputs are those of all places from
// an input to the next. Of a kernel each of them meets every stride-th weight, from the last to the first.
func (r *rewriter) transposed(n *Node, w torch.Tensor, c transposedConvolution, a activation) (to Node, ok bool) {
	activation, known := ownActivation(a)
	if w.Dim() == 3 {
		w = w.Unsqueeze(2)
	}
	inputs, outputs, kernel := w.Size(0), w.Size(1), []int64{int64(w.Size(2)), int64(w.Size(3))}
	places, taps := [2]int{int(c.stride[0]), int(c.stride[1])}, [2]int{}
	for i, s := range places {
		taps[i] = (int(kernel[i]) + s - 1) / s
		// What lies behind the last input's kernel has no number.
		if known = known && c.outputPadding[i]-c.padding[i]+kernel[i] <= int64(s*taps[i]); !known {
			return to, false
		}
	}
	more := torch.Zeros(inputs, outputs, taps[0]*places[0], taps[1]*places[1])
	more.Narrow(2, 0, int(kernel[0])).Narrow(3, 0, int(kernel[1])).CopyInPlace(r.unrounded(n.arg("weight"), w).ViewAs(w))
	each := more.Reshape(inputs, outputs, taps[0], places[0], taps[1], places[1]).Permute(3, 5, 1, 0, 2, 4).Flip(4, 5)
	each = each.Reshape(places[0]*places[1]*outputs, inputs, taps[0], taps[1])
	if w.DType() != torch.Float32 {
		each = balanced(each, w.DType(), false)
	}
	packed, ok := inner("libtorchgo::direct_weight", each)
	if !ok {
		return to, false
	}
	bias := n.arg("bias")
	if b, given := r.held(bias); given {
		bias = r.constant("bias", r.unrounded(bias, b).To(torch.Float32).Repeat(places[0]*places[1]))
	}
	return n.with(transposedTarget, given("x", n.arg("input")), given("weight", r.constant("transposed_weight", packed)), given("bias", bias),
		given("outputs", int64(outputs)), given("kernel", kernel), given("stride", c.stride), given("padding", c.padding),
		given("output_padding", c.outputPadding), given("activation", activation)), true
}
