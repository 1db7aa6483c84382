package optim

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
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
	loaded, err := b.parse(d)
	if err != nil {
		return misfit(err)
	}
	b.Close()
	b.state = loaded.state
	for i, g := range b.groups {
		g.settle(loaded.groups[i])
	}
	return nil
}

func misfit(err error) error {
	return fmt.Errorf("optim: the state dict does not fit the optimizer: %w", err)
}

// settle takes over the settings of another group.
func (g *Group) settle(from *Group) {
	g.LR, g.InitialLR, g.Options = from.LR, from.InitialLR, from.Options
}

// parse reads a state dict into an optimizer of its own, and changes nothing. Where it fails
// it leaves nothing behind.
func (b *base) parse(d StateDict) (loaded base, err error) {
	loaded = newBase(b.name)
	broken := torch.Try(func() {
		torch.Scope(func() { err = b.read(d, &loaded) })
	})
	if err == nil {
		err = broken // a tensor that cannot be read: closed, without elements in memory
	}
	if err != nil {
		loaded.Close()
	}
	return loaded, err
}

func (b *base) read(d StateDict, loaded *base) error {
	groups, _ := asList(d["param_groups"])
	if len(groups) != len(b.groups) {
		return fmt.Errorf("loaded state dict has a different number of parameter groups: %d, expected %d", len(groups), len(b.groups))
	}
	states, ok := asDict(d["state"])
	if !ok {
		return errors.New("loaded state dict has no state")
	}
	seen := map[string]bool{}
	for i, g := range b.groups {
		group, _ := asDict(groups[i])
		numbers, _ := asList(group["params"])
		if len(numbers) != len(g.Params) {
			return fmt.Errorf("loaded state dict contains a parameter group that doesn't match the size of optimizer's group: group "+
				"%d has %d parameters, expected %d",
				i, len(numbers), len(g.Params))
		}
		copied, err := g.with(group)
		if err != nil {
			return fmt.Errorf("group %d: %w", i, err)
		}
		loaded.groups = append(loaded.groups, copied)
		for j, p := range g.Params {
			number, ok := keyText(reflect.ValueOf(numbers[j]))
			if !ok || seen[number] {
				return fmt.Errorf("group %d: params has %s, expected a number for each parameter, each once", i, show(numbers[j]))
			}
			seen[number] = true
			if err := loaded.adopt(copied, p, states[number]); err != nil {
				return fmt.Errorf("parameter %s: %w", number, err)
			}
		}
	}
	return nil
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
	if complaint := copied.Options.(settings).check(g.Params); complaint != "" {
		return nil, errors.New(complaint)
	}
	return copied, nil
}

// adopt copies the state tensors of a parameter, all or none.
func (b *base) adopt(g *Group, p torch.Tensor, dict any) error {
	state, ok := asDict(dict)
	if !ok && dict != nil {
		return fmt.Errorf("the state is %s, expected a map", show(dict))
	}
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
				own := born(slots[i], p, t, isFused(g.Options))
				b.state[p] = append(b.state[p], own) // before the copy, so that Close finds it where that fails
				own.CopyInPlace(t)
			}
		})
	})
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
			v = torch.FromValue(f.Convert(reflect.TypeFor[float64]()).Float())
		}
	case want == nil:
		want = p.Shape()
	}
	t, ok := v.(torch.Tensor)
	switch {
	case v == nil || ok && !t.Defined():
		return torch.Tensor{}, nil
	case !ok:
		return torch.Tensor{}, fmt.Errorf("%s is %s, expected a tensor", s.name, show(v))
	case t.Layout() != torch.Strided && !(s.follows && t.Layout() == torch.Sparse):
		return torch.Tensor{}, fmt.Errorf("%s is a %s, expected a dense tensor", s.name, show(t))
	case t.Device().Type() == torch.DeviceMeta:
		return torch.Tensor{}, fmt.Errorf("%s is a %s on the meta device, expected one that has values", s.name, show(t))
	case !slices.Equal(t.Shape(), want):
		return torch.Tensor{}, fmt.Errorf("%s has shape %v, expected %v", s.name, t.Shape(), want)
	case t.IsComplex() && (s.form != elements || !p.IsComplex()):
		return torch.Tensor{}, fmt.Errorf("%s is a %s, expected real numbers", s.name, show(t))
	}
	if s.name == stepCount {
		if n := t.Float64(); !(n >= 0 && n <= math.MaxInt32) {
			return torch.Tensor{}, fmt.Errorf("step is %v, expected a number of steps", n)
		}
	}
	return t, nil
}

// show names a value in an error: a tensor may be closed, anything else long.
func show(v any) string {
	if t, ok := v.(torch.Tensor); ok {
		var text string
		if err := torch.Try(func() {
			text = fmt.Sprintf("tensor of dtype %v, layout %v and shape %v", t.DType(), t.Layout(), t.Shape())
		}); err != nil {
			return "tensor that cannot be read"
		}
		return text
	}
	const most = 60
	switch kind := reflect.ValueOf(v).Kind(); kind {
	case reflect.Invalid:
		return "nil"
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct, reflect.Pointer, reflect.Func, reflect.Chan:
		return fmt.Sprintf("a %T", v)
	}
	text := fmt.Sprint(v)
	if len(text) > most {
		text = text[:most] + "…"
	}
	return fmt.Sprintf("%s (%T)", text, v)
}

// asDict reads any map whose keys are texts or numbers, the keys as text.
func asDict(v any) (map[string]any, bool) {
	from := reflect.ValueOf(v)
	if from.Kind() != reflect.Map {
		return nil, false
	}
	dict := make(map[string]any, from.Len())
	for it := from.MapRange(); it.Next(); {
		if text, ok := keyText(it.Key()); ok {
			dict[text] = it.Value().Interface()
		}
	}
	return dict, true
}

// keyText is a text, or an integer as text. Numbers from JSON are floats.
func keyText(v reflect.Value) (string, bool) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.String:
		return v.String(), true
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), true
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10), true
	case v.CanFloat() && v.Float() == math.Trunc(v.Float()) && math.Abs(v.Float()) < 1<<53:
		return strconv.FormatInt(int64(v.Float()), 10), true
	}
	return "", false
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
