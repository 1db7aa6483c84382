package nn

import (
	"fmt"
	"reflect"

	torch "github.com/wangkuiyi/gotorch"
)

// SequentialModule passes what it is given through its modules, one after another.
type SequentialModule struct {
	Module
	Modules []IModule
}

// Sequential makes a SequentialModule.
func Sequential(modules ...IModule) *SequentialModule {
	s := &SequentialModule{Module: born(), Modules: modules}
	s.Init(s)
	return s
}

// layer is what most modules are, which need no reflection.
type layer interface {
	Forward(x torch.Tensor) torch.Tensor
}

// Forward calls the Forward of each module with the results of the one before, and returns the last one's, which must be one
// value.
func (s *SequentialModule) Forward(inputs ...interface{}) interface{} {
	if len(s.Modules) == 0 {
		panic("Forward: the Sequential has no modules")
	}
	for i, m := range s.Modules {
		outputs := forward(m, inputs)
		if i > 0 && fresh(s.Modules[i-1]) && keepsNothing(m) {
			torch.Unwrap(inputs[0].(torch.Tensor)).Close()
		}
		inputs = outputs
	}
	if len(inputs) != 1 {
		panic(fmt.Sprintf("Forward: the last module of the Sequential returned %d values: expected one", len(inputs)))
	}
	return inputs[0]
}

// fresh tells whether what a module returns is a tensor of its own, which nobody else has seen.
func fresh(m IModule) bool {
	switch m.(type) {
	case *LinearModule, *Conv2dModule, *ConvTranspose2dModule, *BatchNorm2dModule:
		return true
	}
	s, ok := m.(*SequentialModule)
	return ok && len(s.Modules) > 0 && fresh(s.Modules[len(s.Modules)-1])
}

// keepsNothing tells whether a module, but for autograd, neither keeps nor returns what it is given, so that what lies between
// two layers can be freed before the garbage collector finds it.
func keepsNothing(m IModule) bool {
	s, ok := m.(*SequentialModule)
	return ok && len(s.Modules) > 0 && keepsNothing(s.Modules[0]) || !ok && fresh(m)
}

// forward calls a module's Forward, whatever its arguments and results are.
func forward(m IModule, inputs []interface{}) []interface{} {
	if l, ok := m.(layer); ok && len(inputs) == 1 {
		if x, ok := inputs[0].(torch.Tensor); ok {
			return []interface{}{l.Forward(x)}
		}
	}
	method := reflect.ValueOf(m).MethodByName("Forward")
	if !method.IsValid() {
		panic(fmt.Sprintf("Forward: %T in the Sequential has no Forward", m))
	}
	arguments := make([]reflect.Value, len(inputs))
	for i, in := range inputs {
		arguments[i] = reflect.ValueOf(in)
	}
	results := method.Call(arguments)
	outputs := make([]interface{}, len(results))
	for i, out := range results {
		outputs[i] = out.Interface()
	}
	return outputs
}

// FunctionalModule is a function as a module.
type FunctionalModule struct {
	Module
	Function func(torch.Tensor) torch.Tensor
}

// Functional makes a FunctionalModule.
func Functional(f func(torch.Tensor) torch.Tensor) *FunctionalModule {
	m := &FunctionalModule{Module: born(), Function: f}
	m.Init(m)
	return m
}

// Forward calls the function.
func (f *FunctionalModule) Forward(input torch.Tensor) torch.Tensor { return f.Function(input) }
