package nn

import (
	"fmt"
	"reflect"
	"slices"

	torch "github.com/wangkuiyi/gotorch"
)

// Visitor sees a tensor of a module: the field f, its value or that of one element of it, and the name of the module, or of
// the element where noSuffix says so. An error ends the walk.
type Visitor func(f reflect.StructField, v reflect.Value, prefix string, noSuffix bool) error

// part is a parameter or buffer with its name, such as Net.Layers[0].Weight.
type part struct {
	name   string
	buffer bool
	value  torch.Tensor
}

// parts are all tensors of a module and of those within that are there, in the order of the fields.
func parts(m IModule, prefix string) (list []part) {
	if reflect.ValueOf(m).IsNil() {
		return nil
	}
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		each(f, v.Field(i), func(field reflect.Value, index string) {
			name := prefix + "." + f.Name + index
			switch value := field.Interface().(type) {
			case torch.Tensor:
				if value.T != nil {
					list = append(list, part{name, f.Tag.Get("gotorch") == "buffer", value})
				}
			case IModule:
				list = append(list, parts(value, name)...)
			}
		})
	}
	return list
}

// parts are those of the struct that embeds m, for which want holds.
func (m *Module) parts(want func(part) bool) []part {
	m.ready()
	all := parts(m.outer, reflect.TypeOf(m.outer).Elem().Name())
	return slices.DeleteFunc(all, func(p part) bool { return !want(p) })
}

func isParameter(p part) bool { return !p.buffer }
func isBuffer(p part) bool    { return p.buffer }
func isAny(part) bool         { return true }

func named(list []part) map[string]torch.Tensor {
	r := make(map[string]torch.Tensor, len(list))
	for _, p := range list {
		r[p.name] = p.value
	}
	return r
}

func values(list []part) []torch.Tensor {
	r := make([]torch.Tensor, len(list))
	for i, p := range list {
		r[i] = p.value
	}
	return r
}

// NamedParameters are the trained tensors of this module and of all within, by their names.
func (m *Module) NamedParameters() map[string]torch.Tensor { return named(m.parts(isParameter)) }

// NamedBuffers are the tensors that are not trained, by their names.
func (m *Module) NamedBuffers() map[string]torch.Tensor { return named(m.parts(isBuffer)) }

// Parameters are the trained tensors of this module and of all within, in the order of the fields.
func (m *Module) Parameters() []torch.Tensor { return values(m.parts(isParameter)) }

// Buffers are the tensors that are not trained, in the order of the fields.
func (m *Module) Buffers() []torch.Tensor { return values(m.parts(isBuffer)) }

// StateDict are all parameters and buffers by their names.
func (m *Module) StateDict() map[string]torch.Tensor { return named(m.parts(isAny)) }

// SetStateDict gives the parameters and buffers the values of sd, whose keys must be exactly their names; where they are not,
// nothing changes and the error names one. The tensors stay the ones that optimizers know of, and those of sd their owner's.
func (m *Module) SetStateDict(sd map[string]torch.Tensor) error {
	list := m.parts(isAny)
	have := make(map[string]bool, len(list))
	for _, p := range list {
		if t, ok := sd[p.name]; !ok || t.T == nil {
			return fmt.Errorf("the state dict has no %s", p.name)
		}
		have[p.name] = true
	}
	for key := range sd {
		if !have[key] {
			return fmt.Errorf("the state dict has %s, and the module has not", key)
		}
	}
	for _, p := range list {
		p.value.SetData(clone(sd[p.name]))
	}
	return nil
}

// clone is a copy without history.
func clone(t torch.Tensor) torch.Tensor { return torch.Wrap(torch.Unwrap(t).Detach().Clone()) }

// To moves all parameters and buffers to the device, and to the dtype if one is given.
func (m *Module) To(device torch.Device, dtype ...int8) {
	for _, p := range m.parts(isAny) {
		p.value.SetData(p.value.To(device, dtype...))
	}
}
