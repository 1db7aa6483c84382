package library

import (
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// Formula is the derivative of an operator.
type Formula struct {
	// Setup, after the kernel has run, keeps what Backward needs: tensors with
	// ctx.SaveForBackward, other values in ctx.State. It may be nil.
	Setup func(ctx *torch.FunctionCtx, args, results []any)
	// Backward gets the gradient of each tensor among the results, and returns that of each
	// tensor among the arguments, those in lists one after the other. See torch.Function.
	Backward func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor
}

// Autograd registers the operator's derivative. It is used whatever kernel computes the results,
// one from C++ or for a card included. An operator that changes its arguments cannot have a
// derivative.
//
//	op.Autograd(library.Formula{
//		Setup: func(ctx *torch.FunctionCtx, args, _ []any) {
//			ctx.SaveForBackward(args[0].(torch.Tensor))
//		},
//		Backward: func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
//			return []torch.Tensor{ctx.SavedTensors()[0].Cos().Mul(grads[0])}
//		},
//	})
func (o *Operator) Autograd(f Formula) *Operator {
	if f.Backward == nil {
		torch.Throw(o.Name(), torch.KindValue, "a formula needs a Backward")
	}
	if !o.schema.functional() {
		torch.Throw(o.Name(), torch.KindValue, "an operator that changes its arguments cannot have a derivative: %v", o.schema)
	}
	o.register(autograd.String(), func(t *cgo.Turn) {
		d := &derivation{formula: f, name: o.Name(), turn: t, args: arguments(t)}
		in := tensorsOf(d.args)
		if !recorded(in) {
			answer(t, d.compute(d.args))
			return
		}
		out := torch.Apply(d, in...)
		answer(t, replace(d.results, out))
	})
	return o
}

func recorded(in []torch.Tensor) bool {
	if !torch.IsGradEnabled() {
		return false
	}
	for _, x := range in {
		if x.Defined() && x.RequiresGrad() {
			return true
		}
	}
	return false
}

// derivation is one call of an operator as a torch.Function.
type derivation struct {
	formula       Formula
	name          string
	turn          *cgo.Turn
	args, results []any
}

// Name is the operator's name in the graph: "mylib_scale".
func (d *derivation) Name() string {
	return strings.NewReplacer("::", "_", ".", "_").Replace(d.name)
}

// Forward computes the results below autograd.
func (d *derivation) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	args := replace(d.args, in)
	d.results = d.compute(args)
	if d.formula.Setup != nil {
		d.formula.Setup(ctx, args, d.results)
	}
	d.args, d.turn = nil, nil // they are not valid after the call
	return tensorsOf(d.results)
}

// Backward runs the formula's Backward.
func (d *derivation) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	return d.formula.Backward(ctx, grads)
}

func (d *derivation) compute(args []any) []any {
	return bridge.Boxed(boxed(cgo.OpKernelRedispatch, d.turn, args))
}

// tensorsOf lists the tensors among values.
func tensorsOf(values []any) (list []torch.Tensor) {
	for _, v := range values {
		switch v := v.(type) {
		case torch.Tensor:
			list = append(list, v)
		case []torch.Tensor:
			list = append(list, v...)
		}
	}
	return list
}

// replace replaces the tensors among values by others.
func replace(values []any, by []torch.Tensor) []any {
	list := make([]any, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case torch.Tensor:
			list[i], by = by[0], by[1:]
		case []torch.Tensor:
			list[i], by = by[:len(v)], by[len(v):]
		default:
			list[i] = v
		}
	}
	return list
}
