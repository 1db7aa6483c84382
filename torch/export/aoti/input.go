package aoti

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// Input is a tensor that a model takes.
type Input struct {
	Name    string // the argument's, with the place behind it where it is nested: "pair_0"; "input_0" for one that has no name
	DType   torch.DType
	Device  torch.Device // of which the kind counts; the zero Device is the model's
	Sizes   []Size
	Strides []int // those that were compiled for, -1 where they vary; nil for those of torch.Tensor.Contiguous
}

// Size is a size of an input.
type Size struct {
	Min, Max int
	Name     string // sizes of the same name are equal in each call; empty for one that depends on no other
}

// Fixed is a size that does not vary.
func Fixed(n int) Size { return Size{Min: n, Max: n} }

// Varying is a size of at least 1. Those of the same name are equal in each call.
func Varying(name string) Size { return Size{Min: 1, Max: math.MaxInt, Name: name} }

// Shape has -1 for sizes that vary.
func (in Input) Shape() []int {
	shape := make([]int, len(in.Sizes))
	for i, s := range in.Sizes {
		if shape[i] = s.Min; s.Min != s.Max {
			shape[i] = -1
		}
	}
	return shape
}

// String is "image float32[batch, 3, 224, 224]".
func (in Input) String() string {
	var words []string
	for _, s := range in.Sizes {
		word := s.Name
		switch {
		case s.Min == s.Max:
			word = fmt.Sprint(s.Min)
		case word == "":
			word = "?"
		}
		words = append(words, word)
	}
	return fmt.Sprintf("%s %v[%s]", in.Name, in.DType, strings.Join(words, ", "))
}

// check tells whether a description makes sense.
func (in Input) check() error {
	if in.Name == "" || in.DType == (torch.DType{}) || in.Strides != nil && len(in.Strides) != len(in.Sizes) {
		return fmt.Errorf("the input %v: expected a name, a dtype, and as many strides as sizes, or none", in)
	}
	for _, s := range in.Sizes {
		if s.Min < 0 || s.Max < s.Min {
			return fmt.Errorf("the input %v: a size between %d and %d", in, s.Min, s.Max)
		}
	}
	return nil
}

// misfit says why a tensor is not the input, or is empty. Sizes are those of the call by their names.
func (in Input) misfit(x torch.Tensor, device torch.Device, sizes map[string]int) string {
	if !x.Defined() {
		return "is undefined"
	}
	if x.Layout() != torch.Strided {
		return fmt.Sprintf("has the layout %v, expected %v", x.Layout(), torch.Strided)
	}
	if x.DType() != in.DType {
		return fmt.Sprintf("is of %v, expected %v", x.DType(), in.DType)
	}
	if !in.Device.IsZero() {
		device = in.Device
	}
	if at := x.Device(); at.Type() != device.Type() || device.Index() >= 0 && at.Index() != device.Index() {
		return fmt.Sprintf("is on %v, expected %v", at, device)
	}
	shape := x.Shape()
	if len(shape) != len(in.Sizes) {
		return fmt.Sprintf("has the shape %v, expected %v", shape, in)
	}
	for d, s := range in.Sizes {
		if n := shape[d]; n < s.Min || n > s.Max {
			return fmt.Sprintf("has the shape %v, expected size %d to be %v", shape, d, s)
		}
		if s.Name == "" {
			continue
		}
		if n, known := sizes[s.Name]; known && n != shape[d] {
			return fmt.Sprintf("has the shape %v, but size %d was %d in an input before: it is %q in both", shape, d, n, s.Name)
		}
		sizes[s.Name] = shape[d]
	}
	return ""
}

// String is "8", or "between 1 and 64".
func (s Size) String() string {
	switch {
	case s.Min == s.Max:
		return fmt.Sprint(s.Min)
	case s.Max == math.MaxInt:
		return fmt.Sprintf("at least %d", s.Min)
	}
	return fmt.Sprintf("between %d and %d", s.Min, s.Max)
}

// laid is the tensor with the strides that were compiled for: itself, or a copy. None of the formats may have them.
func (in Input) laid(x torch.Tensor) (torch.Tensor, error) {
	if x.IsConj() || x.IsNeg() { // flags that machine code does not look at
		x = x.ResolveConj().ResolveNeg()
	}
	shape, strides := x.Shape(), x.Stride()
	for _, f := range []torch.MemoryFormat{torch.ContiguousFormat, torch.ChannelsLast, torch.ChannelsLast3d} {
		want := stridesOf(shape, f)
		if want == nil || !agree(shape, in.Strides, want) {
			continue
		}
		if agree(shape, strides, want) {
			return x, nil
		}
		return x.Contiguous(f), nil
	}
	if slices.Contains(in.Strides, -1) || !agree(shape, in.Strides, strides) {
		return x, fmt.Errorf("has the strides %v, expected %v", strides, in.Strides)
	}
	return x, nil
}

// agree compares strides where they matter; -1 agrees with all.
func agree(shape, a, b []int) bool {
	for d, n := range shape {
		if n > 1 && a != nil && a[d] != -1 && a[d] != b[d] {
			return false
		}
	}
	return true
}

// stridesOf are the strides of a tensor in a format, or nil if none of that many dimensions can have it.
func stridesOf(shape []int, f torch.MemoryFormat) []int {
	order := make([]int, len(shape)) // from the innermost dimension
	for i := range order {
		order[i] = len(shape) - 1 - i
	}
	if f != torch.ContiguousFormat {
		if f == torch.ChannelsLast && len(shape) != 4 || f == torch.ChannelsLast3d && len(shape) != 5 {
			return nil
		}
		order = append([]int{1}, slices.DeleteFunc(order, func(d int) bool { return d == 1 })...)
	}
	strides, step := make([]int, len(shape)), 1
	for _, d := range order {
		strides[d] = step
		step *= max(shape[d], 1)
	}
	return strides
}
