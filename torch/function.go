package torch

import (
	"reflect"
	"slices"

	"github.com/libtorch-go/libtorch/cgo"
)

// Function is an operation whose derivative is written in Go. [Apply] runs it. Parameters
// that are not tensors are fields of its type. The operation's name in the graph is the
// type's name, or what its method Name returns if it has one, followed by "Backward".
//
//	type exp struct{}
//
//	func (exp) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
//		y := in[0].Exp()
//		ctx.SaveForBackward(y)
//		return []torch.Tensor{y}
//	}
//
//	func (exp) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
//		y := ctx.SavedTensors()[0]
//		return []torch.Tensor{grads[0].Mul(y)}
//	}
//
//	y := torch.Apply1(exp{}, x)
type Function interface {
	// Forward computes the outputs. Nothing in it is recorded, and all tensors that it does
	// not return or save are freed when it ends.
	Forward(ctx *FunctionCtx, in []Tensor) []Tensor
	// Backward gets the gradient of each output and returns that of each input; the
	// undefined tensor stands for zeros. With CreateGraph it is recorded in turn, and
	// differentiable as far as it uses SavedTensors and the gradients. If a graph is
	// retained it may run several times, also on several goroutines at the same time.
	Backward(ctx *FunctionCtx, grads []Tensor) []Tensor
}

// FunctionCtx is what Forward of a [Function] leaves for Backward.
type FunctionCtx struct {
	// State is for anything that is not a tensor. Forward sets it.
	State any

	fn                  Function
	name                string
	id                  uint64
	needs               []bool
	saved, fixed, dirty []Tensor
	undefined           bool
}

// SaveForBackward keeps inputs, outputs and other tensors for Backward. They live as long as
// the graph does. SavedTensors notices if one of them was changed in place.
func (ctx *FunctionCtx) SaveForBackward(list ...Tensor) { ctx.saved = list }

// SavedTensors are those that Forward saved. It panics if one of them was changed in place
// since, or if the graph was used up by an earlier Backward.
func (ctx *FunctionCtx) SavedTensors() []Tensor {
	var c cgo.Call
	c.Begin(cgo.OpSavedTensors)
	c.Word(ctx.id)
	doneBack(&c)
	return tensors(c.Handles(0))
}

// NeedsInputGrad tells whether the gradient of input i is wanted. If it is not, Backward
// may return the undefined tensor.
func (ctx *FunctionCtx) NeedsInputGrad(i int) bool { return ctx.needs[i] }

// MarkNonDifferentiable says which outputs are not differentiable: they will not require
// gradients. Integers never do.
func (ctx *FunctionCtx) MarkNonDifferentiable(outputs ...Tensor) { ctx.fixed = outputs }

// MarkDirty says which inputs Forward changed in place. They must be among the outputs.
func (ctx *FunctionCtx) MarkDirty(inputs ...Tensor) { ctx.dirty = inputs }

// SetMaterializeGrads says what Backward gets as the gradient of an output that nothing
// depends on: zeros, the default, or the undefined tensor.
func (ctx *FunctionCtx) SetMaterializeGrads(zeros bool) { ctx.undefined = !zeros }

// Apply runs fn on the inputs and records it as one operation, if any of them requires
// gradients. An input may be undefined.
func Apply(fn Function, in ...Tensor) []Tensor {
	ctx := &FunctionCtx{fn: fn, name: typeName(fn) + "Backward", needs: make([]bool, len(in))}
	recording := IsGradEnabled()
	for i, x := range in {
		ctx.needs[i] = recording && x.Defined() && x.RequiresGrad()
	}
	var results []Tensor
	Scope(func() {
		var out []Tensor
		NoGrad(func() { out = fn.Forward(ctx, slices.Clone(in)) })
		for _, y := range ctx.record(in, out) {
			results = append(results, y.MoveOut())
		}
	})
	return results
}

// Apply1 is [Apply] for a function with one output.
func Apply1(fn Function, in ...Tensor) Tensor {
	results := Apply(fn, in...)
	if len(results) != 1 {
		Close(results...)
		throw(typeName(fn), KindValue, "expected one output, got %d", len(results))
	}
	return results[0]
}

func (ctx *FunctionCtx) record(in, out []Tensor) []Tensor {
	ctx.id = cgo.Lend(&cgo.Callback{Name: ctx.name, Func: ctx.backward})
	var c cgo.Call
	c.Begin(cgo.OpApplyFunction)
	c.Word(ctx.id)
	c.Str(ctx.name)
	c.Bool(!ctx.undefined)
	for _, list := range [][]Tensor{in, out, ctx.saved, ctx.fixed, ctx.dirty} {
		putTensors(&c, list)
	}
	lendingDone(&c, ctx.id)
	ctx.saved, ctx.fixed, ctx.dirty = nil, nil, nil // the graph has them
	return tensors(c.Handles(0))
}

// backward runs Backward for libtorch. Several may run at a time; each has its own ctx.
func (ctx *FunctionCtx) backward(t *cgo.Turn) {
	own := *ctx
	own.needs = slices.Clone(ctx.needs)
	for i := range min(len(own.needs), 64) { // the shim tells about the first 64 only
		own.needs[i] = t.Arg&(1<<i) != 0
	}
	grads := ctx.fn.Backward(&own, tensors(t.In))
	for len(grads) > len(t.Out) && !grads[len(grads)-1].Defined() {
		grads = grads[:len(grads)-1]
	}
	if len(grads) != len(t.Out) {
		throw(ctx.name, KindGeneric, "it returned an incorrect number of gradients: expected %d, got %d", len(t.Out), len(grads))
	}
	for i, g := range grads {
		t.Out[i] = g.h
	}
}

// typeName is what a value's method Name returns, or else the name of its type without
// package and pointers.
func typeName(v any) string {
	if v, ok := v.(interface{ Name() string }); ok {
		return v.Name()
	}
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return "Function"
	}
	return t.Name()
}
