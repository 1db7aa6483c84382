package pt

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// Tuple is a Python tuple.
type Tuple []any

// ByteArray is a Python bytearray.
type ByteArray []byte

// Size is a torch.Size.
type Size []int

// QScheme is a torch.qscheme, such as "per_tensor_affine".
type QScheme string

// Set is a Python set, its values in the order of the file.
type Set struct {
	Items  []any
	Frozen bool // a frozenset, which Python's weights_only=True refuses
}

// Parameter is a torch.nn.Parameter: a tensor and Python attributes that it may have.
type Parameter struct {
	torch.Tensor
	State any // of the attributes, nil where there are none
}

// Attributed is a tensor with Python attributes.
type Attributed struct {
	torch.Tensor
	State any
}

// Object is something of a class that LoadOptions.Globals permits. Nothing of it was run: it is what
// the file says of it.
type Object struct {
	Class string // with its module: "argparse.Namespace"
	Args  Tuple  // of the call
	New   bool   // made by __new__, not by a call
	List  []any  // what was appended to it
	Items []Item // what was set in it
	State any    // what it was built from: a *Dict of its attributes, most often
}

// Class is a class or a function that LoadOptions.Globals permits, where it is a value by itself.
type Class string

// each visits the values that v is made of.
func each(v any, see func(any) error) error {
	switch v := v.(type) {
	case []any:
		return eachOf(v, see)
	case Tuple:
		return eachOf(v, see)
	case *Set:
		return eachOf(v.Items, see)
	case Parameter:
		return see(v.State)
	case Attributed:
		return see(v.State)
	case *Dict:
		if err := eachItem(v.items, see); err != nil || v.Attributes == nil {
			return err
		}
		return see(v.Attributes)
	case *Object:
		if err := eachOf(v.Args, see); err != nil {
			return err
		}
		if err := eachOf(v.List, see); err != nil {
			return err
		}
		if err := eachItem(v.Items, see); err != nil {
			return err
		}
		return see(v.State)
	}
	return nil
}

func eachOf(list []any, see func(any) error) error {
	for _, v := range list {
		if err := see(v); err != nil {
			return err
		}
	}
	return nil
}

func eachItem(items []Item, see func(any) error) error {
	for _, item := range items {
		if err := see(item.Key); err != nil {
			return err
		}
		if err := see(item.Value); err != nil {
			return err
		}
	}
	return nil
}

// tensorOf is the tensor that v is; false if it is none.
func tensorOf(v any) (torch.Tensor, bool) {
	switch v := v.(type) {
	case torch.Tensor:
		return v, true
	case Parameter:
		return v.Tensor, true
	case Attributed:
		return v.Tensor, true
	}
	return torch.Tensor{}, false
}

// Close frees all tensors in a value that [Load] returned.
func Close(v any) {
	if t, ok := tensorOf(v); ok {
		t.Close()
	}
	_ = each(v, func(v any) error { Close(v); return nil })
}

// kind names a value in an error.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case torch.Tensor, Parameter, Attributed:
		return "a tensor"
	case *Dict:
		return "a " + v.class()
	case []any:
		return "a list"
	case Tuple:
		return "a tuple"
	case *Object:
		return "a " + v.Class
	}
	return fmt.Sprintf("a %T", v)
}
