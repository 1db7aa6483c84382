package modparity

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/nn/utils/rnn"
)

// values are arguments by their names in Python, as they were written to JSON: numbers without
// a point are integers, floats are {"float": text}.
type values = map[string]any

// builder makes modules and finds the values of arguments.
type builder struct {
	tensors map[string]torch.Tensor // that arguments refer to
	made    []any                   // modules, the ones that are given to others first
}

// fields are the names of arguments that are not those of the fields. A point leads into a
// field, ! reverses a bool.
var fields = map[string][]string{
	"_random_samples": {"RandomSamples"}, "affine": {"Affine", "!NoAffine"}, "average_attn_weights": {"!WeightsPerHead"},
	"bias": {"!NoBias"}, "count_include_pad": {"!CountExcludePad"},
	"elementwise_affine": {"!NoElementwiseAffine"},
	"lambd":              {"Lambda"}, "log_input": {"!NoLogInput"}, "mask": {"Mask"},
	"memory_key_padding_mask": {"Memory.KeyPaddingMask"}, "memory_mask": {"Memory.Mask"}, "need_weights": {"!NoWeights"},

	"src_key_padding_mask": {"Source.KeyPaddingMask", "KeyPaddingMask"},
	"src_mask":             {"Source.Mask", "Mask"}, "tgt_key_padding_mask": {"Target.KeyPaddingMask"}, "tgt_mask": {"Target.Mask"},
	"track_running_stats": {"!NoTrackRunningStats"},
}

// set puts the arguments into the fields of a struct.
func (b *builder) set(to reflect.Value, args values) error {
	for name, value := range args {
		switch {
		case name == "momentum" && value == nil:
			name, value = "Cumulative", true
		case name == "reduction" && value == "batchmean":
			name, value = "BatchMean", true
		}
		at, reversed := find(to, name)
		if !at.IsValid() {
			return fmt.Errorf("%v has no field for %s=%v", to.Type(), name, value)
		}
		if on, ok := value.(bool); ok && reversed {
			value = !on
		}
		v, err := b.convert(value, at.Type())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		at.Set(v)
	}
	return nil
}

// find is the field for an argument, of the struct itself or of the options in it.
func find(in reflect.Value, name string) (at reflect.Value, reversed bool) {
	for _, path := range append(slices.Clone(fields[name]), strings.ReplaceAll(name, "_", "")) {
		path, reversed = strings.CutPrefix(path, "!")
		at = in
		for part := range strings.SplitSeq(path, ".") {
			if at.IsValid() {
				at = at.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, part) })
			}
		}
		if at.IsValid() {
			return at, reversed
		}
	}
	for _, inner := range []string{"Options", "Layer"} {
		if o := in.FieldByName(inner); o.IsValid() && o.Kind() == reflect.Struct {
			return find(o, name)
		}
	}
	return reflect.Value{}, false
}

// functions are those that arguments name.
var functions = map[string]any{
	"gelu":      func(x torch.Tensor) torch.Tensor { return F.GELU(x) },
	"relu":      F.ReLU,
	"manhattan": func(a, b torch.Tensor) torch.Tensor { return a.Sub(b).Abs().SumDim([]int{-1}) },
}

var reductions = map[string]torch.Reduction{"mean": torch.ReductionMean, "sum": torch.ReductionSum, "none": torch.ReductionNone}

// convert finds the value of an argument for a parameter of type t.
func (b *builder) convert(value any, t reflect.Type) (v reflect.Value, err error) {
	v = reflect.New(t).Elem()
	found, fits := b.find(value, t)
	switch {
	case found == nil:
	case reflect.TypeOf(found).AssignableTo(t):
		v.Set(reflect.ValueOf(found))
	case t.Kind() == reflect.Pointer:
		inner, err := b.convert(value, t.Elem())
		if err != nil {
			return v, err
		}
		v = reflect.New(t.Elem())
		v.Elem().Set(inner)
	default:
		fits = false
	}
	if !fits {
		return v, fmt.Errorf("%v is no %v", value, t)
	}
	return v, nil
}

// find is the value in the Go type that is closest to t.
func (b *builder) find(value any, t reflect.Type) (found any, fits bool) {
	switch value := value.(type) {
	case nil:
		return nil, t.Kind() != reflect.Int && t.Kind() != reflect.Float64
	case float64:
		if t.Kind() == reflect.Float64 || t == reflect.TypeFor[*float64]() {
			return value, true
		}
		if t == reflect.TypeFor[[]int]() {
			return []int{int(value)}, true
		}
		return int(value), true
	case string:
		if r, ok := reductions[value]; ok && t == reflect.TypeFor[torch.Reduction]() {
			return r, true
		}
		if t.Kind() == reflect.Func {
			return functions[value], true
		}
		return value, true
	case []any:
		return b.list(value, t), true
	case values:
		return b.object(value, t), true
	}
	return value, true
}

// object is a tensor, a float, a function, a module or a packed sequence.
func (b *builder) object(value values, t reflect.Type) any {
	for kind, of := range value {
		switch kind {
		case "tensor":
			return b.tensors[of.(string)]
		case "float":
			f, _ := strconv.ParseFloat(of.(string), 64)
			if t.Kind() == reflect.Int || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Int {
				return int(f)
			}
			return f
		case "function":
			return functions[of.(string)]
		case "module":
			m, err := b.build(of.(string), value["make"].(values))
			if err != nil {
				torch.Throw("build", torch.KindValue, "%v", err)
			}
			return m
		case "packed":
			p, parts := &rnn.PackedSequence{}, of.([]any)
			for i, at := range []*torch.Tensor{&p.Data, &p.BatchSizes, &p.SortedIndices, &p.UnsortedIndices} {
				if part, ok := parts[i].(values); ok {
					*at = b.object(part, t).(torch.Tensor)
				}
			}
			return p
		}
	}
	return nil
}

