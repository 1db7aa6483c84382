package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
)

// RequiresGrad tells whether operations on x are recorded.
func (x Tensor) RequiresGrad() bool { d := x.traits(); return d.flag(flagRequiresGrad) }

// IsLeaf tells whether x was made by the user rather than by a recorded operation: leaves
// are where Backward leaves gradients.
func (x Tensor) IsLeaf() bool { d := x.traits(); return d.flag(flagLeaf) }

// SetRequiresGrad starts or stops recording operations on x, and returns x. Only
// floating-point and complex tensors can require gradients.
func (x Tensor) SetRequiresGrad(on bool) Tensor {
	var c cgo.Call
	c.Begin(cgo.OpSetRequiresGrad)
	putTensor(&c, x)
	c.Bool(on)
	done(&c)
	return x
}

// Grad is the gradient that Backward summed up in x, or the undefined tensor.
func (x Tensor) Grad() Tensor { return Grads([]Tensor{x})[0] }

// Grads are the gradients of many tensors, in one call; undefined where there is none.
func Grads(list []Tensor) []Tensor {
	var c cgo.Call
	c.Begin(cgo.OpGradients)
	putTensors(&c, list)
	return resultList(&c)
}

// SetGrad replaces x's gradient by g, which must have x's shape, dtype and device and, unless it is
// sparse, its layout; the undefined tensor removes it. x is not its own gradient. A g with history that
// leads back to x keeps x as long as x keeps it: remove it when it is no longer needed.
func (x Tensor) SetGrad(g Tensor) {
	var c cgo.Call
	c.Begin(cgo.OpSetGradient)
	putChanged(&c, x)
	putTensor(&c, g)
	done(&c)
}

// ClearGrads removes the gradients of many tensors, in one call.
func ClearGrads(list []Tensor) {
	var c cgo.Call
	c.Begin(cgo.OpClearGradients)
	putAllChanged(&c, list)
	done(&c)
}

// RetainGrad makes Backward leave a gradient in x although it is not a leaf.
func (x Tensor) RetainGrad() {
	var c cgo.Call
	c.Begin(cgo.OpRetainGrad)
	putTensor(&c, x)
	done(&c)
}

// SetData makes x refer to the memory, shape and dtype of source, behind autograd's back.
// All holders of x see the change.
func (x Tensor) SetData(source Tensor) {
	if !source.Defined() {
		throw("set_data", KindValue, "the source is the undefined tensor")
	}
	var c cgo.Call
	c.Begin(cgo.OpReplaceData)
	putChanged(&c, x)
	putTensor(&c, source)
	done(&c)
}

// BackwardOptions are the rarer arguments of [Tensor.Backward].
type BackwardOptions struct {
	Gradient    Tensor   // of the result with respect to x; default: 1, for an x of one element
	RetainGraph bool     // keep the recorded operations, for a second Backward
	CreateGraph bool     // record this Backward too, for derivatives of derivatives
	Inputs      []Tensor // leave gradients in these only; default, nil: in all leaves. It may not be empty
}

// Backward computes the gradients of x and adds them to the Grad of the leaves that x was
// computed from. x must hold one element unless a Gradient is given. It panics if x was
// not recorded, or if its graph has been used up by an earlier Backward.
func (x Tensor) Backward(opts ...BackwardOptions) {
	o := first(opts)
	var gradients []Tensor
	if o.Gradient.Defined() {
		gradients = []Tensor{o.Gradient}
	}
	Backward([]Tensor{x}, gradients, BackwardOptions{RetainGraph: o.RetainGraph, CreateGraph: o.CreateGraph, Inputs: o.Inputs})
}

// Backward is [Tensor.Backward] from several tensors at once. gradients is empty or holds
// one for each, of its shape; an undefined one stands for 1.
func Backward(roots, gradients []Tensor, opts ...BackwardOptions) {
	o := first(opts)
	if o.Inputs != nil && len(o.Inputs) == 0 {
		throw("backward", KindGeneric, "`inputs` argument to `backward()` cannot be empty.")
	}
	var c cgo.Call
	c.Begin(cgo.OpBackward)
	putTensors(&c, roots)
	putTensors(&c, gradients)
	putRetain(&c, o.RetainGraph)
	c.Bool(o.CreateGraph)
	putTensors(&c, o.Inputs)
	doneBack(&c)
}

// GradOptions are the rarer arguments of [Grad].
type GradOptions struct {
	GradOutputs []Tensor // gradients of the outputs; default: 1 for outputs of one element
	RetainGraph bool     // keep the recorded operations
	CreateGraph bool     // record the computation of the gradients too
	AllowUnused bool     // an input the outputs do not depend on gets an undefined gradient
}

// Grad returns the gradients of the outputs with respect to the inputs, and leaves the
// Grad of every tensor alone.
func Grad(outputs, inputs []Tensor, opts ...GradOptions) []Tensor {
	o := first(opts)
	if len(inputs) == 0 {
		throw("grad", KindGeneric, "`inputs` argument to `grad()` cannot be empty.") // as 2.15; libtorch asks for a bug report
	}
	var c cgo.Call
	c.Begin(cgo.OpGrad)
	putTensors(&c, outputs)
	putTensors(&c, inputs)
	putTensors(&c, o.GradOutputs)
	putRetain(&c, o.RetainGraph)
	c.Bool(o.CreateGraph)
	c.Bool(o.AllowUnused)
	doneBack(&c)
	return tensors(c.Handles(0))
}

// doneBack is done for a call that may run Go functions: hooks, [Function]s.
func doneBack(c *cgo.Call) {
	if err := c.RunBack(); err != nil {
		panic(newError(err))
	}
}

// putRetain: libtorch keeps the graph by itself where CreateGraph is set.
func putRetain(c *cgo.Call, retain bool) {
	if retain {
		c.Bool(true)
	} else {
		c.OptBool(nil)
	}
}
