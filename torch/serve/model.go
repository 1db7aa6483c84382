package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// Model is what a [Server] serves. [Module], [Program], [TorchScript], [AOTI] and [Func] make one of what there is; any type with these
// methods is one.
type Model interface {
	// Signature says what goes in and out. It is always the same.
	Signature() Signature

	// Run computes outputs of inputs that fit the signature, in its order. It is called on a lane of the server's, in inference
	// mode and in a scope, in several lanes at once. Ctx ends when nobody waits for a request of the batch any more.
	Run(ctx context.Context, inputs []torch.Tensor) (outputs []torch.Tensor, err error)

	// Close frees the model. The server calls it once, when no request uses the model any more.
	Close()
}

// Spec describes an input or an output.
type Spec struct {
	Name  string
	DType torch.DType
	Shape []int // -1 for any size
}

// String is "image float32[-1, 3, 224, 224]".
func (s Spec) String() string {
	text := ""
	for i, n := range s.Shape {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	return fmt.Sprintf("%s %v[%s]", s.Name, s.DType, text)
}

// check compares a tensor with its description, and returns its shape.
func (s *Spec) check(t torch.Tensor) (shape []int, err error) {
	defer torch.Recover(&err) // a closed tensor has no shape
	if !t.Defined() {
		return nil, fmt.Errorf("%q is undefined, expected %v", s.Name, s)
	}
	shape = t.Shape()
	ok := t.DType() == s.DType && len(shape) == len(s.Shape)
	for d := 0; ok && d < len(shape); d++ {
		ok = s.Shape[d] == -1 || s.Shape[d] == shape[d]
	}
	if !ok {
		return nil, fmt.Errorf("%q is %v%v, expected %v", s.Name, t.DType(), shape, s)
	}
	return shape, nil
}

// Signature is what a model takes and returns. Where the first dimension of everything is -1, it counts rows, and requests
// can share a batch: the model computes each row as if it were alone.
type Signature struct {
	Inputs, Outputs []Spec

	// States are what a request of a sequence leaves to the next one: Run gets them behind the inputs, at first as zeros, and
	// returns the new ones behind the outputs. Their first dimension counts rows as well.
	States []Spec

	NoBatch bool // requests cannot share a batch, whatever the shapes look like
}

// all are the specs of a run's arguments or results.
func (s Signature) all(specs []Spec) []Spec { return slices.Concat(specs, s.States) }

// check tells whether a signature makes sense.
func (s Signature) check() error {
	if len(s.Outputs) == 0 {
		return errors.New("the signature has no outputs")
	}
	for _, list := range [][]Spec{s.all(s.Inputs), s.all(s.Outputs)} {
		seen := map[string]bool{}
		for _, spec := range list {
			if spec.Name == "" || seen[spec.Name] {
				return fmt.Errorf("two inputs or outputs have the name %q, or it is empty", spec.Name)
			}
			seen[spec.Name] = true
			if spec.DType == (torch.DType{}) || slices.ContainsFunc(spec.Shape, func(n int) bool { return n < -1 }) {
				return fmt.Errorf("%v: expected a dtype, and sizes of at least 0, or -1", spec)
			}
		}
	}
	for _, spec := range s.States {
		for d, n := range spec.Shape {
			if d > 0 && n == -1 {
				return fmt.Errorf("state %v: expected sizes, of which only the first may be -1", spec)
			}
		}
	}
	return nil
}

// batches tells whether the first dimension counts rows everywhere.
func (s Signature) batches() bool {
	if s.NoBatch || len(s.Inputs) == 0 {
		return false
	}
	for _, spec := range slices.Concat(s.Inputs, s.Outputs, s.States) {
		if len(spec.Shape) == 0 || spec.Shape[0] != -1 {
			return false
		}
	}
	return true
}

// Module is a model made of a layer, which it puts into evaluation mode and closes at its end.
//
//	image, scores := serve.Spec{"image", torch.Float32, []int{-1, 3, 224, 224}}, serve.Spec{"scores", torch.Float32, []int{-1, 1000}}
//	model := serve.Module(net, image, scores)
func Module(layer nn.Layer, input, output Spec) Model {
	nn.Eval(layer)
	m := Func(Signature{Inputs: []Spec{input}, Outputs: []Spec{output}}, func(in []torch.Tensor) []torch.Tensor {
		return []torch.Tensor{layer.Forward(in[0])}
	})
	m.(*function).closed = func() { nn.Close(layer) }
	return m
}

// Func is a model made of a function, which may panic with a *torch.Error like any operation.
func Func(s Signature, fn func(inputs []torch.Tensor) (outputs []torch.Tensor)) Model {
	return &function{s, fn, func() {}}
}

type function struct {
	signature Signature
	fn        func([]torch.Tensor) []torch.Tensor
	closed    func()
}

func (f *function) Signature() Signature { return f.signature }

func (f *function) Run(_ context.Context, inputs []torch.Tensor) ([]torch.Tensor, error) {
	return torch.Try1(func() []torch.Tensor { return f.fn(inputs) })
}

func (f *function) Close() { f.closed() }
