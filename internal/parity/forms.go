package parity

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/libtorch-go/libtorch/internal/optable"
	"github.com/libtorch-go/libtorch/torch"
)

// byHand are operators whose Go form is hand-written and has arguments of its own; here it
// gets the schema's.
var byHand = map[string]optable.Form{
	"index.Tensor":      {Func: index, Args: "self=#0 indices=#1"},
	"item":              {Func: torch.Tensor.Item, Args: "self=#0"},
	"size.int":          {Func: torch.Tensor.Size, Args: "self=#0 dim=#1"},
	"is_complex":        {Func: torch.Tensor.IsComplex, Args: "self=#0"},
	"is_floating_point": {Func: torch.Tensor.IsFloatingPoint, Args: "self=#0"},
	"is_conj":           {Func: torch.Tensor.IsConj, Args: "self=#0"},
	"is_neg":            {Func: torch.Tensor.IsNeg, Args: "self=#0"},
	"requires_grad_":    {Func: torch.Tensor.SetRequiresGrad, Args: "self=#0 requires_grad=#1"},
	"to.dtype":          {Func: toDType, Args: "self=#0 dtype=#1 non_blocking=#2 copy=#3 memory_format=#4"},
	"to.device":         {Func: toDevice, Args: "self=#0 device=#1 dtype=#2 non_blocking=#3 copy=#4 memory_format=#5"},
	"to.other":          {Func: toOther, Args: "self=#0 other=#1 non_blocking=#2 copy=#3 memory_format=#4"},
}

// index is x[indices] where no index is a number or a range.
func index(x torch.Tensor, indices []torch.Tensor) torch.Tensor {
	list := make([]any, len(indices))
	for i, t := range indices {
		if list[i] = torch.All; t.Defined() {
			list[i] = t
		}
	}
	return x.Index(list...)
}

func toDType(x torch.Tensor, d torch.DType, nonBlocking, copied bool, f torch.MemoryFormat) torch.Tensor {
	return toDevice(x, x.Device(), d, nonBlocking, copied, f)
}

func toOther(x, other torch.Tensor, nonBlocking, copied bool, f torch.MemoryFormat) torch.Tensor {
	return toDevice(x, other.Device(), other.DType(), nonBlocking, copied, f)
}

func toDevice(x torch.Tensor, device torch.Device, d torch.DType, nonBlocking, copied bool, f torch.MemoryFormat) torch.Tensor {
	options := []torch.ToOption{device, d}
	if nonBlocking {
		options = append(options, torch.NonBlocking)
	}
	if copied {
		options = append(options, torch.Copy)
	}
	if !f.IsZero() {
		options = append(options, f)
	}
	return x.To(options...)
}

// operator is the overload that a Go program calls for a call that Python has made.
func (k *Case) operator(args map[string]any) string {
	switch name, overload, _ := strings.Cut(k.Op, "."); {
	case overload == "Tensor" && isNumber(args["other"]):
		return name + ".Scalar" // Python makes a number a tensor where an operator wants one
	case overload == "stable" && args["stable"] != true:
		delete(args, "stable")
		return name
	case name == "count_nonzero" && args["dim"] != nil:
		return "count_nonzero.dim_IntList"
	}
	return k.Op
}

func isNumber(v any) bool {
	_, tensor := v.(torch.Tensor)
	return v != nil && !tensor
}

// form finds the Go form that takes the arguments, and changes them to what it takes.
func (k *Case) form(args map[string]any, tensors []torch.Tensor) (optable.Form, error) {
	op := k.operator(args)
	forms := optable.FindAll(op)
	if f, ok := byHand[op]; ok {
		f.Op = op
		forms = append(forms, f)
	}
	why := errNoForm
	for _, f := range forms {
		if why = k.fit(f, args, tensors); why == nil {
			return f, nil
		}
	}
	return optable.Form{}, why
}

// fit takes out arguments that a form always has as they are given, and puts in the
// defaults of those that Go has no default for.
func (k *Case) fit(f optable.Form, args map[string]any, tensors []torch.Tensor) error {
	places := f.Places()
	for i, p := range places {
		v, given := args[p.Arg]
		if !given && f.Requires(p) {
			v = k.Rest[p.Arg].argument(tensors)
		}
		switch {
		case v == nil && f.Requires(p) && reflect.TypeOf(f.Func).In(p.Param).Kind() == reflect.Int:
			return fmt.Errorf("%w: %s is a number in Go", errNoForm, p.Arg) // another form has no such argument
		case !given && f.Requires(p):
			args[p.Arg] = v
		case !given:
		case p.Param < 0 && p.Field == "":
			if !fixed(p.Fixed, v) {
				return fmt.Errorf("%w: %s is always %s in Go", errNoForm, p.Arg, p.Fixed)
			}
			delete(args, p.Arg)
		case p.Elem > 0 && v != nil:
			for _, before := range places[:i] {
				if _, ok := args[before.Arg]; !ok && before.Param == p.Param && before.Elem >= 0 {
					args[before.Arg] = k.Rest[before.Arg].argument(tensors)
				}
			}
		}
	}
	return nil
}

// fixed reports whether v is what the schema calls want.
func fixed(want string, v any) bool {
	if v == nil {
		return want == "None"
	}
	return strings.EqualFold(want, fmt.Sprint(v))
}
