package torch

import (
	"github.com/libtorch-go/libtorch/cgo"
)

// RequiresGrad tells whether operations on t are recorded.
func (t Tensor) RequiresGrad() bool { d := t.traits(); return d.flag(flagRequiresGrad) }

// IsLeaf tells whether t was made by the user rather than by a recorded operation: leaves
// are where Backward leaves gradients.
func (t Tensor) IsLeaf() bool { d := t.traits(); return d.flag(flagLeaf) }

// SetRequiresGrad starts or stops recording operations on t, and returns t. Only
// floating-point and complex tensors can require gradients.
func (t Tensor) SetRequiresGrad(on bool) Tensor {
	var c cgo.Call
	c.Begin(cgo.OpSetRequiresGrad)
	putTensor(&c, t)
	c.Bool(on)
	done(&c)
	return t
}

// Grad is the gradient that Backward summed up in t, or the undefined tensor.
func (t Tensor) Grad() Tensor { return Grads([]Tensor{t})[0] }

// Grads are the gradients of many tensors, in one call; undefined where there is none.
func Grads(list []Tensor) []Tensor {
	var c cgo.Call
	c.Begin(cgo.OpGradients)
	putTensors(&c, list)
	return resultList(&c)
}

// SetGrad replaces t's gradient; the undefined tensor removes it.
func (t Tensor) SetGrad(g Tensor) {
	var c cgo.Call
	c.Begin(cgo.OpSetGradient)
	putTensor(&c, t)
	putTensor(&c, g)
	done(&c)
}

// ClearGrads removes the gradients of many tensors, in one call.
func ClearGrads(list []Tensor) {
	var c cgo.Call
	c.Begin(cgo.OpClearGradients)
	putTensors(&c, list)
	done(&c)
}

// RetainGrad makes Backward leave a gradient in t although it is not a leaf.
func (t Tensor) RetainGrad() {
	var c cgo.Call
	c.Begin(cgo.OpRetainGrad)
	putTensor(&c, t)
	done(&c)
}

// GradFn is the name of the recorded operation that made t ("AddBackward0"), or "".
func (t Tensor) GradFn() string {
	var c cgo.Call
	c.Begin(cgo.OpGradFn)
	putTensor(&c, t)
	done(&c)
	return c.Text(0)
}

// SetData makes t refer to the memory, shape and dtype of source, behind autograd's back.
// All holders of t see the change.
func (t Tensor) SetData(source Tensor) {
	if !source.Defined() {
		throw("set_data", KindValue, "the source is the undefined tensor")
	}
	var c cgo.Call
	c.Begin(cgo.OpReplaceData)
	putTensor(&c, t)
	putTensor(&c, source)
	done(&c)
}

// BackwardOptions are the rarer arguments of [Tensor.Backward].
type BackwardOptions struct {
	Gradient    Tensor   // of the result with respect to t; default: 1, for a t of one element
	RetainGraph bool     // keep the recorded operations, for a second Backward
	CreateGraph bool     // record this Backward too, for derivatives of derivatives
	Inputs      []Tensor // leave gradients in these only; default: in all leaves
}

// Backward computes the gradients of t and adds them to the Grad of the leaves that t was
// computed from. t must hold one element unless a Gradient is given. It panics if t was
// not recorded, or if its graph has been used up by an earlier Backward.
func (t Tensor) Backward(opts ...BackwardOptions) {
	o := first(opts)
	var gradients []Tensor
	if o.Gradient.Defined() {
		gradients = []Tensor{o.Gradient}
	}
	Backward([]Tensor{t}, gradients, BackwardOptions{RetainGraph: o.RetainGraph, CreateGraph: o.CreateGraph, Inputs: o.Inputs})
}

// Backward is [Tensor.Backward] from several tensors at once. gradients is empty or holds
// one for each; an undefined one stands for 1.
func Backward(roots, gradients []Tensor, opts ...BackwardOptions) {
	o := first(opts)
	var c cgo.Call
	c.Begin(cgo.OpBackward)
	putTensors(&c, roots)
	putTensors(&c, gradients)
	putRetain(&c, o.RetainGraph)
	c.Bool(o.CreateGraph)
	putTensors(&c, o.Inputs)
	done(&c)
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
	var c cgo.Call
	c.Begin(cgo.OpGrad)
	putTensors(&c, outputs)
	putTensors(&c, inputs)
	putTensors(&c, o.GradOutputs)
	putRetain(&c, o.RetainGraph)
	c.Bool(o.CreateGraph)
	c.Bool(o.AllowUnused)
	return resultList(&c)
}

// putRetain: libtorch keeps the graph by itself where CreateGraph is set.
func putRetain(c *cgo.Call, retain bool) {
	if retain {
		c.Bool(true)
	} else {
		c.OptBool(nil)
	}
}
