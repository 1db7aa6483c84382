package optable

import (
	"reflect"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// ExampleShapes are those to try in turn until an operator accepts its arguments.
var ExampleShapes = [][]int{{4, 4}, {4}, {1, 4, 4}, {1, 4, 4, 4}, {1, 4, 4, 4, 4}, {}}

// Example makes arguments for the parameters that the form asks for, of tensors with the
// shape. Whether they suit the operator is to be seen.
func (f Form) Example(shape []int, g *torch.Generator) map[string]any {
	args := map[string]any{}
	typ := reflect.TypeOf(f.Func)
	for _, p := range f.Places() {
		if p.Param < 0 || p.Elem >= 0 || (typ.IsVariadic() && p.Param == typ.NumIn()-1 && !listTail(typ)) {
			continue
		}
		args[p.Arg] = value(f, p.Arg, typ.In(p.Param), shape)
	}
	if strings.Contains(f.Op, "generator") && strings.Contains(f.Args, "generator=") {
		args["generator"] = g
	}
	return args
}

// listTail tells a required list that is variadic from an option.
func listTail(typ reflect.Type) bool {
	elem := typ.In(typ.NumIn() - 1).Elem()
	return elem == reflect.TypeFor[torch.Tensor]() || elem.Kind() == reflect.Int
}

// ExampleOption makes a value for an option that is not its default.
func (f Form) ExampleOption(p Place, shape []int) any {
	typ := reflect.TypeOf(f.Func)
	if p.Field == "" {
		return value(f, p.Arg, typ.In(p.Param).Elem(), shape)
	}
	options := typ.In(0)
	if options != reflect.TypeFor[torch.TensorOptions]() {
		options = typ.In(typ.NumIn() - 1).Elem()
	}
	field, _ := options.FieldByName(p.Field)
	if field.Type.Kind() == reflect.Bool {
		return !p.Negate
	}
	return value(f, p.Arg, field.Type, shape)
}

func value(form Form, arg string, typ reflect.Type, shape []int) any {
	switch typ {
	case reflect.TypeFor[torch.Tensor]():
		return tensor(form, arg, shape)
	case reflect.TypeFor[[]torch.Tensor]():
		return []torch.Tensor{tensor(form, arg, shape), tensor(form, arg, shape)}
	case reflect.TypeFor[torch.DType]():
		return torch.Float64
	case reflect.TypeFor[torch.Reduction]():
		return 2
	case reflect.TypeFor[torch.MemoryFormat]():
		return torch.ContiguousFormat
	case reflect.TypeFor[torch.Device]():
		return torch.CPU
	case reflect.TypeFor[*torch.Generator]():
		return (*torch.Generator)(nil)
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ.Kind() {
	case reflect.Int:
		return number(arg)
	case reflect.Float64:
		return 0.25
	case reflect.Bool:
		return true
	case reflect.String:
		return words[arg]
	case reflect.Interface:
		if strings.HasPrefix(form.Op, "bitwise") {
			return 1
		}
		return 0.75
	case reflect.Slice:
		switch typ.Elem().Kind() {
		case reflect.Float64:
			return []float64{0.25, 0.5}
		case reflect.Interface:
			return []any{0.75, 0.5}
		}
		return ints(form, arg, shape)
	}
	return nil
}

var words = map[string]string{
	"reduce": "mean", "rounding_mode": "floor", "indexing": "xy", "equation": "ij,jk->ik", "ord": "fro", "p": "fro",
	"interpolation": "nearest", "approximate": "tanh", "mode": "reflect", "padding": "same", "UPLO": "U", "norm": "ortho",
	"side": "right", "padding_side": "left", "driver": "gesvd", "pad_mode": "constant",
}

func number(arg string) int {
	switch arg {
	case "high", "k", "n_fft", "num_classes", "window_length", "bins", "end", "to":
		return 3
	case "dim1", "dim0", "start_dim", "low", "from", "start", "offset":
		return 0
	case "dim2", "destination":
		return -1
	}
	return 1
}

func ints(form Form, arg string, shape []int) []int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	switch arg {
	case "size", "shape":
		switch strings.SplitN(form.Op, ".", 2)[0] {
		case "view", "reshape":
			return []int{n, 1}
		case "expand", "broadcast_to":
			return append([]int{2}, shape...)
		}
		return []int{2, 2}
	case "normalized_shape":
		return shape[len(shape)-min(1, len(shape)):]
	case "dims":
		if strings.HasPrefix(form.Op, "permute") {
			return reversed(len(shape))
		}
	case "sizes", "repeats":
		return append(slices.Repeat([]int{1}, max(0, len(shape)-1)), 4)
	case "physical_layout":
		return []int{1, 0}
	case "split_size", "split_sizes":
		return []int{1, 3}
	case "pad", "padding":
		if n := 2 * (len(shape) - 2); strings.Contains(form.Op, "pad") && n > 0 {
			return slices.Repeat([]int{1}, n)
		}
	}
	spatial := max(1, len(shape)-2)
	for _, name := range []string{"kernel_size", "stride", "padding", "dilation", "output_size", "output_padding"} {
		if arg == name {
			if name == "padding" || name == "output_padding" {
				return slices.Repeat([]int{0}, spatial)
			}
			return slices.Repeat([]int{2}, spatial)
		}
	}
	return []int{0}
}

func reversed(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = n - 1 - i
	}
	return list
}

// tensor makes a tensor that fits the argument's name.
func tensor(form Form, arg string, shape []int) torch.Tensor {
	n := 1
	for _, s := range shape {
		n *= s
	}
	if arg == "offsets" {
		return torch.FromSlice([]int64{0, 1, 2, int64(n)}) // they have to ascend, and may have to end with the input
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(i*7%11+1) / 12
	}
	x := torch.FromSlice(values, shape...)
	if len(shape) == 0 {
		x = torch.FromValue(values[0])
	}
	switch {
	case slices.Contains([]string{"mask", "condition"}, arg):
		return x.GtScalar(0.5)
	case slices.Contains([]string{"index", "indices", "lengths", "batch_sizes"}, arg),
		strings.HasPrefix(form.Op, "bitwise"), strings.HasPrefix(form.Op, "gcd"), strings.HasPrefix(form.Op, "lcm"),
		strings.HasPrefix(form.Op, "one_hot"), strings.HasPrefix(form.Op, "bincount"), arg == "repeats":
		return x.MulScalar(3).To(torch.Int64)
	}
	return x
}
