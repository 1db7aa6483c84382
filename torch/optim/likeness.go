package optim

import (
	"slices"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// kind describes a parameter with its gradient and its state: device and dtype of the
// parameter, whether the gradient is sparse, and whether all have the same layout in memory.
type kind uint64

const (
	sparseKind kind = 1 << 32 // the gradient is sparse
	flatKind   kind = 1 << 33 // a fused kernel may process all of them as contiguous memory
)

// kindsOf returns the kinds of many parameters, each with its gradient and its state,
// in one call.
func kindsOf(tuples [][]torch.Tensor) []kind {
	var c cgo.Call
	c.Begin(cgo.OpLikeness)
	c.List(len(tuples))
	for _, tuple := range tuples {
		c.List(len(tuple))
		for _, t := range tuple {
			c.Tensor(bridge.Handle(t))
		}
	}
	bridge.Done(&c)
	kinds := make([]kind, len(tuples))
	for i, word := range c.Words(0) {
		kinds[i] = kind(word)
	}
	return kinds
}

func (k kind) sparse() bool { return k&sparseKind != 0 }

// isAsBefore tells whether separate operators can still update all parameters of the batch
// together.
func (b *batch) isAsBefore(fused bool) bool {
	pairs := make([][]torch.Tensor, len(b.params))
	for i, p := range b.params {
		pairs[i] = []torch.Tensor{p, b.grads[i]}
	}
	for _, k := range kindsOf(pairs) {
		if k&^flatKind != b.kind || fused && k&flatKind != 0 {
			return false
		}
	}
	return true
}

// fuses tells whether the state of a parameter also has the layout that a fused kernel
// assumes. If the parameter's strides changed since the state was made, the state is
// rearranged: the same values in the parameter's order.
func fuses(param, grad torch.Tensor, slots []slot, state []torch.Tensor) bool {
	alike := func() bool {
		list := []torch.Tensor{param, grad}
		for k, s := range slots {
			if s.form == elements {
				list = append(list, state[k])
			}
		}
		return kindsOf([][]torch.Tensor{list})[0]&flatKind != 0
	}
	if alike() {
		return true
	}
	for k, s := range slots {
		if old := state[k]; s.form == elements && old.DType() == param.DType() && slices.Equal(old.Shape(), param.Shape()) {
			torch.Unscoped(func() { state[k] = torch.EmptyLike(param) })
			state[k].CopyInPlace(old)
			old.Close()
		}
	}
	return alike()
}