// list is a []int, a []float64 or layers.
func (b *builder) list(value []any, t reflect.Type) any {
	if t == reflect.TypeFor[[]nn.Layer]() {
		layers := []nn.Layer{}
		for _, v := range value {
			layers = append(layers, b.object(v.(values), t).(nn.Layer))
		}
		return layers
	}
	var ints []int
	var floats []float64
	for _, v := range value {
		switch v := v.(type) {
		case nil:
			ints = append(ints, F.Unchanged)
		case float64:
			ints, floats = append(ints, int(v)), append(floats, v)
		case values:
			if f, ok := b.object(v, t).(float64); ok {
				floats = append(floats, f)
			}
		}
	}
	if len(floats) > len(ints) {
		return floats
	}
	return ints
}

// build makes the module of that class.
func (b *builder) build(class string, args values) (m any, err error) {
	e, ok := modules[class]
	if !ok {
		return nil, fmt.Errorf("%s is not in the table of modules", class)
	}
	left := values{}
	for name, value := range args {
		if name != "return_indices" { // another method, not another module
			left[name] = value
		}
	}
	made := reflect.ValueOf(e.constructor(left))
	if made.Kind() == reflect.Func {
		in, err := b.arguments(made.Type(), e.signature.make, left)
		if err != nil {
			return nil, err
		}
		made = made.Call(in)[0]
	} else {
		copied := reflect.New(made.Type()).Elem()
		if err := b.set(copied, left); err != nil {
			return nil, err
		}
		made = copied
	}
	b.made = append(b.made, made.Interface())
	return made.Interface(), nil
}

// constructor is the entry's, of two the one for a size that is a list or for one that is not.
func (e entry) constructor(args values) any {
	two, ok := e.make.(sized)
	if !ok {
		return e.make
	}
	for name := range strings.FieldsSeq(e.signature.make) {
		if _, list := args[name].([]any); list {
			return two.list
		}
	}
	return two.one
}

// arguments are those for a function: the ones that names lists, with their defaults, then a
// struct of options with all others.
func (b *builder) arguments(fn reflect.Type, names string, left values) (in []reflect.Value, err error) {
	n := fn.NumIn()
	options, rest := false, false
	if fn.IsVariadic() {
		n--
		last := fn.In(n).Elem()
		rest = last.Kind() != reflect.Struct || last == reflect.TypeFor[torch.Tensor]()
		options = !rest
	}
	for _, name := range strings.Fields(names) {
		name, text, _ := strings.Cut(name, "=")
		value, given := left[name]
		delete(left, name)
		if f, err := strconv.ParseFloat(text, 64); !given && err == nil {
			value = f
		}
		several := []any{value}
		if list, ok := value.([]any); ok && (rest || len(in) < n && fn.In(len(in)) == reflect.TypeFor[torch.Tensor]()) {
			several = list // the states of an LSTM
		}
		for _, value := range several {
			if len(in) >= n {
				if value == nil {
					continue
				}
				if rest {
					v, err := b.convert(value, fn.In(n).Elem())
					if err != nil {
						return nil, fmt.Errorf("%s: %w", name, err)
					}
					in = append(in, v)
					continue
				}
				return nil, fmt.Errorf("%v has no argument %s", fn, name)
			}
			v, err := b.convert(value, fn.In(len(in)))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			in = append(in, v)
		}
	}
	for len(in) < n {
		in = append(in, reflect.Zero(fn.In(len(in))))
	}
	if options && len(left) > 0 {
		o := reflect.New(fn.In(n).Elem()).Elem()
		if err := b.set(o, left); err != nil {
			return nil, err
		}
		in, left = append(in, o), nil
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("%v has no place for %v", fn, left)
	}
	return in, nil
}

// call calls the first of the module's methods that takes the arguments, and returns the
// tensors of its results.
func (b *builder) call(m any, e entry, args values, indices bool) (outputs []torch.Tensor, err error) {
	methods := []string{"Forward", "ForwardMasked", "ForwardTo", "ForwardTensor", "ForwardPacked"}
	if indices {
		methods = []string{"ForwardWithIndices"}
	}
	for _, name := range methods {
		method := reflect.ValueOf(m).MethodByName(name)
		if !method.IsValid() {
			continue
		}
		left := values{}
		for name, value := range args {
			left[name] = value
		}
		in, wrong := b.arguments(method.Type(), e.call, left)
		if wrong != nil {
			err = wrong
			continue
		}
		for _, result := range method.Call(in) {
			outputs = append(outputs, flat(result)...)
		}
		return outputs, nil
	}
	return nil, fmt.Errorf("%T takes no such arguments: %w", m, err)
}

// flat are the tensors of a result.
func flat(v reflect.Value) (list []torch.Tensor) {
	switch v := v.Interface().(type) {
	case torch.Tensor:
		list = []torch.Tensor{v}
	case *rnn.PackedSequence:
		list = []torch.Tensor{v.Data, v.BatchSizes, v.SortedIndices, v.UnsortedIndices}
	}
	return slices.DeleteFunc(list, func(t torch.Tensor) bool { return !t.Defined() })
}
