package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Source says where the Go form takes an argument's value from.
type Source int

const (
	FromParam    Source = iota // a required parameter
	FromField                  // a field of the options struct
	FromVariadic               // the variadic parameter that holds the only option
	FromInts                   // one of several variadic ints
	FromTensor                 // dtype, layout, device, pin_memory of TensorOptions
	FromDefault                // nowhere: it always has the same value
	FromGiven                  // a required parameter for what the schema calls optional
)

// Slot is one argument on its way into the call.
type Slot struct {
	Arg
	Source Source
	Expr   string // the Go expression: x, o.Alpha, dims
	Index  int    // FromInts: which of them
	Of     int    // FromInts: of how many
	Negate bool   // the field says the opposite of the argument
}

// Field is one field of an options struct.
type Field struct{ Name, Type, Comment string }

// Param is one Go parameter.
type Param struct{ Name, Type string }

// Func is the Go form of an operator.
type Func struct {
	Op      *Op
	Symbol  string
	Recv    string // "x" for a method of Tensor, "o" for one of TensorOptions, "" for a function
	Params  []Param
	Slots   []Slot
	Fields  []Field // options that need a struct
	Options string  // the struct's name
	Tensor  bool    // takes ...TensorOptions
	Notes   []string
	Results []Param // names may be empty
	Twin    bool    // in place, with a form of the same name that is not
	extra   string  // an option that the form requires
	without string  // an option that the form leaves at its default
	plain   *Plain  // set where this is the form of it over dimensions
}

// factory reports a method of TensorOptions, which has a plain twin.
func (f *Func) factory() bool { return f.Recv == "o" }

// build works out a Go form of an operator; extra is an option that it requires, without one
// that it does not have.
func build(o *Op, symbol, extra, without string, t *Tables) (*Func, error) {
	f := &Func{Op: o, Symbol: symbol, extra: extra, without: without}
	if err := f.receiver(t); err != nil {
		return nil, err
	}
	optional, err := f.place(t)
	if err != nil {
		return nil, err
	}
	if err := f.options(optional, t); err != nil {
		return nil, err
	}
	if !t.Lists[f.Op.Name()] {
		f.variadicList()
	}
	if err := f.results(t); err != nil {
		return nil, err
	}
	return f, f.checkNames()
}

func (f *Func) receiver(t *Tables) error {
	o := f.Op
	takesTensor := slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Type.Base == "Tensor" })
	hasSelf := slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Name == "self" && a.Type.Key() == "Tensor" })
	listed := func(set map[string]bool) bool { return set[o.Name()] || set[o.Base] }
	switch {
	case o.Place == Public && o.quartet() && !takesTensor:
		f.Recv = "o"
	case o.Place != Public:
	case listed(t.AsMethod) && hasSelf, o.Method && hasSelf && !listed(t.AsFunc):
		f.Recv = "x"
	case listed(t.AsMethod), o.Method && !listed(t.AsFunc):
		return fmt.Errorf("%s: a method without a tensor self", o.Name())
	}
	return nil
}

// place gives each argument its source; it returns the slots that need an option.
func (f *Func) place(t *Tables) (optional []int, err error) {
	o := f.Op
	quartet := o.quartet()
	required := append([]string{f.extra}, lookup(t.Require, o)...)
	fixed, keyword := lookup(t.Fixed, o), lookup(t.Keyword, o)
	for i := 0; i < len(o.Args); i++ {
		a := o.Args[i]
		a.KwOnly = a.KwOnly || slices.Contains(keyword, a.Name)
		value, isFixed := fixed[a.Name]
		s := Slot{Arg: a}
		switch {
		case quartetAt(o.Args, i):
			s.Source, s.Expr = FromTensor, "o"
			i += len(quartetNames) - 1
		case quartet && a.HasDefault && (a.Type.Base == "MemoryFormat" || a.Type.Base == "Generator"):
			s.Source, s.Expr = FromField, "o."+t.camel(a.Name)
		case a.Name == f.without:
			s.Source = FromDefault
		case isFixed:
			s.Source, s.Default = FromDefault, cmp.Or(value, s.Default)
		case a.Name == "self" && f.Recv == "x":
			s.Expr = "x"
		case !a.HasDefault || slices.Contains(required, a.Name):
			if a.Type.Key() == "int?" && (a.Name == f.extra || o.Place != Aten) {
				s.Source = FromGiven
			}
			if err := f.param(&s, t); err != nil {
				return nil, err
			}
		default:
			optional = append(optional, len(f.Slots))
		}
		f.Slots = append(f.Slots, s)
	}
	f.Tensor = quartet && f.Recv != "o"
	return optional, nil
}

