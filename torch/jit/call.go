package jit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// Forward calls the method forward: see [Module.Call].
//
//	out, err := m.Forward(x)
//	y := out.(torch.Tensor)
func (m *Module) Forward(args ...any) (any, error) { return m.Call("forward", args...) }

// Forward1 is Forward of a module that returns one tensor. It panics with *torch.Error, as a layer does.
func (m *Module) Forward1(args ...any) torch.Tensor {
	v, err := m.Forward(args...)
	if err == nil {
		if y, ok := v.(torch.Tensor); ok {
			return y
		}
		closeAll(v)
		torch.Throw(m.name+".forward", torch.KindType, "expected one tensor as its result, got %s", describe(v))
	}
	if failed, ok := err.(*torch.Error); ok {
		panic(failed)
	}
	panic(err)
}

// Run is Forward with its result as tensors: those of a tuple, a list or a dict one after the other, a dict's in the order
// of its keys. A result with anything else in it is an error.
func (m *Module) Run(args ...any) ([]torch.Tensor, error) {
	v, err := m.Forward(args...)
	if err != nil {
		return nil, err
	}
	list, err := Tensors(v)
	if err != nil {
		closeAll(v)
		return nil, fmt.Errorf("%s.forward: %w", m.name, err)
	}
	return list, nil
}

// Tensors are the tensors of a result, as [Module.Run] returns them.
func Tensors(result any) ([]torch.Tensor, error) {
	list, err := flat(nil, result)
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	return list, nil
}

// Call calls a method with positional arguments and then those named by torch.Arg; defaults fill the rest. The page of the package
// says which Go values stand for TorchScript's. An error is a *torch.Error, and if TorchScript raised it, it wraps an [Exception].
func (m *Module) Call(method string, args ...any) (result any, err error) {
	defer func() {
		if failed, ok := err.(*torch.Error); ok {
			failed.Op = m.name + "." + method
		}
	}()
	defer torch.Recover(&err)
	positional, named := split(args)
	var c cgo.Call
	c.Begin(cgo.OpScriptCall)
	c.Object(m.h)
	c.Str(method)
	c.List(len(positional))
	for _, v := range positional {
		bridge.Box(&c, v)
	}
	c.List(len(named))
	for _, n := range named {
		c.Str(n.Name)
		bridge.Box(&c, n.Value)
	}
	if failed := m.pass(&c); failed != nil {
		explain(failed)
		bridge.Fail(failed)
	}
	return value(c.Typed()[0])
}

// pass makes a call: alone where methods change the module, else beside others.
func (m *Module) pass(c *cgo.Call) *cgo.Error {
	if m.guard.changes {
		m.guard.mu.Lock()
		defer m.guard.mu.Unlock()
	} else {
		m.guard.mu.RLock()
		defer m.guard.mu.RUnlock()
	}
	return c.RunBack()
}

func split(args []any) (positional []any, named []torch.Named) {
	for _, v := range args {
		if n, ok := v.(torch.Named); ok {
			named = append(named, n)
			continue
		}
		if len(named) > 0 {
			torch.Throw("call", torch.KindType, "a positional argument follows the named one %q", named[len(named)-1].Name)
		}
		positional = append(positional, v)
	}
	return positional, named
}

// runsToWarm is how often a method runs until it is as fast as it becomes: libtorch watches the first run, compiles what it
// learnt in the second, and goes on.
const runsToWarm = 3

// Warm calls forward a few times with arguments like those to come, so that no later call is slow: libtorch watches the first
// calls and compiles a faster form. Modes matter: a server warms up in torch.Inference, as it runs later.
func (m *Module) Warm(args ...any) error { return m.WarmMethod("forward", args...) }

// WarmMethod is [Module.Warm] for another method.
func (m *Module) WarmMethod(method string, args ...any) error {
	for range runsToWarm {
		v, err := m.Call(method, args...)
		if err != nil {
			return err
		}
		closeAll(v)
	}
	return nil
}

// flat lists the tensors of a result.
func flat(list []torch.Tensor, v any) (_ []torch.Tensor, err error) {
	switch v := v.(type) {
	case torch.Tensor:
		return append(list, v), nil
	case []torch.Tensor:
		return append(list, v...), nil
	case map[string]torch.Tensor:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, v[key])
		}
		return list, nil
	case Tuple:
		return flatAll(list, v)
	case []any:
		return flatAll(list, v)
	default:
		return nil, fmt.Errorf("expected tensors, got %s", describe(v))
	}
}

func flatAll(list []torch.Tensor, values []any) (_ []torch.Tensor, err error) {
	for _, v := range values {
		if list, err = flat(list, v); err != nil {
			return nil, err
		}
	}
	return list, nil
}
