package pt

import (
	"fmt"
	"iter"
	"math/big"

	"github.com/libtorch-go/libtorch/torch"
)

// Dict is a Python dict in its order: a dict, an OrderedDict or a Counter. Its keys are texts in most
// files, but may be numbers, tuples and whatever else Python can hash. The zero Dict is an empty
// dict.
type Dict struct {
	Class      string // "collections.OrderedDict", "collections.Counter"; empty for a dict
	Attributes *Dict  // those of an OrderedDict: a state dict's _metadata; nil where there are none
	items      []Item
	at         map[any]int // where a key's item is
}

// Item is an entry of a [Dict].
type Item struct{ Key, Value any }

// Versioned is a state dict, as nn.StateDict returns it, with the versions of the modules that wrote it, as nn.StateVersions returns
// them: an OrderedDict with the _metadata that Python's state dicts have. A few modules of Python's, MNASNet for one, load no state dict
// without.
//
//	err := pt.Save("model.pt", pt.Versioned(nn.StateDict(model), nn.StateVersions(model)))
func Versioned(state iter.Seq2[string, torch.Tensor], versions iter.Seq2[string, int]) *Dict {
	const ordered = "collections.OrderedDict"
	d, metadata := &Dict{Class: ordered}, &Dict{Class: ordered}
	for name, t := range state {
		d.Set(name, t)
	}
	for name, version := range versions {
		metadata.Set(name, new(Dict).Set("version", version))
	}
	d.Attributes = new(Dict).Set("_metadata", metadata)
	return d
}

func (d *Dict) class() string {
	if d.Class == "" {
		return "dict"
	}
	return d.Class
}

// Len is the number of entries.
func (d *Dict) Len() int {
	if d == nil {
		return 0
	}
	return len(d.items)
}

// All are the keys and values in order.
func (d *Dict) All() iter.Seq2[any, any] {
	return func(yield func(any, any) bool) {
		for i := range d.Len() {
			if !yield(d.items[i].Key, d.items[i].Value) {
				return
			}
		}
	}
}

// Get is the value of a key, nil where there is none. A nil Dict has none.
func (d *Dict) Get(key any) any {
	v, _ := d.Lookup(key)
	return v
}

// Lookup is the value of a key, and whether there is one.
func (d *Dict) Lookup(key any) (v any, ok bool) {
	if d == nil {
		return nil, false
	}
	i := d.index(hashed(key))
	if i < 0 {
		return nil, false
	}
	return d.items[i].Value, true
}

// few is the number of entries up to which looking at each is as fast as a map.
const few = 8

// index is where the item of a hashed key is, -1 if it is nowhere.
func (d *Dict) index(h any) int {
	if len(d.items) > few {
		if i, ok := d.at[h]; ok {
			return i
		}
		return -1
	}
	for i, item := range d.items {
		if hashed(item.Key) == h {
			return i
		}
	}
	return -1
}

// Set sets the value of a key; a new key comes last. It returns d.
func (d *Dict) Set(key, value any) *Dict {
	h := hashed(key)
	if i := d.index(h); i >= 0 {
		d.items[i].Value = value
		return d
	}
	d.items = append(d.items, Item{key, value})
	switch n := len(d.items); {
	case n == few+1:
		d.at = make(map[any]int, 2*few)
		for i, item := range d.items {
			d.at[hashed(item.Key)] = i
		}
	case n > few:
		d.at[h] = n - 1
	}
	return d
}

// Dict is the dict that a key has, nil where it has none.
func (d *Dict) Dict(key any) *Dict {
	v, _ := d.Get(key).(*Dict)
	return v
}

// Int is the integer that a key has, 0 where it has none.
func (d *Dict) Int(key any) int {
	v, _ := d.Get(key).(int)
	return v
}

// Float is the number that a key has, 0 where it has none.
func (d *Dict) Float(key any) float64 {
	switch v := d.Get(key).(type) {
	case float64:
		return v
	case int:
		return float64(v)
	}
	return 0
}

// Text is the text that a key has, empty where it has none.
func (d *Dict) Text(key any) string {
	v, _ := d.Get(key).(string)
	return v
}

// Tensor is the tensor that a key has, undefined where it has none.
func (d *Dict) Tensor(key any) torch.Tensor {
	t, _ := tensorOf(d.Get(key))
	return t
}

// Tensors are the entries of a state dict, for nn.LoadStateDict. A state dict has texts as keys and
// tensors as values; the extra state that some modules have (None, or anything but a tensor, under
// a name that ends in _extra_state) is passed over.
func (d *Dict) Tensors() (map[string]torch.Tensor, error) {
	if d == nil {
		return nil, fmt.Errorf("pt: there is no state dict")
	}
	tensors := make(map[string]torch.Tensor, len(d.items))
	for key, value := range d.All() {
		name, text := key.(string)
		t, ok := tensorOf(value)
		switch {
		case text && ok:
			tensors[name] = t
		case text && extra(name):
		default:
			return nil, fmt.Errorf("pt: the %s is no state dict: %s is %s, expected a tensor; a checkpoint of several parts is "+
				"read by Load", d.class(), show(key), kind(value))
		}
	}
	return tensors, nil
}

// extra tells whether a module's get_extra_state is behind a name.
func extra(name string) bool {
	const last = "_extra_state"
	return len(name) >= len(last) && name[len(name)-len(last):] == last
}

// Map is the dict as Go's maps, in depth: what the LoadStateDict of optimizers, schedules and scalers
// take. Dicts whose keys are all texts become map[string]any, others map[any]any; parameters become
// tensors, tuples lists. Order and attributes are lost. A nil Dict is a nil map.
func (d *Dict) Map() map[string]any {
	if d == nil {
		return nil
	}
	m := make(map[string]any, len(d.items))
	for _, item := range d.items {
		m[fmt.Sprint(item.Key)] = plain(item.Value)
	}
	return m
}

// plain is a value without types of this package, where Go has a type for it.
func plain(v any) any {
	switch v := v.(type) {
	case *Dict:
		for _, item := range v.items {
			if _, text := item.Key.(string); !text {
				return v.mixed()
			}
		}
		return v.Map()
	case []any:
		return plainList(v)
	case Tuple:
		return plainList(v)
	case Size:
		return []int(v)
	case Parameter:
		return v.Tensor
	case Attributed:
		return v.Tensor
	}
	return v
}

func plainList(list []any) []any {
	own := make([]any, len(list))
	for i, v := range list {
		own[i] = plain(v)
	}
	return own
}

// mixed is the dict as a map whose keys are not all texts.
func (d *Dict) mixed() map[any]any {
	m := make(map[any]any, len(d.items))
	for _, item := range d.items {
		m[hashed(item.Key)] = plain(item.Value)
	}
	return m
}

// spelled is a key that Go's maps do not take, as text.
type spelled string

// hashed is what stands for a key in a map: equal for equal keys.
func hashed(key any) any {
	switch key := key.(type) {
	case nil, bool, int, float64, complex128, string, torch.DType, torch.Device, torch.Layout, QScheme, Class, torch.Tensor:
		return key
	case *big.Int:
		return spelled(key.Text(16))
	case []byte:
		return spelled("b" + string(key))
	}
	return spelled(fmt.Sprintf("%#v", key))
}

// show is a key or another small value in an error.
func show(v any) string {
	const most = 80
	text := fmt.Sprintf("%v", v)
	if s, ok := v.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}
