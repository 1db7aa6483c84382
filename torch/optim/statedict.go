package optim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

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

// setting is one entry of a group in a state dict: a pointer to a float64, a bool or a
// [2]float64.
type setting struct {
	name string
	at   any
}

func (s setting) get() any { return reflect.ValueOf(s.at).Elem().Interface() }

// set takes a value of a state dict; Python's numbers may be ints where floats are meant.
func (s setting) set(v any) error {
	to, from := reflect.ValueOf(s.at).Elem(), reflect.ValueOf(v)
	switch {
	case !from.IsValid():
	case to.Kind() == reflect.Array && (from.Kind() == reflect.Slice || from.Kind() == reflect.Array) && from.Len() == to.Len():
		for i := range to.Len() {
			if err := (setting{s.name, to.Index(i).Addr().Interface()}).set(from.Index(i).Interface()); err != nil {
				return err
			}
		}
		return nil
	case to.Kind() == reflect.Bool && from.Kind() == reflect.Bool, to.Kind() == reflect.Float64 && (from.CanFloat() || from.CanInt()):
		to.Set(from.Convert(to.Type()))
		return nil
	}
	return fmt.Errorf("%s is %v (%T), expected %v", s.name, v, v, to.Type())
}

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
		for _, f := range g.Options.(settings).fields() {
			group[f.name] = f.get()
		}
		numbers := make([]int, len(g.Params))
		for i, p := range g.Params {
			numbers[i] = n
			if tensors, kinds := b.state[p], g.Options.(settings).kinds(); len(kinds) > 0 && len(tensors) == len(kinds) {
				state[n] = map[string]any{}
				for i, kind := range kinds {
					state[n][kind] = tensors[i]
				}
			}
			n++
		}
		group["params"] = numbers
		groups = append(groups, group)
	}
	return StateDict{"state": state, "param_groups": groups}
}

// LoadStateDict implements [Optimizer].
func (b *base) LoadStateDict(d StateDict) error {
	loaded, err := b.parse(d)
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
	loaded = newBase(b.name, b.fixed)
	groups, ok := asList(d["param_groups"])
	if !ok || len(groups) != len(b.groups) {
		return loaded, fmt.Errorf("expected %d param_groups, got %d", len(b.groups), len(groups))
	}
	states, ok := asDict(d["state"])
	if !ok {
		return loaded, fmt.Errorf("it has no state")
	}
	for i, g := range b.groups {
		group, _ := asDict(groups[i])
		numbers, _ := asList(group["params"])
		if len(numbers) != len(g.Params) {
			return loaded, fmt.Errorf("group %d has %d parameters, expected %d", i, len(numbers), len(g.Params))
		}
		copied, err := g.with(group)
		if err != nil {
			return loaded, fmt.Errorf("group %d: %w", i, err)
		}
		loaded.groups = append(loaded.groups, copied)
		for j, p := range g.Params {
			state, _ := asDict(states[fmt.Sprint(numbers[j])])
			if err := loaded.adopt(p, state, copied.Options.(settings).kinds()); err != nil {
				loaded.Close()
				return loaded, fmt.Errorf("parameter %v: %w", numbers[j], err)
			}
		}
	}
	return loaded, nil
}

// with is a copy of the group's settings with those of a state dict.
func (g *Group) with(dict map[string]any) (*Group, error) {
	options := g.Options.(settings).clone()
	copied := &Group{LR: g.LR, InitialLR: g.InitialLR, Options: options}
	fields := append([]setting{{"lr", &copied.LR}, {"initial_lr", &copied.InitialLR}}, options.fields()...)
	for _, f := range fields {
		if v, ok := dict[f.name]; ok {
			if err := f.set(v); err != nil {
				return nil, err
			}
		}
	}
	return copied, nil
}

// adopt copies the state tensors of a parameter, all or none.
func (b *base) adopt(p torch.Tensor, state map[string]any, kinds []string) error {
	var list []torch.Tensor
	for _, kind := range kinds {
		switch t, _ := state[kind].(torch.Tensor); {
		case t.Defined() && (t.Dim() == 0 || slices.Equal(t.Shape(), p.Shape())):
			list = append(list, t)
		case t.Defined():
			return fmt.Errorf("%s has shape %v, expected %v", kind, t.Shape(), p.Shape())
		case len(list) > 0:
			return fmt.Errorf("%s is missing", kind)
		}
	}
	if len(list) == 0 {
		return nil
	}
	torch.Unscoped(func() {
		torch.NoGrad(func() {
			for i, t := range list {
				list[i] = inFormOf(p, kinds[i], t)
			}
		})
	})
	b.state[p] = list
	return nil
}

// inFormOf is a copy of a state tensor: a count of steps as float32, all else with the dtype
// and the strides of the parameter, whose elements the kernels visit in the order of memory.
func inFormOf(p torch.Tensor, kind string, t torch.Tensor) torch.Tensor {
	if kind == stepCount {
		return t.To(torch.Float32, p.Device(), torch.Copy)
	}
	return torch.EmptyLike(p).CopyInPlace(t)
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
