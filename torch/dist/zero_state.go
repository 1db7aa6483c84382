package dist

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// entry describes a part of an optimizer's state: a tensor, or a number.
type entry struct {
	Param  int // number in the state dict
	Name   string
	Number any
	DType  string // empty for a number
	Shape  []int
}

// described are the entries of a state, in an order.
func described(state map[int]map[string]any) (list []entry) {
	for n, slots := range state {
		for name, v := range slots {
			e := entry{Param: n, Name: name}
			if t, ok := v.(torch.Tensor); ok {
				e.DType, e.Shape = t.DType().String(), t.Shape()
			} else {
				e.Number = v
			}
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(a.Param, b.Param), cmp.Compare(a.Name, b.Name)) })
	return list
}

// carry brings an entry from its rank into the state of another. Tensors travel as bytes, because gloo does not take all dtypes.
func (z *ZeRO) carry(ctx context.Context, e entry, state map[int]map[string]any, from, to int) (err error) {
	if from == to || z.g.rank != from && z.g.rank != to {
		return nil
	}
	defer torch.Recover(&err)
	if z.g.rank == from {
		torch.Scope(func() {
			if t, ok := state[e.Param][e.Name].(torch.Tensor); ok && t.NumEl() > 0 {
				err = z.g.Send(t.Detach().To(z.g.device()).Reshape(-1).ViewDType(torch.Uint8), to).Wait(ctx)
			}
		})
		return err
	}
	if state[e.Param] == nil {
		state[e.Param] = map[string]any{}
	}
	if e.DType == "" {
		state[e.Param][e.Name] = e.Number
		if n, ok := e.Number.(float64); ok && n == math.Trunc(n) { // JSON has no integers
			state[e.Param][e.Name] = int(n)
		}
		return nil
	}
	dtype, err := torch.ParseDType(e.DType)
	if err != nil {
		return err
	}
	var t torch.Tensor
	torch.Unscoped(func() { t = torch.TensorOptions{DType: dtype}.Empty(e.Shape...) })
	z.received = append(z.received, t)
	state[e.Param][e.Name] = t
	if t.NumEl() == 0 {
		return nil
	}
	torch.Scope(func() {
		bytes := t.View(-1).ViewDType(torch.Uint8)
		there := bytes.To(z.g.device())
		if err = z.g.Recv(there, from).Wait(ctx); err == nil && there.Device() != bytes.Device() {
			bytes.CopyInPlace(there)
		}
	})
	return err
}

// LoadStateDict implements [optim.Optimizer]: all ranks load the state of all, which [ZeRO.StateDict], an optimizer that is not divided,
// or Python made on any number of ranks. Each copies its own part.
func (z *ZeRO) LoadStateDict(d optim.StateDict) (err error) {
	defer torch.Recover(&err)
	z.divide()
	own := map[string]any{}
	for name, v := range d {
		own[name] = v
	}
	if state := reflect.ValueOf(d["state"]); state.Kind() == reflect.Map {
		mine, part := z.mine(d["param_groups"]), map[string]any{}
		for at := state.MapRange(); at.Next(); {
			if number := fmt.Sprint(at.Key()); mine[number] {
				part[number] = at.Value().Interface()
			}
		}
		own["state"] = part
	}
	if err := z.opt.LoadStateDict(own); err != nil {
		return err
	}
	z.forget()
	return nil
}

// mine are the numbers that the groups of a state dict have for this rank's parameters. What the groups lack the optimizer will say.
func (z *ZeRO) mine(groups any) map[string]bool {
	set, n := map[string]bool{}, 0
	for _, group := range elements(groups) {
		g := reflect.ValueOf(group)
		if g.Kind() != reflect.Map || g.Type().Key().Kind() != reflect.String {
			continue
		}
		numbers := g.MapIndex(reflect.ValueOf("params").Convert(g.Type().Key()))
		if !numbers.IsValid() {
			continue
		}
		for _, number := range elements(numbers.Interface()) {
			if n < len(z.owners) && z.owners[n] == z.g.rank {
				set[fmt.Sprint(number)] = true
			}
			n++
		}
	}
	return set
}

// elements are those of any slice.
func elements(v any) (list []any) {
	from := reflect.ValueOf(v)
	if from.Kind() != reflect.Slice && from.Kind() != reflect.Array {
		return nil
	}
	for i := range from.Len() {
		list = append(list, from.Index(i).Interface())
	}
	return list
}
