package pt

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/torch"
)

// GlobalError is the error for a file that needs a class or a function which is not permitted.
type GlobalError struct {
	Name string // with its module
}

// Error says how a program permits it.
func (e *GlobalError) Error() string {
	hint := ""
	if strings.HasPrefix(e.Name, "torch.nn.modules.") || strings.HasPrefix(e.Name, "__main__.") {
		hint = " (if a whole model was saved: save its state_dict() in Python)"
	}
	return fmt.Sprintf("the file needs %s, which is code and not among what torch.load(weights_only=True) permits%s; LoadOptions{Globals: "+
		"[]string{%q}} lets it through as an Object, that is as data", e.Name, hint, e.Name)
}

// mostDepth is how deep values may lie within each other: about as deep as Python's pickler goes.
const mostDepth = 1000

// decoder makes Go values of a pickle. It goes twice over it: first to check all that the file
// says, without a tensor, then to make them.
type decoder struct {
	loader   loader
	builders map[pickle.Global]builder
	storages map[string]*storage
	globals  map[string]bool // that the program permits
	building bool
	done     map[any]decoded
	busy     map[any]bool
	most     int            // values that it may unfold to
	wanted   []*storage     // by the tensors that the first pass saw
	made     []torch.Tensor // in the second pass
}

// decoded is what a shared value became.
type decoded struct {
	value any
	count int // of the values in it, each as often as it occurs
}

// allow returns the error for a global that is not permitted.
func (d *decoder) allow(g pickle.Global) error {
	if _, known := d.builders[g]; known || d.globals[g.String()] || isName(g) {
		return nil
	}
	if g.Module == jagged {
		return errNested
	}
	return &GlobalError{g.String()}
}

// value converts a value of the pickle, and counts what it unfolds to.
func (d *decoder) value(v any, depth int) (any, int, error) {
	if depth > mostDepth {
		return nil, 0, malformed("values lie more than %d deep within each other", mostDepth)
	}
	switch v := v.(type) {
	case nil, bool, int, float64, string, []byte, *big.Int:
		return v, 1, nil
	case pickle.Global:
		own, err := d.name(v)
		return own, 1, err
	case *pickle.Ref:
		return nil, 0, malformed("a storage stands by itself: save its tensor")
	}
	if known, ok := d.done[v]; ok {
		return known.value, known.count, nil
	}
	if d.busy[v] {
		return nil, 0, malformed("a value contains itself, which no Go value does")
	}
	d.busy[v] = true
	own, n, err := d.container(v, depth)
	delete(d.busy, v)
	if err == nil && n > d.most {
		err = malformed("it would unfold to more than %d values", d.most)
	}
	if err != nil {
		return nil, 0, err
	}
	d.done[v] = decoded{own, n}
	return own, n, nil
}

func (d *decoder) container(v any, depth int) (any, int, error) {
	switch v := v.(type) {
	case *pickle.List:
		return d.list(*v, depth)
	case *pickle.Tuple:
		list, n, err := d.list(*v, depth)
		return Tuple(list), n, err
	case *pickle.Set:
		return d.set(v.Items, v.Frozen, depth)
	case *pickle.Dict:
		dict := &Dict{}
		n, err := d.fill(dict, *v, depth)
		return dict, n, err
	case *pickle.Object:
		if d.globals[v.Class.String()] {
			return d.object(v, depth)
		}
		build, ok := d.builders[v.Class]
		if !ok {
			return nil, 0, malformed("%v is called, which is not to be called", v.Class)
		}
		c := &call{d: d, o: v, depth: depth + 1, n: 1}
		own, err := build(c)
		if err == nil {
			err = c.leftover()
		}
		return own, c.n, err
	}
	return nil, 0, malformed("a %T", v)
}

func (d *decoder) list(from []any, depth int) ([]any, int, error) {
	list, total := make([]any, len(from)), 1
	for i, v := range from {
		own, n, err := d.value(v, depth+1)
		if err != nil {
			return nil, 0, err
		}
		if list[i], total = own, total+n; total > d.most {
			break // the caller refuses it
		}
	}
	return list, total, nil
}

