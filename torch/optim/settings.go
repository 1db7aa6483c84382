package optim

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
)

// settings are a pointer to the options struct of an optimizer. The tags of its fields are
// all that state dicts, defaults and printing need to know:
//
//	torch:"eps"      PyTorch's name; !name holds the opposite there
//	default:"1e-8"   what nil, or the zero value, stands for; of arrays, one for each element
type settings interface {
	// slots are the state tensors that a parameter needs with these settings.
	slots(param torch.Tensor, lr float64) []slot
	// check says what is wrong with the settings, or with parameters under them, or "".
	check(params []torch.Tensor) string
}

// fusible are settings that choose between libtorch's fused kernel and separate operators.
type fusible interface{ fused() bool }

func isFused(o any) bool {
	f, ok := o.(fusible)
	return ok && f.fused()
}

// picky are settings that look at the layout of gradients; others want them dense. They
// return a complaint or "".
type picky interface{ complain(sparse bool) string }

// setting is a field of an options struct.
type setting struct {
	name     string
	opposite bool // a state dict holds the negated bool
	initial  string
	at       reflect.Value
}

func fields(options any) (list []setting) {
	v := reflect.ValueOf(options).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name, opposite := strings.CutPrefix(tag.Get("torch"), "!")
		list = append(list, setting{name, opposite, tag.Get("default"), v.Field(i)})
	}
	return list
}

// settled is a copy with the defaults filled in, for nil too.
func settled[O any](o *O) *O {
	if o == nil {
		o = new(O)
	}
	return clone(o).(*O)
}

func clone(options any) any {
	from := reflect.ValueOf(options).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	for _, f := range fields(to.Interface()) {
		settle(f.at, f.initial)
	}
	return to.Interface()
}

// settle makes pointers the copy's own and gives what is not set its initial value.
func settle(v reflect.Value, initial string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() && initial == "" {
			return
		}
		own := reflect.New(v.Type().Elem())
		if v.IsNil() {
			settle(own.Elem(), initial)
		} else {
			own.Elem().Set(v.Elem())
		}
		v.Set(own)
	case reflect.Array:
		if v.Type().Elem().Kind() != reflect.Pointer && !v.IsZero() {
			return
		}
		for i, part := range strings.Split(initial, ",") {
			settle(v.Index(i), part)
		}
	case reflect.Float64, reflect.Int:
		if v.IsZero() && initial != "" {
			f, err := strconv.ParseFloat(initial, 64)
			if err != nil {
				panic(err)
			}
			v.Set(reflect.ValueOf(f).Convert(v.Type()))
		}
	}
}

// get is the value as a state dict holds it: nil for None.
func (s setting) get() any { return plain(s.at, s.opposite) }

func plain(v reflect.Value, opposite bool) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem(), opposite)
	case reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i), false)
		}
		return list
	case reflect.Bool:
		return v.Bool() != opposite
	case reflect.String:
		if v.Len() == 0 {
			return nil
		}
	}
	return v.Interface()
}

// set takes a value of a state dict; Python's numbers may be ints where floats are meant,
// and None where a bool is.
func (s setting) set(v any) error {
	if to := s.at; to.Kind() == reflect.Bool && (v == nil || reflect.TypeOf(v).Kind() == reflect.Bool) {
		to.SetBool((v == true) != s.opposite)
		return nil
	}
	if err := assign(s.at, v); err != nil {
		return fmt.Errorf("%s is %v (%T), expected %v", s.name, v, v, s.at.Type())
	}
	return nil
}

func assign(to reflect.Value, v any) error {
	from := reflect.ValueOf(v)
	switch kind := to.Kind(); {
	case kind == reflect.Pointer && v == nil, kind == reflect.String && v == nil:
		to.SetZero()
		return nil
	case kind == reflect.Pointer:
		own := reflect.New(to.Type().Elem())
		to.Set(own)
		return assign(own.Elem(), v)
	case kind == reflect.Array && (from.Kind() == reflect.Slice || from.Kind() == reflect.Array) && from.Len() == to.Len():
		for i := range to.Len() {
			if err := assign(to.Index(i), from.Index(i).Interface()); err != nil {
				return err
			}
		}
		return nil
	case v == nil:
	case kind == reflect.String && from.Kind() == reflect.String, kind == reflect.Float64 && (from.CanFloat() || from.CanInt()),
		kind == reflect.Int && (from.CanInt() || from.CanFloat() && from.Float() == float64(int(from.Float()))):
		to.Set(from.Convert(to.Type()))
		return nil
	}
	return fmt.Errorf("%v does not fit", v)
}

// Momentum points at the setting that cyclic schedules vary against the learning rate: a
// momentum, or the first beta. It is nil where there is neither.
func (g *Group) Momentum() *float64 {
	for _, f := range fields(g.Options) {
		switch {
		case f.name == "betas":
			return f.at.Index(0).Addr().Interface().(*float64)
		case f.name == "momentum" && f.at.Kind() == reflect.Pointer:
			return f.at.Interface().(*float64)
		case f.name == "momentum":
			return f.at.Addr().Interface().(*float64)
		}
	}
	return nil
}

// invalid is PyTorch's complaint about a value, or "" where it is ok.
func invalid(ok bool, what string, values ...float64) string {
	if ok {
		return ""
	}
	text := make([]string, len(values))
	for i, v := range values {
		text[i] = pytext.Float(v)
	}
	return "Invalid " + what + ": " + strings.Join(text, ", ")
}

// negative complains about values below 0 and NaN.
func negative(what string, v float64) string { return invalid(v >= 0, what+" value", v) }

func invalidBetas(betas [2]float64) string {
	for i, b := range betas {
		if !(b >= 0 && b < 1) {
			return invalid(false, fmt.Sprintf("beta parameter at index %d", i), b)
		}
	}
	return ""
}
