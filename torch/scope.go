package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
)

// Scope runs fn and frees every tensor that was made in it, all at once, when fn returns
// or panics. It is the way to write a training step, a request, a benchmark: nothing in
// the body needs to be closed.
//
//	torch.Scope(func() {
//		loss := F.CrossEntropy(model.Forward(x), y)
//		loss.Backward()
//		opt.Step()
//		total += loss.Float64()
//	})
//
// What must outlive the scope leaves it by [Tensor.Keep] or [Tensor.MoveOut], or is born
// outside by [Unscoped]. Scopes nest. The goroutine stays on one OS thread for the
// duration of fn, which also keeps the order of gradient sums, hence their last bits,
// the same from run to run. A goroutine started inside is not part of the scope. An iterator
// that [iter.Pull] made outside cannot be asked for more inside, nor the other way round: Go
// ends a process in which a goroutine that is locked to its thread calls one that is not.
//
// Hundreds of scopes at once are hundreds of threads, each with libtorch's helpers:
// [SetConcurrency] says how many there may be. A server has them in [Lanes].
func Scope(fn func()) {
	s, err := cgo.EnterScope()
	if err != nil {
		throw("scope", KindLibrary, "%v", err)
	}
	defer s.Leave()
	fn()
}

// Scope1 is [Scope] for a function that makes one tensor: the result moves out to the
// scope around, everything else is freed.
//
//	mean := torch.Scope1(func() torch.Tensor { return x.Mul(x).Mean().Sqrt() })
func Scope1(fn func() Tensor) Tensor {
	var result Tensor
	Scope(func() { result = fn().MoveOut() })
	return result
}

// Unscoped runs fn outside of all scopes: tensors made in it live until they are closed
// or collected. Parameters, optimizer state and caches are made so, whoever asks for them
// first.
func Unscoped(fn func()) {
	if err := cgo.Suspend(fn); err != nil {
		throw("unscoped", KindLibrary, "%v", err)
	}
}

// Keep returns the same tensor under a new handle that no scope owns; it lives until it
// is closed or collected. x itself still ends with its scope.
func (x Tensor) Keep() Tensor { return x.again((*cgo.Handle).Keep) }

// MoveOut returns the same tensor under a new handle that belongs to the scope around
// the innermost one. Outside of scopes it is a second handle to x.
func (x Tensor) MoveOut() Tensor { return x.again((*cgo.Handle).MoveOut) }

// Alias returns the same tensor under another handle: closing one leaves the other.
func (x Tensor) Alias() Tensor { return x.again((*cgo.Handle).Duplicate) }

func (x Tensor) again(how func(*cgo.Handle) (*cgo.Handle, *cgo.Error)) Tensor {
	if !x.Defined() {
		return x
	}
	h, err := how(x.h)
	if err != nil {
		panic(newError(err))
	}
	return Tensor{h}
}

// Close closes several tensors; undefined and closed ones are passed over.
func Close(list ...Tensor) {
	for _, t := range list {
		t.Close()
	}
}
