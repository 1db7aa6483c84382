package torch

import (
	"regexp"

	"github.com/libtorch-go/libtorch/cgo"
)

// The helpers of the generated operators: they put arguments into a call and take
// results out of it.

// Scalar is any Go number or bool. It keeps its kind: an int multiplies an integer tensor
// into an integer tensor, a float64 into a floating-point one, as in PyTorch.
type Scalar = any

func putTensor(c *cgo.Call, t Tensor) { c.Tensor(t.h) }

func putTensors(c *cgo.Call, list []Tensor) {
	c.List(len(list))
	for _, t := range list {
		c.Tensor(t.h)
	}
}

// putChanged adds a tensor that the operator writes to.
func putChanged(c *cgo.Call, t Tensor) { c.Changed(t.h) }

func putAllChanged(c *cgo.Call, list []Tensor) {
	c.List(len(list))
	for _, t := range list {
		c.Changed(t.h)
	}
}

func putGenerator(c *cgo.Call, g *Generator) {
	if g == nil {
		c.Tensor(nil)
		return
	}
	c.Object(g.h)
}

// putScalar adds a number; it panics for anything else.
func putScalar(c *cgo.Call, v Scalar) {
	if kind, ok := c.Scalar(v); !ok {
		throwScalar(c.Name(), v, kind)
	}
}

//go:noinline
func throwScalar(op string, v any, kind string) {
	switch {
	case v == nil && oneBound.MatchString(op):
		throw(op, KindType, "expected two numbers, got nil: ClampMin and ClampMax bound on one side alone")
	case v == nil:
		throw(op, KindType, "expected a number or a bool, got nil")
	case kind == "torch.Tensor":
		throw(op, KindType, "expected a number or a bool, got a tensor: the form for tensors has a name without Scalar")
	}
	throw(op, KindType, "expected a number or a bool, got %s(%#v)", kind, v)
}

var oneBound = regexp.MustCompile("^(clamp|clip)")

// allDims is every dimension of x.
func allDims(x Tensor) []int {
	dims := make([]int, x.Dim())
	for i := range dims {
		dims[i] = i
	}
	return dims
}

// putOptScalar adds a number, or none for nil.
func putOptScalar(c *cgo.Call, v Scalar) {
	if v == nil {
		c.NoScalar()
		return
	}
	putScalar(c, v)
}

func putScalars(c *cgo.Call, list []Scalar) {
	c.List(len(list))
	for _, v := range list {
		putScalar(c, v)
	}
}

// first is the options struct that a variadic parameter stands for: the one given, or
// the zero value.
func first[T any](opts []T) (o T) {
	switch len(opts) {
	case 0:
	case 1:
		o = opts[0]
	default:
		throw("options", KindValue, "at most one %T may be given, got %d", o, len(opts))
	}
	return o
}

// done runs a call without results.
func done(c *cgo.Call) {
	if err := c.Run(); err != nil {
		panic(newError(err))
	}
}

func result1(c *cgo.Call) Tensor {
	if err := c.Run(); err != nil {
		panic(newError(err))
	}
	return Tensor{c.Handle(0)}
}

func result2(c *cgo.Call) (a, b Tensor) {
	done(c)
	return Tensor{c.Handle(0)}, Tensor{c.Handle(1)}
}

func result3(c *cgo.Call) (a, b, d Tensor) {
	done(c)
	return Tensor{c.Handle(0)}, Tensor{c.Handle(1)}, Tensor{c.Handle(2)}
}

func result4(c *cgo.Call) (a, b, d, e Tensor) {
	done(c)
	return Tensor{c.Handle(0)}, Tensor{c.Handle(1)}, Tensor{c.Handle(2)}, Tensor{c.Handle(3)}
}

func result5(c *cgo.Call) (a, b, d, e, f Tensor) {
	done(c)
	return Tensor{c.Handle(0)}, Tensor{c.Handle(1)}, Tensor{c.Handle(2)}, Tensor{c.Handle(3)}, Tensor{c.Handle(4)}
}

func resultList(c *cgo.Call) []Tensor {
	done(c)
	return tensors(c.Handles(0))
}

func tensors(handles []*cgo.Handle) []Tensor {
	list := make([]Tensor, len(handles))
	for i, h := range handles {
		list[i] = Tensor{h}
	}
	return list
}

func resultInt(c *cgo.Call) int       { done(c); return c.IntResult(0) }
func resultFloat(c *cgo.Call) float64 { done(c); return c.FloatResult(0) }
func resultBool(c *cgo.Call) bool     { done(c); return c.BoolResult(0) }
func resultDType(c *cgo.Call) DType   { done(c); return dtypeOf(c.WordResult(0)) }
func resultScalar(c *cgo.Call) Scalar { done(c); return c.ScalarResult(0) }
