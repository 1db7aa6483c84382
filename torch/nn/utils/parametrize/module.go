package parametrize

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// Parametrization computes a tensor of a module from one or several others, its originals.
// It may be a module with tensors of its own.
type Parametrization interface {
	Forward(originals ...torch.Tensor) torch.Tensor
}

// Invertible is a Parametrization that knows originals of a given value. What is not, keeps
// the value itself as the original.
type Invertible interface {
	Parametrization
	// RightInverse returns new tensors, or the value. Where it panics with an error of
	// [torch.KindNotImplemented], the value is the original.
	RightInverse(value torch.Tensor) []torch.Tensor
}

// Module is a module some of whose tensors are computed from others. It has all the parts of
// the module, but for these tensors.
type Module[M any] struct {
	Base             M                 `torch:",inline"` // without the computed tensors
	Parametrizations []nn.Named[*List] // by the names of the computed tensors
}

// List computes one tensor: the first parametrization from the originals, each other one from
// the result of the one before.
type List struct {
	Originals map[string]torch.Tensor `torch:",inline"` // "original", or "original0", "original1"…
	Steps     []Parametrization       `torch:",inline"`
}

// Register has a parameter of m computed by p, and takes m over. Where its originals are but
// one tensor, that is the parameter itself, as optimizers know it. The computed tensor has
// the parameter's dtype and shape.
func Register[M any](m M, name string, p Parametrization) *Module[M] {
	return (&Module[M]{Base: m}).Register(name, p)
}

// Register has another parameter of the module computed by p, or the same one by what is
// there followed by p. It returns m.
func (m *Module[M]) Register(name string, p Parametrization) *Module[M] {
	if i := m.find(name); i >= 0 {
		list := m.Parametrizations[i].Module
		before := list.value()
		defer before.Close()
		after := p.Forward(before)
		defer after.Close()
		compare(before, after)
		list.Steps = append(list.Steps, p)
		return m
	}
	parameter := parameterOf(m.Base, name)
	list := newList(parameter, p)
	value := list.value()
	defer value.Close()
	compare(parameter, value)
	m.Base = nn.WithTensors(m.Base, map[string]torch.Tensor{name: {}})
	m.Parametrizations = append(m.Parametrizations, nn.Named[*List]{Name: name, Module: list})
	return m
}

// parameterOf is the parameter of that name.
func parameterOf(m any, name string) torch.Tensor {
	for own, t := range nn.NamedParameters(m) {
		if own == name && !strings.Contains(name, ".") {
			return t
		}
	}
	torch.Throw("parametrize", torch.KindValue, "Module '%T' has no parameter with name '%s'", m, name)
	return torch.Tensor{}
}

func compare(before, after torch.Tensor) {
	if b, a := before.DType(), after.DType(); a != b {
		torch.Throw("parametrize", torch.KindValue,
			"Registering a parametrization may not change the dtype of the tensor: it was %v and is %v", b, a)
	}
	if b, a := before.Shape(), after.Shape(); !slices.Equal(a, b) {
		torch.Throw("parametrize", torch.KindValue,
			"Registering a parametrization may not change the shape of the tensor: it was %v and is %v", b, a)
	}
}

func newList(parameter torch.Tensor, p Parametrization) *List {
	list := &List{map[string]torch.Tensor{}, []Parametrization{p}}
	err := torch.Try(func() { inverse(p, parameter, list.begin(parameter)) })
	switch {
	case errors.Is(err, torch.ErrNotImplemented):
		list.Originals["original"] = parameter
	case err != nil:
		panic(err)
	}
	return list
}

// begin makes the originals of a parameter.
func (l *List) begin(parameter torch.Tensor) func(originals []torch.Tensor) {
	return func(originals []torch.Tensor) {
		if len(originals) == 1 {
			l.Originals["original"] = parameter
			if !originals[0].Is(parameter) {
				parameter.SetData(originals[0])
			}
			return
		}
		for i, t := range originals {
			if !t.Is(parameter) {
				t = t.Detach().Keep().SetRequiresGrad(parameter.RequiresGrad())
			}
			l.Originals[fmt.Sprint("original", i)] = t
		}
	}
}

// inverse runs fn with the originals of a value, which it may keep.
func inverse(p Parametrization, value torch.Tensor, fn func(originals []torch.Tensor)) {
	torch.NoGrad(func() {
		torch.Scope(func() {
			originals := []torch.Tensor{value}
			if i, ok := p.(Invertible); ok {
				originals = i.RightInverse(value)
			}
			fn(originals)
		})
	})
}

