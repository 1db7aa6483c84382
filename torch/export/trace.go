package export

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/frames"
	"github.com/libtorch-go/libtorch/torch"
)

// trace is what one run of a model called. Tensors are known by numbers.
type trace struct {
	tensors []torch.Tensor // by their numbers
	state   []int64        // the numbers of the model's own tensors
	inputs  []any          // the leaves of what was given
	outputs []any          // and of what came back
	outTree *TreeSpec
	numbers map[torch.Tensor]int64 // of the leaves
	calls   []called
}

// called is a call of an operator. Arguments and results are as [cgo.Call.Boxed] has them, but for tensors, which are
// tuples of their number; an argument that is its default is an empty tuple.
type called struct {
	name, overload string
	args, results  []any
	callers        []uintptr
}

// treeOf is how a value is nested, and its leaves in that order.
func treeOf(v any, where string) (*TreeSpec, []any, error) {
	var leaves []any
	switch v := v.(type) {
	case nil, torch.Tensor, bool, string, complex128:
		return &TreeSpec{}, []any{v}, nil
	case int:
		return &TreeSpec{}, []any{int64(v)}, nil
	case float64:
		return &TreeSpec{}, []any{v}, nil
	case float32:
		return &TreeSpec{}, []any{float64(v)}, nil
	}
	if m, ok := entries(v); ok {
		t := &TreeSpec{Type: typeDict, Keys: slices.Sorted(maps.Keys(m))}
		for _, key := range t.Keys {
			c, own, err := treeOf(m[key], fmt.Sprintf("%s[%q]", where, key))
			if err != nil {
				return nil, nil, err
			}
			t.Children, leaves = append(t.Children, c), append(leaves, own...)
		}
		return t, leaves, nil
	}
	list, ok := elements(v)
	t := &TreeSpec{Type: "builtins.list"}
	if r := reflect.ValueOf(v); !ok && r.Kind() == reflect.Struct {
		if list, ok = fields(r); ok {
			t.Type = typeTuple
		}
	}
	if !ok {
		return nil, nil, fmt.Errorf("%s is a %T, expected tensors, numbers, and lists, maps and structs of tensors", where, v)
	}
	for i, own := range list {
		c, more, err := treeOf(own, fmt.Sprintf("%s[%d]", where, i))
		if err != nil {
			return nil, nil, err
		}
		t.Children, leaves = append(t.Children, c), append(leaves, more...)
	}
	return t, leaves, nil
}

// fields are the tensors of a struct that has nothing else; those that are undefined are left out.
func fields(r reflect.Value) (list []any, ok bool) {
	for i := range r.NumField() {
		t, isTensor := reflect.TypeAssert[torch.Tensor](r.Field(i))
		if !r.Type().Field(i).IsExported() || !isTensor {
			return nil, false
		}
		if t.Defined() {
			list = append(list, t)
		}
	}
	return list, len(list) > 0
}

// forward is a model as a function of its inputs: the method Forward, which functions may have, too, or a function.
func forward(model any) (reflect.Value, error) {
	v := reflect.ValueOf(model)
	isFunc := v.Kind() == reflect.Func
	if v.IsValid() && !(isFunc && v.IsNil()) {
		if fn := v.MethodByName("Forward"); fn.IsValid() {
			return fn, nil
		}
		if isFunc {
			return v, nil
		}
	}
	return reflect.Value{}, fmt.Errorf("a %T is no function and has no method Forward", model)
}

// invoke calls a model and returns its result: a tuple if there are several. An error that the model returns last is the call's.
func invoke(fn reflect.Value, inputs []any) (tree *TreeSpec, leaves []any, err error) {
	typ := fn.Type()
	var in []reflect.Value
	for i, v := range inputs {
		var want reflect.Type
		switch {
		case typ.IsVariadic() && i >= typ.NumIn()-1:
			want = typ.In(typ.NumIn() - 1).Elem()
		case i < typ.NumIn():
			want = typ.In(i)
		default:
			return nil, nil, fmt.Errorf("%d inputs, but the model takes %d", len(inputs), typ.NumIn())
		}
		if v == nil {
			v = reflect.Zero(want).Interface()
		}
		own := reflect.ValueOf(v)
		if !own.IsValid() || !own.Type().AssignableTo(want) {
			return nil, nil, fmt.Errorf("input %d is a %T, but the model takes a %v", i, v, want)
		}
		in = append(in, own)
	}
	if len(in) < typ.NumIn() && !(typ.IsVariadic() && len(in) == typ.NumIn()-1) {
		return nil, nil, fmt.Errorf("%d inputs, but the model takes %d", len(inputs), typ.NumIn())
	}
	out := fn.Call(in)
	var results []any
	for _, v := range out {
		results = append(results, v.Interface())
	}
	if n := len(out); n > 0 && typ.Out(n-1) == reflect.TypeFor[error]() {
		if err, _ := results[n-1].(error); err != nil {
			return nil, nil, err
		}
		results = results[:n-1]
	}
	switch len(results) {
	case 0:
		return nil, nil, errors.New("the model returns nothing")
	case 1:
		return treeOf(results[0], "the result")
	}
	tree, leaves, err = treeOf(results, "the result")
	if err == nil {
		tree.Type = typeTuple
	}
	return tree, leaves, err
}

// Where calls are seen: as the model makes them, or as libtorch computes them, with what runs backwards.
const (
	aboveAutograd = false
	belowAutograd = true
)

// record runs a model and writes down what it calls. The tensors belong to the caller's scope.
func record(fn reflect.Value, state []torch.Tensor, inputs, leaves []any, level bool) (t *trace, err error) {
	t = &trace{inputs: leaves, numbers: map[torch.Tensor]int64{}}
	cgo.Traced(func() {
		broken := torch.Try(func() {
			var c cgo.Call
			c.Begin(cgo.OpEnterRecording)
			c.Bool(level)
			bridge.Within(&c, func() {
				if t.outTree, t.outputs, err = invoke(fn, inputs); err == nil {
					t.fetch(state)
				}
			})
		})
		var failed *torch.Error
		if errors.As(broken, &failed) {
			err = fmt.Errorf("%s: %w", frames.Place(failed.Callers), broken)
		}
	})
	return t, err
}

// fetch takes the records from C++.
func (t *trace) fetch(state []torch.Tensor) {
	known := slices.Clone(state)
	for _, v := range slices.Concat(t.inputs, t.outputs) {
		if own, ok := v.(torch.Tensor); ok && own.Defined() {
			known = append(known, own)
		}
	}
	var c cgo.Call
	c.Begin(cgo.OpRecorded)
	c.List(len(known))
	for _, own := range known {
		c.Tensor(bridge.Handle(own))
	}
	bridge.Done(&c)
	values := c.Boxed()
	for i, n := range values[0].([]any) {
		if i < len(state) {
			t.state = append(t.state, n.(int64))
		}
		t.numbers[known[i]] = n.(int64)
	}
	for _, h := range values[1].([]any) {
		t.tensors = append(t.tensors, bridge.Tensor[torch.Tensor](h.(*cgo.Handle)))
	}
	for _, v := range values[2].([]any) {
		list := v.([]any)
		own := called{name: list[0].(string), overload: list[1].(string), args: list[2].([]any), results: list[3].([]any)}
		for _, pc := range list[4].([]any) {
			own.callers = append(own.callers, uintptr(pc.(int64)))
		}
		t.calls = append(t.calls, own)
	}
}