func (f *Func) param(s *Slot, t *Tables) error {
	typ, err := paramType(s.Arg)
	if s.Source == FromGiven {
		typ = "int"
	}
	s.Expr = t.lower(s.Name)
	f.Params = append(f.Params, Param{s.Expr, typ})
	return err
}

// options turns the optional arguments into the variadic tail of the signature.
func (f *Func) options(optional []int, t *Tables) error {
	switch {
	case len(optional) == 0:
	case f.Tensor: // TensorOptions is the tail already
		for _, i := range optional {
			if err := f.param(&f.Slots[i], t); err != nil {
				return err
			}
		}
	case f.allInts(optional):
		return f.variadicInts(optional, t)
	case len(optional) == 1 && (f.Recv == "o" || direct(f.Slots[optional[0]].Arg)):
		return f.variadicOne(&f.Slots[optional[0]], t)
	case f.Recv == "o":
		for _, i := range optional {
			if err := f.param(&f.Slots[i], t); err != nil {
				return err
			}
		}
	default:
		for _, i := range optional {
			if err := f.field(&f.Slots[i], t); err != nil {
				return err
			}
		}
	}
	return nil
}

// direct reports an option that reads well without its name: whole numbers and lists that
// PyTorch takes by position, and what its type names.
func direct(a Arg) bool {
	switch a.Type.Base {
	case "MemoryFormat", "Device":
		return true
	case "bool", "float", "Scalar", "str", "ScalarType", "Layout", "Generator":
		return a.Type.List && !a.KwOnly
	}
	return !a.KwOnly && !isReduction(a)
}

// allInts reports options that are all plain ints which PyTorch takes by position.
func (f *Func) allInts(optional []int) bool {
	for _, i := range optional {
		a := f.Slots[i].Arg
		if a.Type.Key() != "int" || a.KwOnly || isReduction(a) {
			return false
		}
	}
	return true
}

func (f *Func) variadicInts(optional []int, t *Tables) error {
	var names, notes []string
	for n, i := range optional {
		s := &f.Slots[i]
		name := t.lower(s.Name)
		names = append(names, t.camel(s.Name))
		notes = append(notes, fmt.Sprintf("%s (default %s)", name, s.Default))
		s.Source, s.Index, s.Of = FromInts, n, len(optional)
	}
	param := unexport(strings.Join(names, ""))
	if tail := lookup(t.Tails, f.Op); tail != "" {
		param = tail
	} else if len(names) == 1 {
		param = t.lower(f.Slots[optional[0]].Name)
	}
	for _, i := range optional {
		f.Slots[i].Expr = param
	}
	f.Params = append(f.Params, Param{param, "...int"})
	if len(names) == 1 {
		f.Notes = append(f.Notes, optionalNote(f.Slots[optional[0]].Arg, param))
	} else {
		f.Notes = append(f.Notes, "Optional, in this order: "+strings.Join(notes, ", ")+".")
	}
	return nil
}

