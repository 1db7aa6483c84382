package optim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// StateDict is the state of an optimizer in PyTorch's layout:
//
//	{"state":        {0: {"momentum_buffer": tensor, …}, 1: …},
//	 "param_groups": [{"lr": 0.1, "momentum": 0.9, …, "params": [0, 1, …]}, …]}
//
// Parameters are numbered through all groups. StateDict methods return the types
// map[int]map[string]any and []map[string]any; LoadStateDict takes any maps and slices of
// that form, with any kind of numbers.
type StateDict = map[string]any

// StateDict implements [Optimizer].
func (b *base) StateDict() StateDict {
	state := map[int]map[string]any{}
	var groups []map[string]any
	n := 0
	for _, g := range b.groups {
		group := maps.Clone(b.fixed)
		group["lr"] = g.LR
		if g.InitialLR != 0 {
			group["initial_lr"] = g.InitialLR
		}
		for _, f := range fields(g.Options) {
			group[f.name] = f.get()
		}
		numbers := make([]int, len(g.Params))
		for i, p := range g.Params {
			numbers[i] = n
			if tensors, slots := b.state[p], g.Options.(settings).slots(p, g.LR); len(slots) > 0 && len(tensors) == len(slots) {
				state[n] = entries(slots, tensors)
			}
			n++
		}
		group["params"] = numbers
		groups = append(groups, group)
	}
	return StateDict{"state": state, "param_groups": groups}
}

// entries are the state tensors of a parameter by name.
func entries(slots []slot, tensors []torch.Tensor) map[string]any {
	dict := map[string]any{}
	for i, s := range slots {
		if dict[s.name] = tensors[i]; s.form == count {
			dict[s.name] = int(tensors[i].Float64())
		}
	}
	return dict
}

// LoadStateDict implements [Optimizer].
func (b *base) LoadStateDict(d StateDict) error {
	var loaded base
	var err error
	torch.Scope(func() { loaded, err = b.parse(d) })
	if err != nil {
		return fmt.Errorf("optim: the state dict does not fit the optimizer: %w", err)
	}
	b.Close()
	b.state = loaded.state
	for i, g := range b.groups {
		from := loaded.groups[i]
		g.LR, g.InitialLR, g.Options = from.LR, from.InitialLR, from.Options
	}
	return nil
}

// parse reads a state dict into an optimizer of its own, and changes nothing.
func (b *base) parse(d StateDict) (loaded base, err error) {
	loaded = newBase(b.name)
	groups, _ := asList(d["param_groups"])
	if len(groups) != len(b.groups) {
		return loaded, fmt.Errorf("loaded state dict has a different number of parameter groups: %d, expected %d", len(groups), len(b.groups))
	}
	states, ok := asDict(d["state"])
	if !ok {
		return loaded, fmt.Errorf("loaded state dict has no state")
	}
	for i, g := range b.groups {
		group, _ := asDict(groups[i])
		numbers, _ := asList(group["params"])
		if len(numbers) != len(g.Params) {
			return loaded, fmt.Errorf("loaded state dict contains a parameter group that doesn't match the size of optimizer's group: group %d has %d parameters, expected %d",
				i, len(numbers), len(g.Params))
		}
		copied, err := g.with(group)
		if err != nil {
			return loaded, fmt.Errorf("group %d: %w", i, err)
		}
		loaded.groups = append(loaded.groups, copied)
		for j, p := range g.Params {
			state, _ := asDict(states[fmt.Sprint(numbers[j])])
			if err := loaded.adopt(copied, p, state); err != nil {
				loaded.Close()
				return loaded, fmt.Errorf("parameter %v: %w", numbers[j], err)
			}
		}
	}
	return loaded, nil
}

// with is a copy of the group's settings with those of a state dict.
func (g *Group) with(dict map[string]any) (*Group, error) {
	copied := &Group{LR: g.LR, InitialLR: g.InitialLR, Options: clone(g.Options)}
	own := reflect.ValueOf(copied).Elem()
	rates := []setting{{name: "lr", at: own.FieldByName("LR")}, {name: "initial_lr", at: own.FieldByName("InitialLR")}}
	for _, f := range append(rates, fields(copied.Options)...) {
		if v, ok := dict[f.name]; ok {
			if err := f.set(v); err != nil {
				return nil, err
			}
		}
	}
	return copied, nil
}

// adopt copies the state tensors of a parameter, all or none.
func (b *base) adopt(g *Group, p torch.Tensor, state map[string]any) error {
	slots := g.Options.(settings).slots(p, g.LR)
	list, missing := make([]torch.Tensor, len(slots)), []string{}
	for i, s := range slots {
		t, err := s.read(state[s.name], p)
		if err != nil {
			return err
		}
		if list[i] = t; !t.Defined() {
			missing = append(missing, s.name)
		}
	}
	switch len(missing) {
	case 0:
	case len(slots):
		return nil
	default:
		return fmt.Errorf("%s is missing", strings.Join(missing, ", "))
	}
	torch.Unscoped(func() {
		torch.NoGrad(func() {
			for i, t := range list {
				// Kernels visit elements in the order of memory: the copy has the parameter's strides.
				list[i] = born(slots[i], p, isFused(g.Options))
				list[i].CopyInPlace(t)
			}
		})
	})
	b.state[p] = list
	return nil
}

// read is the tensor that a state dict has for a slot, undefined where it has none. A number
// may be one of Python's.
func (s slot) read(v any, p torch.Tensor) (torch.Tensor, error) {
	want := s.shape
	switch {
	case s.form != elements:
		want = []int{}
		if f := reflect.ValueOf(v); f.CanInt() || f.CanFloat() {
			return torch.FromValue(f.Convert(reflect.TypeFor[float64]()).Float()), nil
		}
	case want == nil:
		want = p.Shape()
	}
	t, ok := v.(torch.Tensor)
	switch {
	case v == nil || ok && !t.Defined():
		return torch.Tensor{}, nil
	case !ok:
		return torch.Tensor{}, fmt.Errorf("%s is %v (%T), expected a tensor", s.name, v, v)
	case !slices.Equal(t.Shape(), want):
		return torch.Tensor{}, fmt.Errorf("%s has shape %v, expected %v", s.name, t.Shape(), want)
	}
	return t, nil
}

// asDict reads any map, its keys as text.
func asDict(v any) (map[string]any, bool) {
	from := reflect.ValueOf(v)
	if from.Kind() != reflect.Map {
		return nil, false
	}
	dict := make(map[string]any, from.Len())
	for it := from.MapRange(); it.Next(); {
		dict[fmt.Sprint(it.Key().Interface())] = it.Value().Interface()
	}
	return dict, true
}

// asList reads any slice or array.
func asList(v any) ([]any, bool) {
	from := reflect.ValueOf(v)
	if from.Kind() != reflect.Slice && from.Kind() != reflect.Array {
		return nil, false
	}
	list := make([]any, from.Len())
	for i := range list {
		list[i] = from.Index(i).Interface()
	}
	return list, true
}