func (d *decoder) set(from []any, frozen bool, depth int) (any, int, error) {
	list, n, err := d.list(from, depth)
	if err == nil {
		err = eachOf(list, hashable)
	}
	return &Set{list, frozen}, n, err
}

// fill converts the items of a dict into it.
func (d *decoder) fill(into *Dict, from []pickle.Item, depth int) (int, error) {
	total := 1
	for _, item := range from {
		key, n, err := d.value(item.Key, depth+1)
		if err == nil {
			err = hashable(key)
		}
		if err != nil {
			return 0, err
		}
		value, m, err := d.value(item.Value, depth+1)
		if err != nil {
			return 0, err
		}
		into.Set(key, value)
		if total += n + m; total > d.most {
			break
		}
	}
	return total, nil
}

// hashable refuses keys that Python has no hash for.
func hashable(key any) error {
	switch key := key.(type) {
	case nil, bool, int, float64, complex128, string, []byte, *big.Int, torch.DType, torch.Device, torch.Layout, QScheme, Class:
		return nil
	case Tuple:
		return eachOf(key, hashable)
	case Size:
		return nil
	case *Set:
		if key.Frozen {
			return nil
		}
	}
	return malformed("a key of a dict or a value of a set is %s", kind(key))
}

// object is what the program lets through as data.
func (d *decoder) object(v *pickle.Object, depth int) (any, int, error) {
	o := &Object{Class: v.Class.String(), New: v.New}
	args, n, err := d.list(v.Args, depth)
	if err != nil {
		return nil, 0, err
	}
	o.Args = args
	list, m, err := d.list(v.List, depth)
	if err != nil {
		return nil, 0, err
	}
	if len(list) > 0 {
		o.List = list
	}
	items := &Dict{}
	k, err := d.fill(items, v.Dict, depth)
	if err != nil {
		return nil, 0, err
	}
	o.Items = items.items
	state, s, err := d.value(v.State, depth+1)
	o.State = state
	return o, n + m + k + s, err
}

// isName tells whether a global is a value by its name, such as a dtype.
func isName(g pickle.Global) bool {
	_, ok := names(g)
	return ok || slices.Contains(classes, g)
}

// classes are what calls have as arguments.
var classes = []pickle.Global{{Module: "torch", Name: "Tensor"}, {Module: "torch.nn.parameter", Name: "Parameter"},
	{Module: "torch.storage", Name: "UntypedStorage"}, {Module: "torch", Name: "UntypedStorage"}}

// names are the globals that are values: dtypes, storages and schemes of quantization.
func names(g pickle.Global) (any, bool) {
	if g.Module != "torch" {
		return nil, false
	}
	if d, ok := storageTypes[g.Name]; ok {
		return d, true
	}
	switch g.Name {
	case "per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams":
		return QScheme(g.Name), true
	case "int1", "int2", "int3", "int4", "int5", "int6", "int7",
		"uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7":
		return unknownDType(g.Name), true
	}
	if slices.Contains([]string{"float", "double", "half", "long", "int", "short"}, g.Name) {
		return nil, false // names that PyTorch writes in full
	}
	d, err := torch.ParseDType(g.Name)
	return d, err == nil
}

// unknownDType is a dtype of PyTorch's that this libtorch binding has no name for.
type unknownDType string

// name is the value of a global.
func (d *decoder) name(g pickle.Global) (any, error) {
	if v, ok := names(g); ok {
		switch v := v.(type) {
		case unknownDType:
			return nil, fmt.Errorf("the file holds torch.%s, a dtype that is not supported here", string(v))
		case torch.DType:
			if _, storage := storageTypes[g.Name]; storage {
				return nil, malformed("the class %v stands by itself", g)
			}
		}
		return v, nil
	}
	if d.globals[g.String()] {
		return Class(g.String()), nil
	}
	return nil, malformed("the class %v stands by itself", g)
}