func (f *Func) variadicOne(s *Slot, t *Tables) error {
	typ, err := fieldType(s.Arg)
	if err != nil {
		return err
	}
	s.Source, s.Expr = FromVariadic, t.lower(s.Name)
	elem := strings.TrimPrefix(strings.TrimPrefix(typ, "[]"), "*")
	if s.Type.Base == "Generator" {
		elem = typ
	}
	f.Params = append(f.Params, Param{s.Expr, "..." + elem})
	f.Notes = append(f.Notes, optionalNote(s.Arg, s.Expr))
	return nil
}

// optionalNote documents the only optional argument.
func optionalNote(a Arg, name string) string {
	if d := defaultText(a); d != "" && d != "empty" {
		return fmt.Sprintf("Optional: %s (default %s).", name, d)
	}
	return "Optional: " + name + "."
}

func (f *Func) field(s *Slot, t *Tables) error {
	typ, err := fieldType(s.Arg)
	if err != nil {
		return err
	}
	name := t.camel(s.Name)
	if s.Type.Key() == "bool" && s.Default == "True" {
		s.Negate = true
		name = t.inverted(s.Name)
	}
	s.Source, s.Expr = FromField, "o."+name
	f.Fields = append(f.Fields, Field{name, typ, t.fieldDoc(f.Op, s.Arg, s.Negate)})
	return nil
}

func (t *Tables) inverted(name string) string {
	if s, ok := t.Inverted[name]; ok {
		return s
	}
	return "No" + t.camel(name)
}

// variadicList makes a last required list variadic when nothing follows it.
func (f *Func) variadicList() {
	if len(f.Params) == 0 || f.Fields != nil || f.Tensor || strings.HasPrefix(f.last().Type, "...") {
		return
	}
	lists := 0
	for _, p := range f.Params {
		if strings.HasPrefix(p.Type, "[]") {
			lists++
		}
	}
	last := f.last()
	if lists == 1 && (last.Type == "[]int" || last.Type == "[]Tensor") {
		last.Type = "..." + last.Type[2:]
	}
}

func (f *Func) last() *Param { return &f.Params[len(f.Params)-1] }

func (f *Func) results(t *Tables) error {
	names := lookup(t.Results, f.Op)
	for i, r := range f.Op.Returns {
		if r.Type.Mutable { // one of the arguments
			continue
		}
		typ, ok := map[string]string{
			"Tensor": "Tensor", "Tensor[]": "[]Tensor", "bool": "bool", "int": "int",
			"float": "float64", "Scalar": "Scalar", "ScalarType": "DType",
		}[r.Type.Key()]
		if !ok {
			return fmt.Errorf("%s: results of type %s have no Go form", f.Op.Name(), r.Type.Key())
		}
		name := ""
		if r.Name != "" {
			name = t.lower(r.Name)
		}
		if i < len(names) {
			name = names[i]
		}
		f.Results = append(f.Results, Param{name, typ})
	}
	return nil
}

// reserved are the names that generated bodies use themselves, packages, and Go's own.
var reserved = strings.Fields(`
c o op how opts cgo torch given atMost optional optionalOr pointer intAt or code done break case chan const
continue default defer else fallthrough for func go goto if import interface map package range return select
struct switch type var any append bool byte cap clear close complex copy delete error false float32 float64
imag int int64 iota len make max min new nil panic print println real recover string true uint`)

func (f *Func) checkNames() error {
	seen := map[string]string{}
	if f.Recv != "" {
		seen[f.Recv] = "the receiver"
	}
	for _, p := range f.Params {
		if slices.Contains(reserved, p.Name) {
			return fmt.Errorf("%s: parameter %s needs another name (param line in names.txt)", f.Op.Name(), p.Name)
		}
		if err := take(seen, p.Name, "parameter of "+f.Op.Name()); err != nil {
			return err
		}
	}
	for _, r := range f.Results {
		if _, ok := seen[r.Name]; ok || slices.Contains(reserved, r.Name) {
			f.unnameResults()
			break
		}
	}
	return nil
}

func (f *Func) unnameResults() {
	for i := range f.Results {
		f.Results[i].Name = ""
	}
}
