package data

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// StackNested joins samples of any type that holds tensors, in structures, maps, slices, arrays and pointers: each tensor of the
// batch is the stack, along a new first dimension, of the samples' tensors in that place. What is not a tensor has to be equal in
// all samples, and is so in the batch. It is the join of [Collate] for samples that [Stack] does not
// know, like PyTorch's default_collate.
//
//	type pair struct{ Question, Answer map[string]torch.Tensor }
//	source := data.Collate(pairs, data.StackNested[pair])
func StackNested[S any](samples []S, _ []int, _ *rand.Rand) (batch S, err error) {
	values := make([]reflect.Value, len(samples))
	for k := range samples {
		values[k] = reflect.ValueOf(&samples[k]).Elem()
	}
	if len(values) == 0 {
		return batch, nil
	}
	joined, err := joinValues("sample", values)
	if err != nil {
		return batch, fmt.Errorf("data: %w", err)
	}
	return joined.Interface().(S), nil
}

// joinValues joins values of one type that stand in the same place, which has a name.
func joinValues(place string, values []reflect.Value) (reflect.Value, error) {
	first := values[0]
	joined := reflect.New(first.Type()).Elem()
	if first.Type() == tensorType {
		tensors := make([]torch.Tensor, len(values))
		for k, v := range values {
			tensors[k] = v.Interface().(torch.Tensor)
		}
		joined.Set(reflect.ValueOf(torch.Stack(tensors)))
		return joined, nil
	}
	joined.Set(first)
	if holds, _ := survey(first.Type(), map[reflect.Type]bool{}); !holds && first.Kind() != reflect.Interface {
		for k, v := range values {
			if !reflect.DeepEqual(v.Interface(), first.Interface()) {
				return joined, fmt.Errorf("%s is no tensor and differs: it is %v in the first sample, %v in number %d", place, first, v, k)
			}
		}
		return joined, nil
	}
	return joined, joinWithin(place, joined, values)
}

// joinWithin joins what values hold, into joined, which is a copy of the first.
func joinWithin(place string, joined reflect.Value, values []reflect.Value) error {
	part := func(name string, of func(reflect.Value) reflect.Value) (reflect.Value, error) {
		parts := make([]reflect.Value, len(values))
		for k, v := range values {
			if parts[k] = of(v); !parts[k].IsValid() {
				return parts[k], fmt.Errorf("%s is in the first sample and not in number %d", name, k)
			}
		}
		return joinValues(name, parts)
	}
	switch joined.Kind() {
	case reflect.Struct:
		for i := range joined.NumField() {
			field := joined.Type().Field(i)
			if !field.IsExported() {
				continue // without tensors: the loader refuses others
			}
			v, err := part(place+"."+field.Name, func(v reflect.Value) reflect.Value { return v.Field(i) })
			if err != nil {
				return err
			}
			joined.Field(i).Set(v)
		}
	case reflect.Array, reflect.Slice:
		return joinElements(place, joined, values, part)
	case reflect.Map:
		return joinEntries(place, joined, values, part)
	case reflect.Pointer, reflect.Interface:
		if joined.IsNil() {
			return allNil(place, values)
		}
		v, err := part(place, inside(joined.Elem().Type()))
		if err != nil {
			return err
		}
		if joined.Kind() == reflect.Pointer {
			joined.Set(v.Addr())
		} else {
			joined.Set(v)
		}
	}
	return nil
}

type parting = func(name string, of func(reflect.Value) reflect.Value) (reflect.Value, error)

func joinElements(place string, joined reflect.Value, values []reflect.Value, part parting) error {
	n := joined.Len()
	for k, v := range values {
		if v.Len() != n {
			return fmt.Errorf("%s has %d elements in the first sample, %d in number %d", place, n, v.Len(), k)
		}
	}
	if joined.Kind() == reflect.Slice {
		joined.Set(reflect.MakeSlice(joined.Type(), n, n))
	}
	for i := range n {
		v, err := part(fmt.Sprintf("%s[%d]", place, i), func(v reflect.Value) reflect.Value { return v.Index(i) })
		if err != nil {
			return err
		}
		joined.Index(i).Set(v)
	}
	return nil
}

func joinEntries(place string, joined reflect.Value, values []reflect.Value, part parting) error {
	for k, v := range values {
		if v.Len() != joined.Len() {
			return fmt.Errorf("%s has %d keys in the first sample, %d in number %d", place, joined.Len(), v.Len(), k)
		}
	}
	keys := joined.MapKeys()
	joined.Set(reflect.MakeMapWithSize(joined.Type(), len(keys)))
	for _, key := range keys {
		v, err := part(fmt.Sprintf("%s[%v]", place, key), func(v reflect.Value) reflect.Value { return v.MapIndex(key) })
		if err != nil {
			return err
		}
		joined.SetMapIndex(key, v)
	}
	return nil
}

func allNil(place string, values []reflect.Value) error {
	for k, v := range values {
		if !v.IsNil() {
			return fmt.Errorf("%s is nil in the first sample and not in number %d", place, k)
		}
	}
	return nil
}

// inside is what a pointer or an interface holds, where it is of that type.
func inside(t reflect.Type) func(reflect.Value) reflect.Value {
	return func(v reflect.Value) reflect.Value {
		if v.IsNil() || v.Elem().Type() != t {
			return reflect.Value{}
		}
		return v.Elem()
	}
}

// PaddedBatch is samples of unequal lengths as tensors of shape [Len(), longest, ...].
type PaddedBatch struct {
	Input, Target torch.Tensor
	// int64 [Len()]: of the samples' first dimensions; TargetLengths is undefined for targets without dimensions
	InputLengths, TargetLengths torch.Tensor
	Index                       []int // the indices of the samples
}

// Len is the number of samples in the batch.
func (b PaddedBatch) Len() int { return len(b.Index) }

// PadOptions say what stands where a sample is shorter than the longest. Python's loops often pad targets with -100, which
// cross entropy ignores.
type PadOptions struct {
	Value       float64 // in inputs; default 0
	TargetValue float64 // in targets; default 0
}

// Pad makes the join of [Collate] for samples whose first dimensions differ, as sentences do: each input and target is
// padded at its end to the
// longest of the batch. Targets without dimensions, such as classes, are stacked.
func Pad(opts ...PadOptions) func(samples []Sample, indices []int, r *rand.Rand) (PaddedBatch, error) {
	o := option.One(opts)
	return func(samples []Sample, indices []int, _ *rand.Rand) (PaddedBatch, error) {
		inputs, targets := make([]torch.Tensor, len(samples)), make([]torch.Tensor, len(samples))
		for k, s := range samples {
			inputs[k], targets[k] = s.Input, s.Target
		}
		batch := PaddedBatch{Index: indices}
		batch.Input, batch.InputLengths = padded(inputs, o.Value)
		switch {
		case len(targets) == 0 || !targets[0].Defined():
		case targets[0].Dim() == 0:
			batch.Target = torch.Stack(targets)
		default:
			batch.Target, batch.TargetLengths = padded(targets, o.TargetValue)
		}
		return batch, nil
	}
}

func padded(tensors []torch.Tensor, value float64) (joined, lengths torch.Tensor) {
	sizes := make([]int, len(tensors))
	for k, t := range tensors {
		sizes[k] = t.Size(0)
	}
	return aten.PadSequence(tensors, aten.PadSequenceOptions{BatchFirst: true, PaddingValue: value}), torch.FromSlice(sizes)
}
