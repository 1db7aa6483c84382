package jit

import (
	"maps"
	"slices"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// DefineOptions are what a module of [Define] has besides its methods, by name.
type DefineOptions struct {
	Parameters, Buffers map[string]torch.Tensor
	Attributes          map[string]any     // in the forms that Module.Call takes; the values say the types
	Modules             map[string]*Module // called through the new one from here on
}

// Define compiles a module of a source in TorchScript's language, a part of Python's: functions with an argument self. Arguments without
// a type are tensors.
//
//	m, err := jit.Define("Scale", `
//	def forward(self, x, by: float = 2.0):
//	    return x * by
//	`)
//
// A module in it is called by name: self.inner.forward(x). Of Python's exceptions there is assert alone. It needs no Python; what
// Python scripted, traced and saved is read by [LoadTrusted].
func Define(name, source string, opts ...DefineOptions) (m *Module, err error) {
	defer torch.Recover(&err)
	o := option.One(opts)
	var c cgo.Call
	c.Begin(cgo.OpScriptDefine)
	c.Str(name)
	c.Str(source + "\n") // the compiler wants the last line to end
	for _, tensors := range []map[string]torch.Tensor{o.Parameters, o.Buffers} {
		names := slices.Sorted(maps.Keys(tensors))
		putNames(&c, names)
		for _, name := range names {
			c.Tensor(bridge.Handle(tensors[name]))
		}
	}
	names := slices.Sorted(maps.Keys(o.Attributes))
	putNames(&c, names)
	for _, name := range names {
		bridge.Box(&c, o.Attributes[name])
	}
	names = slices.Sorted(maps.Keys(o.Modules))
	putNames(&c, names)
	for _, name := range names {
		c.Object(o.Modules[name].h)
	}
	if failed := c.RunBack(); failed != nil {
		failed.Op = "jit.define"
		bridge.Fail(failed)
	}
	return adopt(&c, nil)
}
