package optable

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// Form is the Go form of an operator.
type Form struct {
	Op   string // name.overload
	Func any    // torch.Tensor.Add, torch.Cat, aten.Softmax, …
	Args string // where each argument of the schema is, in the schema's order

	Private bool // PyTorch keeps the operator to itself: it trusts its callers, and may end the process over nonsense
}

// Forms lists all forms by operator. An operator may have two.
func Forms() []Form { return forms[:] }

// Find returns the first form of an operator.
func Find(op string) (Form, bool) {
	if all := FindAll(op); len(all) > 0 {
		return all[0], true
	}
	return Form{}, false
}

// FindAll returns all forms of an operator.
func FindAll(op string) []Form {
	lo := sort.Search(len(forms), func(i int) bool { return forms[i].Op >= op })
	hi := sort.Search(len(forms), func(i int) bool { return forms[i].Op > op })
	return forms[lo:hi:hi] // appending to it must not write to the table
}

// Place is where a form has an argument.
type Place struct {
	Arg    string
	Param  int    // index of the parameter, -1 if it is none
	Elem   int    // element of a variadic parameter, -1 for the parameter itself
	Field  string // field of the options, "" if it is none
	Negate bool   // the field says the opposite
	Fixed  string // the value that the argument always has, "" if it can be chosen
}

// Places reads Args.
func (f Form) Places() []Place {
	var places []Place
	for _, text := range strings.Fields(f.Args) {
		p := Place{Param: -1, Elem: -1}
		var where string
		p.Arg, where, _ = strings.Cut(text, "=")
		switch kind, rest := where[0], where[1:]; kind {
		case '#':
			param, elem, ok := strings.Cut(rest, ".")
			p.Param, _ = strconv.Atoi(param)
			if ok {
				p.Elem, _ = strconv.Atoi(elem)
			}
		case '.', '!':
			p.Field, p.Negate = rest, kind == '!'
		case ':':
			p.Fixed = rest
		}
		places = append(places, p)
	}
	return places
}

// Requires reports whether a call has to give what is at that place.
func (f Form) Requires(p Place) bool {
	typ := reflect.TypeOf(f.Func)
	return p.Param >= 0 && p.Elem < 0 && !(typ.IsVariadic() && p.Param == typ.NumIn()-1)
}

// Call runs the form with arguments by their names in the schema; what is not among them
// has its default. It returns the form's results, or an error if a value does not fit the
// form; what the operator throws it does not catch.
func (f Form) Call(args map[string]any) (out []any, err error) {
	f, args = f.given(args)
	fn := reflect.ValueOf(f.Func)
	c := call{in: make([]reflect.Value, fn.Type().NumIn()), typ: fn.Type()}
	for i := range c.in {
		c.in[i] = reflect.New(c.typ.In(i)).Elem()
	}
	left := len(args)
	for _, p := range f.Places() {
		v, ok := args[p.Arg]
		if !ok {
			continue
		}
		left--
		if err := c.put(p, v); err != nil {
			return nil, fmt.Errorf("%s: argument %s: %w", f.Op, p.Arg, err)
		}
	}
	if left > 0 {
		return nil, fmt.Errorf("%s has no argument of one of these names: %v", f.Op, args)
	}
	for _, r := range c.run(fn) {
		out = append(out, r.Interface())
	}
	return out, nil
}

// given is the form and the arguments that say the same without a number that is None.
func (f Form) given(args map[string]any) (Form, map[string]any) {
	args = maps.Clone(args)
	base, overload, _ := strings.Cut(f.Op, ".")
	switch stem := strings.TrimSuffix(base, "_"); {
	case stem == "clamp" || stem == "clip": // one bound alone
		for none, bound := range map[string]string{"min": "max", "max": "min"} {
			if v, ok := args[none]; (!ok || v == nil) && args[bound] != nil && overload == "" {
				delete(args, none)
				f, _ = Find("clamp_" + bound + base[len(stem):])
				return f, args
			}
		}
	case base == "norm": // the length
		if v, ok := args["p"]; ok && v == nil {
			args["p"] = 2
		}
	}
	return f, args
}

// call collects the parameters of one call.
type call struct {
	typ reflect.Type
	in  []reflect.Value
}

func (c *call) run(fn reflect.Value) []reflect.Value {
	if c.typ.IsVariadic() {
		return fn.CallSlice(c.in)
	}
	return fn.Call(c.in)
}

func (c *call) put(p Place, v any) error {
	switch {
	case p.Field != "":
		if p.Negate {
			b, ok := v.(bool)
			if !ok {
				return fmt.Errorf("expected a bool, got %T", v)
			}
			v = !b
		}
		return set(c.options().FieldByName(p.Field), v)
	case p.Param < 0:
		return fmt.Errorf("it is always %s here", p.Fixed)
	}
	param := c.in[p.Param]
	if c.typ.IsVariadic() && p.Param == len(c.in)-1 && !isList(v) {
		if p.Elem > param.Len() {
			return errors.New("the options before it must be given as well")
		}
		if v == nil {
			return nil
		}
		param.Set(reflect.Append(param, reflect.Zero(param.Type().Elem())))
		return set(param.Index(param.Len()-1), v)
	}
	return set(param, v)
}

func isList(v any) bool { return v != nil && reflect.TypeOf(v).Kind() == reflect.Slice }

// options is the options struct: the receiver of a factory, or the only element of the
// variadic parameter.
func (c *call) options() reflect.Value {
	if c.typ.In(0) == reflect.TypeFor[torch.TensorOptions]() {
		return c.in[0]
	}
	last := c.in[len(c.in)-1]
	if last.Len() == 0 {
		last.Set(reflect.Append(last, reflect.Zero(last.Type().Elem())))
	}
	return last.Index(0)
}

// set stores v in place, through a pointer where the form has one for "not given".
func set(place reflect.Value, v any) error {
	value := reflect.ValueOf(v)
	switch typ := place.Type(); {
	case v == nil && typ.Kind() == reflect.Int:
		return errors.New("an int stands for no None")
	case v == nil:
		place.SetZero()
	case value.Type().AssignableTo(typ):
		place.Set(value)
	case typ == reflect.TypeFor[torch.Reduction]() && value.Kind() == reflect.Int:
		codes := []torch.Reduction{torch.ReductionNone, torch.ReductionMean, torch.ReductionSum}
		if i := int(value.Int()); i >= 0 && i < len(codes) {
			place.Set(reflect.ValueOf(codes[i]))
			return nil
		}
		return fmt.Errorf("%v is not a reduction", v)
	case typ.Kind() == reflect.Pointer && value.Type().ConvertibleTo(typ.Elem()) && value.Kind() != reflect.String:
		p := reflect.New(typ.Elem())
		p.Elem().Set(value.Convert(typ.Elem()))
		place.Set(p)
	case typ.Kind() == reflect.Slice && value.Type() == reflect.TypeFor[[]any]():
		return setList(place, v.([]any))
	case typ == reflect.TypeFor[[]int]() && value.Kind() == reflect.Int:
		place.Set(reflect.ValueOf([]int{v.(int)}))
	case typ.Kind() == reflect.Float64 && value.Kind() == reflect.Int:
		place.SetFloat(float64(value.Int()))
	default:
		return fmt.Errorf("a %T does not fit a %v", v, typ)
	}
	return nil
}

// setList stores a list whose elements say by themselves what they are.
func setList(place reflect.Value, list []any) error {
	place.Set(reflect.MakeSlice(place.Type(), len(list), len(list)))
	for i, v := range list {
		if err := set(place.Index(i), v); err != nil {
			return err
		}
	}
	return nil
}
