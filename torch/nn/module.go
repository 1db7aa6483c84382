package nn

import (
	"iter"
	"reflect"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// Layer is a module from one tensor to another.
type Layer interface {
	Forward(x torch.Tensor) torch.Tensor
}

// Mode tells a layer whether it is being trained. Put a field of this type into a module
// that needs to know.
type Mode bool

// The modes. The zero Mode is Training: modules are born in training, as in PyTorch.
const (
	Training   Mode = false
	Evaluating Mode = true
)

// Training tells whether the layer is being trained.
func (m Mode) Training() bool { return m == Training }

// String is "training" or "evaluating".
func (m Mode) String() string {
	if m == Training {
		return "training"
	}
	return "evaluating"
}

// Train puts m and all modules in it into training, and returns m.
func Train[M any](m M) M { return setMode(m, Training) }

// Eval puts m and all modules in it into evaluation, and returns m: dropout stops, batch
// normalisation uses its running statistics.
func Eval[M any](m M) M { return setMode(m, Evaluating) }

func setMode[M any](m M, mode Mode) M {
	for n := range walk(m) {
		for _, at := range n.modes() {
			*at = mode
		}
	}
	return m
}

// WithMode runs fn with m and all modules in it in that mode, and then restores the mode
// of each, also if fn panics.
func WithMode(m any, mode Mode, fn func()) {
	before := map[*Mode]Mode{}
	for n := range walk(m) {
		for _, at := range n.modes() {
			if _, known := before[at]; !known {
				before[at] = *at
			}
			*at = mode
		}
	}
	defer func() {
		for at, was := range before {
			*at = was
		}
	}()
	fn()
}

// NamedModules are m, under the name "", and all modules in it with their names: pointers
// to structs, and slices and structs that are held by value, as far as they are a [Layer] or
// have tensors or a [Mode] somewhere. A module that occurs twice comes once.
func NamedModules(m any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		seen := map[any]bool{}
		for n := range walk(m) {
			if n.pointer != nil && seen[n.pointer] || n.path != "" && !n.isModule() {
				continue
			}
			seen[n.pointer] = true
			if !yield(n.path, n.module()) {
				return
			}
		}
	}
}

// Apply calls fn with every module in m and then with m itself, and returns m. Like PyTorch's it
// goes from the inside out and through the modules of each in their order, so that what is
// drawn for them is the same after the same seed:
//
//	nn.Apply(net, func(m any) {
//		if l, ok := m.(*nn.Linear); ok {
//			nninit.XavierUniform(l.Weight)
//		}
//	})
func Apply[M any](m M, fn func(module any)) M {
	if root, ok := nodeOf("", reflect.ValueOf(m)); ok {
		root.apply(map[any]bool{}, fn)
	}
	return m
}

// NamedParameters are the parameters of m with their names, each tensor once.
func NamedParameters(m any) iter.Seq2[string, torch.Tensor] {
	return once(m, func(s slot) bool { return !s.buffer })
}

// NamedBuffers are the buffers of m with their names, each tensor once.
func NamedBuffers(m any) iter.Seq2[string, torch.Tensor] {
	return once(m, func(s slot) bool { return s.buffer })
}

// Parameters are the tensors of m that are trained, each once, in PyTorch's order. Those that
// do not require gradients are among them. If one is in a struct of the program's own, where
// that is easily forgotten, there is a warning ([torch.OnWarning]).
func Parameters(m any) []torch.Tensor {
	return values(once(m, func(s slot) bool {
		if !s.buffer && !s.tensor.RequiresGrad() && !ours(s.owner) {
			torch.Warn("nn.Parameters: %s of %v does not require gradients and will not be trained: "+
				"make it with SetRequiresGrad(true), or, if it is no parameter, give its field the tag `torch:\",buffer\"`", s.name, s.owner)
		}
		return !s.buffer
	}))
}

// ours tells whether a type is one of this library's.
func ours(t reflect.Type) bool {
	module := strings.TrimSuffix(reflect.TypeFor[Linear]().PkgPath(), "torch/nn")
	path, found := strings.CutPrefix(t.PkgPath(), module)
	return found && !strings.HasSuffix(path, "_test")
}

// Buffers are the tensors of m that are kept but not trained, each once.
func Buffers(m any) []torch.Tensor { return values(NamedBuffers(m)) }

func once(m any, wanted func(slot) bool) iter.Seq2[string, torch.Tensor] {
	return func(yield func(string, torch.Tensor) bool) {
		seen := map[torch.Tensor]bool{}
		for s := range slots(m) {
			if !wanted(s) || seen[s.tensor] {
				continue
			}
			seen[s.tensor] = true
			if !yield(s.name, s.tensor) {
				return
			}
		}
	}
}

func values(seq iter.Seq2[string, torch.Tensor]) (list []torch.Tensor) {
	for _, t := range seq {
		list = append(list, t)
	}
	return list
}

// NumParameters counts the elements of all parameters.
func NumParameters(m any) (n int) {
	for _, t := range Parameters(m) {
		n += t.NumEl()
	}
	return n
}

// SetRequiresGrad starts or stops the training of all parameters of m, and returns m.
func SetRequiresGrad[M any](m M, on bool) M {
	for _, t := range Parameters(m) {
		t.SetRequiresGrad(on)
	}
	return m
}

// ZeroGrad removes the gradients of all parameters of m.
func ZeroGrad(m any) { torch.ClearGrads(Parameters(m)) }

// Close frees the parameters and buffers of m, which is of no use afterwards. Without it
// they are freed when the garbage collector finds that nobody refers to them any more.
func Close(m any) {
	for s := range slots(m) {
		s.tensor.Close()
	}
}

// NewParameter makes t a parameter: a leaf that requires gradients and belongs to no
// scope. It takes t over; use the result in its place.
func NewParameter(t torch.Tensor) torch.Tensor {
	return NewBuffer(t).SetRequiresGrad(true)
}

// NewBuffer makes t a buffer: a tensor that belongs to no scope. It takes t over; use the
// result in its place.
func NewBuffer(t torch.Tensor) torch.Tensor {
	defer t.Close()
	return t.Keep()
}
