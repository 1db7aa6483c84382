package optim

import (
	"errors"
	"fmt"
	"math"
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

// place is where options have a pointer: a field, or an element of one.
type place struct {
	name           string
	field, element int
}

func (n place) in(options any) reflect.Value {
	v := reflect.ValueOf(options).Elem().Field(n.field)
	if v.Kind() == reflect.Array {
		return v.Index(n.element)
	}
	return v
}

// needed are the pointers that may not be nil: those with a default.
func needed(options any) (list []place) {
	for i, f := range fields(options) {
		switch v := f.at; {
		case v.Kind() == reflect.Pointer:
			list = append(list, place{name: f.name, field: i})
		case v.Kind() == reflect.Array && v.Type().Elem().Kind() == reflect.Pointer:
			for k, initial := range strings.Split(f.initial, ",") {
				if initial != "" {
					list = append(list, place{f.name, i, k})
				}
			}
		}
	}
	return list
}

// settled is a copy with the defaults filled in.
func settled[O any](o O) *O { return clone(&o).(*O) }

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

// set takes the value of a state dict. Python's None is one only where the default is None: for
// texts, for "fused", and for numbers whose tag names no default.
func (s setting) set(v any) error {
	if to := s.at; to.Kind() == reflect.Bool && (reflect.ValueOf(v).Kind() == reflect.Bool || v == nil && s.name == "fused") {
		to.SetBool((v != nil && reflect.ValueOf(v).Bool()) != s.opposite)
		return nil
	}
	if err := assign(s.at, v, s.initial); err != nil {
		return fmt.Errorf("%s is %s, expected %s", s.name, show(v), wanted(s.at.Type()))
	}
	return nil
}

// wanted is what a state dict may hold for a field of that type.
func wanted(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Int:
		return "an integer"
	case reflect.Array:
		return fmt.Sprintf("a list of %d numbers", t.Len())
	}
	return "a number"
}

var errUnfit = errors.New("the value does not fit")

func assign(to reflect.Value, v any, initial string) error {
	from := reflect.ValueOf(v)
	switch kind := to.Kind(); {
	case v == nil && (kind == reflect.String || kind == reflect.Pointer && initial == ""):
		to.SetZero()
		return nil
	case v == nil:
		return errUnfit
	case kind == reflect.Pointer:
		own := reflect.New(to.Type().Elem())
		to.Set(own)
		return assign(own.Elem(), v, initial)
	case kind == reflect.Array && (from.Kind() == reflect.Slice || from.Kind() == reflect.Array) && from.Len() == to.Len():
		parts := strings.Split(initial, ",")
		for i := range to.Len() {
			if err := assign(to.Index(i), from.Index(i).Interface(), parts[i]); err != nil {
				return err
			}
		}
		return nil
	case kind == reflect.String && from.Kind() == reflect.String,
		kind == reflect.Float64 && (from.CanFloat() || from.CanInt() || from.CanUint()),
		kind == reflect.Int && from.CanInt(),
		kind == reflect.Int && from.CanFloat() && from.Float() == math.Trunc(from.Float()) && math.Abs(from.Float()) < 1<<53:
		to.Set(from.Convert(to.Type()))
		return nil
	}
	return errUnfit
}

// Momentum points at the setting that cyclic schedules vary against the learning rate: a
// momentum, or the first beta. It is nil where there is neither.
func (g *Group) Momentum() *float64 {
	for _, f := range fields(g.Options) {
		switch {
		case f.name == "betas":
			return f.at.Elem().Index(0).Addr().Interface().(*float64)
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