// value computes the tensor.
func (l *List) value() torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		inputs := make([]torch.Tensor, 0, len(l.Originals))
		for _, name := range slices.Sorted(maps.Keys(l.Originals)) {
			inputs = append(inputs, l.Originals[name])
		}
		x := l.Steps[0].Forward(inputs...)
		for _, step := range l.Steps[1:] {
			x = step.Forward(x)
		}
		return x
	})
}

func (m *Module[M]) find(name string) int {
	return slices.IndexFunc(m.Parametrizations, func(n nn.Named[*List]) bool { return n.Name == name })
}

// List is what computes the tensor of that name.
func (m *Module[M]) List(name string) *List {
	i := m.find(name)
	if i < 0 {
		torch.Throw("parametrize", torch.KindValue, "Module %T does not have a parametrization on %s", m.Base, name)
	}
	return m.Parametrizations[i].Module
}

// Value computes a tensor, as m.weight does in Python.
func (m *Module[M]) Value(name string) torch.Tensor { return m.List(name).value() }

// Set changes the originals of a tensor so that it has, or comes close to, a value: what
// m.weight = value does in Python. All its parametrizations must be [Invertible].
func (m *Module[M]) Set(name string, value torch.Tensor) {
	list := m.List(name)
	torch.Scope(func() {
		for i := len(list.Steps) - 1; i >= 0; i-- {
			if _, ok := list.Steps[i].(Invertible); !ok {
				torch.Throw("parametrize", torch.KindGeneric, "parametrization %T does not implement RightInverse", list.Steps[i])
			}
			inverse(list.Steps[i], value, func(originals []torch.Tensor) {
				if i > 0 {
					value = originals[0].MoveOut()
					return
				}
				list.set(originals)
			})
		}
	})
}

func (l *List) set(originals []torch.Tensor) {
	if len(originals) != len(l.Originals) {
		torch.Throw("parametrize", torch.KindValue, "RightInverse returned %d tensors, expected %d", len(originals), len(l.Originals))
	}
	for i, name := range slices.Sorted(maps.Keys(l.Originals)) {
		l.Originals[name].SetData(originals[i].Detach().Clone())
	}
}

// With runs fn with the module as it is with the computed tensors, which end with fn.
func (m *Module[M]) With(fn func(m M)) {
	tensors := map[string]torch.Tensor{}
	defer func() {
		for _, t := range tensors {
			t.Close()
		}
	}()
	for _, p := range m.Parametrizations {
		tensors[p.Name] = p.Module.value()
	}
	fn(nn.WithTensors(m.Base, tensors))
}

// Forward is that of the module, with the computed tensors. A module that is no [nn.Layer]
// is called by [Module.With].
func (m *Module[M]) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(m, x, func(x torch.Tensor) (y torch.Tensor) {
		m.With(func(base M) {
			layer, ok := any(base).(nn.Layer)
			if !ok {
				torch.Throw("parametrize", torch.KindType, "%T has no Forward from one tensor to another: call it by With", base)
			}
			y = layer.Forward(x)
		})
		return y
	})
}

// RemoveOptions are the rarer arguments of [Remove].
type RemoveOptions struct {
	Original bool // the tensor becomes its original again; default: what is computed from it now
}

// Remove makes a computed tensor of m a parameter again. It returns the module without
// parametrizations, which is complete when none are left, and takes over what belonged to m.
// A single original stays the same tensor, as optimizers know it.
func Remove[M any](m *Module[M], name string, opts ...RemoveOptions) M {
	o := option.One(opts)
	list := m.List(name)
	t, single := list.Originals["original"]
	switch leave := !o.Original; {
	case leave && single:
		torch.NoGrad(func() {
			value := list.value()
			defer value.Close()
			t.SetData(value)
		})
	case leave:
		value := list.value()
		defer value.Close()
		t = nn.NewParameter(value.Detach()).SetRequiresGrad(value.RequiresGrad())
		nn.Close(list)
	case !single:
		torch.Throw("parametrize", torch.KindValue,
			"Cannot leave unparametrized a tensor that is parametrized in terms of a sequence of tensors.")
	}
	for _, step := range list.Steps {
		nn.Close(step)
	}
	i := m.find(name)
	m.Parametrizations = slices.Delete(m.Parametrizations, i, i+1)
	m.Base = nn.WithTensors(m.Base, map[string]torch.Tensor{name: t})
	return m.Base
}
