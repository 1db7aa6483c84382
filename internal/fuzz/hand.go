package fuzz

import (
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// handParts are the parts beside operators: what Go wrote by hand.
func handParts() []*part {
	return []*part{
		{name: "functional", share: 0.06, targets: functions(functional)},
		{name: "modules", share: 0.05, targets: modules(layers)},
		{name: "optimizers", share: 0.03, targets: optimizers()},
		{name: "tensors", share: 0.04, targets: append(functions(byHand), functions(tools)...)},
		{name: "edges", share: 0.02, targets: append(functions(edges), loaders())},
	}
}

// named is the name of a function as a program writes it, without the package's path.
func named(fn any) string {
	name := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	name = name[strings.LastIndexByte(name, '/')+1:]
	return strings.NewReplacer("functional.", "F.", "[...]", "").Replace(name)
}

// functions are targets with the arguments a0, a1 and the fields of their options.
func functions(list []any) (targets []*target) {
	for _, f := range list {
		e, ok := f.(entry)
		if !ok {
			e = entry{named(f), f}
		}
		name, f := e.name, e.fn
		fn := ofFunc(f, "")
		targets = append(targets, &target{name: name, call: fn.call, fn: &fn, params: fn.hints(), samples: readSamples()[name], writes: true})
	}
	return targets
}

// entry is a function with a name of ours.
type entry struct {
	name string
	fn   any
}

// modules are constructors, or structs that are modules as they are: the arguments of the
// former are c.a0 and so on, those of Forward f.a0 and so on.
func modules(list []any) (targets []*target) {
	for _, l := range list {
		v := reflect.ValueOf(l)
		var made function
		var name string
		typ := v.Type()
		if v.Kind() == reflect.Func {
			made, name, typ = ofFunc(l, "c."), named(l), typ.Out(0)
		} else {
			made, name = ofStruct(typ), "nn."+typ.Name()
		}
		method, ok := typ.MethodByName("Forward")
		if !ok {
			continue
		}
		forward := ofFunc(method.Func.Interface(), "f.")
		forward.params = forward.params[1:] // the receiver
		forward = forward.index()
		t := &target{name: name, params: append(made.hints(), forward.hints()...), samples: readSamples()[name]}
		t.call = func(m *maker, args []Arg) []any { return forwarded(m, made, forward, args) }
		targets = append(targets, t)
	}
	return targets
}

func forwarded(m *maker, made, forward function, args []Arg) []any {
	module := made.values(m, patient(args))[0]
	m.later(func() { closeModule(module.Interface()) })
	m.leaves = append(m.leaves, leavesOf(module.Interface())...)
	forward.receiver = module
	return forward.call(m, args)
}

// patient bounds what takes its time because it was asked for: one layer after the other, and
// widths for which there would be memory.
func patient(args []Arg) []Arg {
	args = slices.Clone(args)
	for i, a := range args {
		n, ok := a.Value.(int64)
		most := int64(1 << 11)
		if strings.HasSuffix(a.Name, "Layers") {
			most = 64
		}
		if ok && n > most && n < 1<<30 {
			args[i].Value = most
		}
	}
	return args
}

// closeModule frees a module's tensors, which outlive scopes.
func closeModule(m any) { _ = torch.Try(func() { nn.Close(m) }) }

func leavesOf(m any) (list []torch.Tensor) {
	_ = torch.Try(func() {
		for _, p := range nn.Parameters(m) {
			if p.Defined() && !p.Closed() && p.RequiresGrad() {
				list = append(list, p)
			}
		}
	})
	return list
}

// ofStruct is the function that makes a struct of its exported fields.
func ofStruct(typ reflect.Type) function {
	in := []reflect.Type{}
	f := function{}
	var fields []int
	for i := range typ.NumField() {
		if field := typ.Field(i); field.IsExported() && !field.Anonymous {
			f.params = append(f.params, place{name: "c." + field.Name, param: len(in), elem: -1, typ: field.Type})
			in, fields = append(in, field.Type), append(fields, i)
		}
	}
	f.fn = reflect.MakeFunc(reflect.FuncOf(in, []reflect.Type{typ}, false), func(args []reflect.Value) []reflect.Value {
		v := reflect.New(typ).Elem()
		for k, i := range fields {
			v.Field(i).Set(args[k])
		}
		return []reflect.Value{v}
	})
	return f.index()
}
