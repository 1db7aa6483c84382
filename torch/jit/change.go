package jit

import (
	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// alone makes a call while no method runs. Its error is *torch.Error.
func (m *Module) alone(c *cgo.Call) (err error) {
	defer torch.Recover(&err)
	m.guard.mu.Lock()
	defer m.guard.mu.Unlock()
	bridge.DoneBack(c)
	return nil
}

// Attribute is the value of an attribute, in the forms that [Module.Call] returns. Tensors are the module's own, not copies. A
// module is got by [Module.Submodule].
func (m *Module) Attribute(name string) (v any, err error) {
	defer torch.Recover(&err)
	var c cgo.Call
	c.Begin(cgo.OpScriptAttribute)
	c.Object(m.h)
	c.Str(name)
	m.guard.mu.RLock()
	defer m.guard.mu.RUnlock()
	bridge.Done(&c)
	return value(c.Typed()[0])
}

// SetAttribute sets an attribute to a value of its type, in the forms that [Module.Call] takes. It waits until no method runs.
func (m *Module) SetAttribute(name string, v any) (err error) {
	defer torch.Recover(&err)
	var c cgo.Call
	c.Begin(cgo.OpScriptSetAttribute)
	c.Object(m.h)
	c.Str(name)
	bridge.Box(&c, v)
	return m.alone(&c)
}

// Train puts the module and those in it into training.
func (m *Module) Train() error { return m.setMode(true) }

// Eval puts the module and those in it into evaluation: dropout stops, batch normalisation uses its running statistics. A
// module that was saved in evaluation is in it already; one that was frozen has no mode, which is an error.
func (m *Module) Eval() error { return m.setMode(false) }

func (m *Module) setMode(on bool) error {
	var c cgo.Call
	c.Begin(cgo.OpScriptTrain)
	c.Object(m.h)
	c.Bool(on)
	return m.alone(&c)
}

// Target is where [Module.To] moves a module, and what to; a zero field changes nothing.
type Target struct {
	Device torch.Device
	DType  torch.DType // of the tensors of floating point
}

// To moves parameters and buffers to a device and makes them of a dtype. Constants in the code stay where they were: a
// traced module may have devices written into it.
func (m *Module) To(t Target) error {
	var c cgo.Call
	c.Begin(cgo.OpScriptTo)
	c.Object(m.h)
	c.Code(bridge.Code(t.Device))
	c.Code(bridge.Code(t.DType))
	return m.alone(&c)
}

// FreezeOptions are the rarer arguments of [Module.Freeze].
type FreezeOptions struct {
	Preserved []string // attributes and methods that stay, besides forward
}

// Freeze makes a module in evaluation another whose parameters are constants of its code, as torch.jit.freeze does: what depends on
// nothing else is computed beforehand. Results may differ in their last bits.
func (m *Module) Freeze(opts ...FreezeOptions) (*Module, error) {
	return m.derive(cgo.OpScriptFreeze, option.One(opts).Preserved)
}

// OptimizeOptions are the rarer arguments of [Module.OptimizeForInference].
type OptimizeOptions struct {
	Methods []string // those to optimise besides forward
}

// OptimizeForInference freezes the module, if it is not, and makes another of it that takes operators together and lays out weights as
// kernels of the processor want them, as torch.jit.optimize_for_inference does. Results differ in their last bits. Such a module is not
// meant to be saved.
func (m *Module) OptimizeForInference(opts ...OptimizeOptions) (*Module, error) {
	return m.derive(cgo.OpScriptOptimize, option.One(opts).Methods)
}

// derive makes a module of this one. It shares what was not changed, so they have one guard.
func (m *Module) derive(op cgo.Op, names []string) (made *Module, err error) {
	defer torch.Recover(&err)
	var c cgo.Call
	c.Begin(op)
	c.Object(m.h)
	putNames(&c, names)
	if err := m.alone(&c); err != nil {
		return nil, err
	}
	return adopt(&c, m.guard)
}
