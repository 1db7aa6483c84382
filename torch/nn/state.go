package nn

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// StateDict are the parameters and buffers of m under PyTorch's names and in its order:
// what a checkpoint holds. The tensors are m's own, not copies.
func StateDict(m any) iter.Seq2[string, torch.Tensor] {
	return func(yield func(string, torch.Tensor) bool) {
		for s := range slots(m) {
			if !s.transient && !yield(s.name, s.tensor) {
				return
			}
		}
	}
}

// LoadOptions are the rarer arguments of [LoadStateDict].
type LoadOptions struct {
	NonStrict bool            // pass over missing and unexpected keys; shapes must fit all the same
	Skipped   *StateDictError // is told of the keys that NonStrict passed over
	Assign    bool            // the module's tensors take the memory, dtype and device of the state dict's, no copies
}

// A StateDictError says in what a state dict does not fit a module.
type StateDictError struct {
	Missing    []string        // tensors of the module that the state dict lacks
	Unexpected []string        // tensors of the state dict that the module lacks
	Mismatched []ShapeMismatch // tensors of another shape
}

// ShapeMismatch is a tensor whose shape in the state dict is not the module's.
type ShapeMismatch struct {
	Name      string
	Got, Want []int // in the state dict, in the module
}

// Error names every key.
func (e *StateDictError) Error() string {
	var parts []string
	if len(e.Missing) > 0 {
		parts = append(parts, "missing: "+strings.Join(e.Missing, ", "))
	}
	if len(e.Unexpected) > 0 {
		parts = append(parts, "unexpected: "+strings.Join(e.Unexpected, ", "))
	}
	for _, m := range e.Mismatched {
		parts = append(parts, fmt.Sprintf("%s has shape %v, want %v", m.Name, m.Got, m.Want))
	}
	return "nn: the state dict does not fit the module: " + strings.Join(parts, "; ")
}

// LoadStateDict copies the tensors of a state dict into those of m of the same names, which
// keep their dtype and device unless Assign is set:
//
//	err := nn.LoadStateDict(model, file.Tensors, nil)
//	err := nn.LoadStateDict(student, maps.Collect(nn.StateDict(teacher)), nil)
//
// Where names or shapes do not fit it changes nothing and returns a *[StateDictError] with
// all that is wrong.
func LoadStateDict(m any, dict map[string]torch.Tensor, o *LoadOptions) error {
	v := options(o)
	wrong, to, from := match(m, dict)
	if v.NonStrict {
		if v.Skipped != nil {
			*v.Skipped = StateDictError{Missing: wrong.Missing, Unexpected: wrong.Unexpected}
		}
		wrong.Missing, wrong.Unexpected = nil, nil
	}
	if len(wrong.Missing)+len(wrong.Unexpected)+len(wrong.Mismatched) > 0 {
		return wrong
	}
	return torch.Try(func() {
		torch.NoGrad(func() {
			for i := range to {
				if v.Assign {
					to[i].SetData(from[i])
				} else {
					to[i].CopyInPlace(from[i])
				}
			}
		})
	})
}

// match finds the tensors of a module and those of a state dict that go into them.
func match(m any, dict map[string]torch.Tensor) (wrong *StateDictError, to, from []torch.Tensor) {
	wrong = &StateDictError{}
	known := map[string]bool{}
	for s := range slots(m) {
		source := dict[s.name]
		if s.transient {
			continue
		}
		switch {
		case !source.Defined():
			if !s.optional {
				wrong.Missing = append(wrong.Missing, s.name)
			}
		case !slices.Equal(source.Shape(), s.tensor.Shape()):
			wrong.Mismatched = append(wrong.Mismatched, ShapeMismatch{s.name, source.Shape(), s.tensor.Shape()})
		default:
			to, from = append(to, s.tensor), append(from, source)
		}
		known[s.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(dict)) {
		if !known[name] {
			wrong.Unexpected = append(wrong.Unexpected, name)
		}
	}
	return wrong, to, from
}
