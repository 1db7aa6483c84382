package nn

import (
	"fmt"
	"reflect"

	torch "github.com/wangkuiyi/gotorch"
)

// IModule is what all modules have by way of the Module they embed.
type IModule interface {
	// Train sets whether this module and all within are in training.
	Train(on bool)
	// IsTraining tells whether the module is in training.
	IsTraining() bool
	// To moves all parameters and buffers to the device, and to the dtype if one is given.
	To(device torch.Device, dtype ...int8)
	// StateDict are all parameters and buffers by their names.
	StateDict() map[string]torch.Tensor
	// SetStateDict copies the values of sd into the parameters and buffers of the same names.
	SetStateDict(sd map[string]torch.Tensor) error
	// Apply calls f with this module and all within.
	Apply(f func(IModule))
	// Name is the type of the module.
	Name() string
}

// Module makes the struct that embeds it a module.
type Module struct {
	outer      IModule
	isTraining bool
	name       string
}

// Init says which struct the Module is embedded in. A module without Init panics when it is used.
//
//	func NewNet() *Net {
//		n := &Net{FC: nn.Linear(784, 10, true)}
//		n.Init(n)
//		return n
//	}
func (m *Module) Init(outer IModule) {
	if m.outer != nil {
		return
	}
	v := reflect.ValueOf(outer).Elem()
	if f, ok := v.Type().FieldByName("Module"); ok && len(f.Index) == 1 && f.Type == reflect.TypeFor[Module]() &&
		v.FieldByIndex(f.Index).Addr().UnsafePointer() == reflect.ValueOf(m).UnsafePointer() {
		m.outer, m.isTraining, m.name = outer, true, v.Type().String()
		return
	}
	panic(fmt.Sprintf("Init: %v does not embed this Module by value", v.Type()))
}

// ready panics unless Init was called.
func (m *Module) ready() {
	if m.outer == nil {
		panic("a module is used whose constructor has not called Init")
	}
}

// Name is the type of the module, with its package: "nn.LinearModule".
func (m *Module) Name() string { return m.name }

// Outer is the struct that embeds the Module.
func (m *Module) Outer() IModule { return m.outer }

// IsTraining tells whether the module is in training.
func (m *Module) IsTraining() bool { return m.isTraining }

// Train sets whether this module and all within are in training.
func (m *Module) Train(on bool) {
	m.Apply(func(n IModule) { n.(*Module).isTraining = on })
}

// Apply calls function with the Module of this module and of all within; its Outer is the struct.
func (m *Module) Apply(function func(IModule)) {
	m.ready()
	function(m)
	v := reflect.ValueOf(m.outer).Elem()
	for i := range v.NumField() {
		each(v.Type().Field(i), v.Field(i), func(part reflect.Value, _ string) {
			if inner, ok := part.Interface().(IModule); ok && !reflect.ValueOf(inner).IsNil() {
				inner.Apply(function)
			}
		})
	}
}

// moduleType and tensorType are what fields are looked through for.
var (
	moduleType = reflect.TypeFor[IModule]()
	tensorType = reflect.TypeFor[torch.Tensor]()
)

// each calls see for a field, or for each element of one that is a slice or an array, with what the name gains by it. Fields
// that cannot hold parts are passed over; it panics over one that holds them and is not exported.
func each(f reflect.StructField, v reflect.Value, see func(part reflect.Value, index string)) {
	t, list := f.Type, f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Array
	if list {
		t = t.Elem()
	}
	if t != tensorType && !t.Implements(moduleType) && !(t.Kind() == reflect.Interface && f.IsExported()) {
		return
	}
	if !f.IsExported() {
		panic(fmt.Sprintf("field %s holds a part of a module and must be exported", f.Name))
	}
	if !list {
		see(v, "")
		return
	}
	for i := range v.Len() {
		see(v.Index(i), fmt.Sprintf("[%d]", i))
	}
}
