package nn

import "github.com/libtorch-go/libtorch/torch"

// create makes tensors that belong to no scope and records nothing.
func create(fn func()) {
	torch.Unscoped(func() { torch.NoGrad(fn) })
}
