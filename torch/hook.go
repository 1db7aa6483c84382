package torch

import (
	"reflect"
	"runtime"

	"github.com/libtorch-go/libtorch/cgo"
)

// Go functions that libtorch calls. They run on the goroutine that called Backward or, for
// nodes on a card, on a thread of libtorch. Each runs in its own [Scope]: it need not close
// anything, and tensors that it stores must be kept ([Tensor.Keep]). A panic in one comes
// back from Backward as an [*Error] of [KindCallback].

// CallbackPanic is the Cause of an [Error] of [KindCallback]: which function failed, what it
// panicked with, and where. errors.Is and errors.As look through it at the value.
type CallbackPanic = cgo.CallbackPanic

// Hook is a function that was registered with a tensor. It lasts until it is removed or the
// tensor is gone, whichever comes first. A hook that refers to its own tensor keeps it:
// close the tensor, make it in a [Scope], or remove the hook.
type Hook struct {
	id uint64
}

// RegisterHook lets fn be called whenever a gradient with respect to x has been computed. Its
// result replaces the gradient, unless it is the undefined tensor. Hooks run in the order in
// which they were registered; x must require gradients. If x is one of several results of an
// operation and nothing depends on it, the gradient is undefined.
//
//	h := x.RegisterHook(func(grad torch.Tensor) torch.Tensor { return grad.MulScalar(2) })
//	defer h.Remove()
func (x Tensor) RegisterHook(fn func(grad Tensor) Tensor) *Hook {
	return x.register(cgo.OpAddHook, fn, func(t *cgo.Turn) { t.Out[0] = fn(Tensor{t.In[0]}).h })
}

// RegisterPostAccumulateGradHook lets fn be called whenever Backward has added a gradient
// to x.Grad(). x must be a leaf. An optimizer may take its step there and remove the
// gradient, so that no two gradients are in memory at a time.
func (x Tensor) RegisterPostAccumulateGradHook(fn func(x Tensor)) *Hook {
	return x.register(cgo.OpAddAccumulateHook, fn, func(t *cgo.Turn) { fn(Tensor{t.In[0]}) })
}

func (x Tensor) register(op cgo.Op, fn any, run func(*cgo.Turn)) *Hook {
	id := cgo.Lend(&cgo.Callback{Name: "hook " + funcName(fn), Func: run})
	var c cgo.Call
	c.Begin(op)
	putTensor(&c, x)
	c.Word(id)
	lendingDone(&c, id)
	return &Hook{id}
}

// lendingDone is done for a call that lends a value. If the call fails, the loan ends.
func lendingDone(c *cgo.Call, id uint64) {
	if err := c.Run(); err != nil {
		cgo.TakeBack(id)
		panic(newError(err))
	}
}

// Remove ends the hook. A second Remove does nothing.
func (h *Hook) Remove() {
	var c cgo.Call
	c.Begin(cgo.OpRemoveHook)
	c.Word(h.id)
	done(&c)
}

// SavedTensorsHooks runs fn with two functions that say how operations recorded in it keep
// the tensors that their derivatives need. pack turns each tensor into the value to keep;
// unpack turns that value back into a tensor with the same values, shape and dtype when the
// derivative is computed. Neither may change the tensor it is given. If the result of pack
// has a method Close, it is called when the graph no longer needs the value; this may happen
// inside any operation, so Close must not wait for locks. If the result is a Tensor, it is
// detached and kept. A Tensor inside another value needs x.Detach().Keep(); otherwise the
// graph and the tensor keep each other alive.
//
//	// Activations wait on the CPU for the backward pass.
//	torch.SavedTensorsHooks(
//		func(x torch.Tensor) any { return x.CPU() },
//		func(packed any) torch.Tensor { return packed.(torch.Tensor).CUDA() },
//		func() { loss = model.Forward(x).Sum() },
//	)
//
// The innermost hooks apply. While fn runs, operations take a little longer on all
// goroutines.
func SavedTensorsHooks(pack func(x Tensor) any, unpack func(packed any) Tensor, fn func()) {
	run := func(t *cgo.Turn) {
		if t.Arg != 0 {
			t.Out[0] = unpack(cgo.Lent(t.Arg).(packed).value).h
			return
		}
		v := pack(Tensor{t.In[0]})
		if x, ok := v.(Tensor); ok {
			v = x.Detach().Keep()
		}
		t.Value = packed{v}
	}
	cgo.Detour(func() {
		id := cgo.Lend(&cgo.Callback{Name: "saved tensors hook " + funcName(pack), Func: run})
		var c cgo.Call
		c.Begin(cgo.OpEnterSavedHooks)
		c.Word(id)
		within(&c, fn)
	})
}

// packed is what a pack function returned, which may be nil.
type packed struct{ value any }

// Close closes the value if that can be closed.
func (p packed) Close() {
	if v, ok := p.value.(interface{ Close() }); ok {
		v.Close()
	}
}

// BackwardNumber is the number of the backward pass that the caller, a hook or a [Function],
// runs in. It is -1 outside of backward passes.
func BackwardNumber() int {
	var c cgo.Call
	c.Begin(cgo.OpBackwardNumber)
	return resultInt(&c)
}

// funcName is the name of a function as the runtime has it: "main.train.func1".
func funcName(fn any) string {
	if f := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()); f != nil {
		return f.Name()
	}
	return "?"
}
