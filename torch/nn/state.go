package nn

import (
	"fmt"
	"iter"
	"strings"

	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
)

// StateDict are the parameters and buffers of m under PyTorch's names and in its order:
// what a checkpoint holds. The tensors are m's own, not copies, and parameters among them require
// gradients (PyTorch's keep_vars): change them in [torch.NoGrad], or take Detach of them.
func StateDict(m any) iter.Seq2[string, torch.Tensor] {
	return func(yield func(string, torch.Tensor) bool) {
		for s := range slots(m) {
			if !s.transient && !yield(s.name, s.tensor) {
				return
			}
		}
	}
}

// Versioned is a module whose state dicts have another version than 1, PyTorch's _version: some modules read what an
// earlier version of them wrote in another way.
type Versioned interface {
	StateVersion() int
}

// StateVersions are the versions of m, under the name "", and of the modules in it, as PyTorch writes them into the _metadata of a
// state dict. A few modules of Python's refuse a state dict without: pt.Versioned puts them into a file.
func StateVersions(m any) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for name, module := range NamedModules(m) {
			version := 1
			if v, ok := module.(Versioned); ok {
				version = v.StateVersion()
			}
			if !yield(name, version) {
				return
			}
		}
	}
}

// LoadOptions are the rarer arguments of [LoadStateDict].
type LoadOptions struct {
	NonStrict bool            // pass over missing and unexpected keys; shapes must fit all the same
	Skipped   *StateDictError // receives the keys that NonStrict passed over
	Assign    bool            // the module takes over the memory, dtype and device of the state dict's tensors, without copies
}

// A StateDictError says why a state dict does not fit a module.
type StateDictError struct {
	Missing    []string        // tensors of the module that the state dict lacks
	Unexpected []string        // tensors of the state dict that the module lacks
	Mismatched []ShapeMismatch // tensors of another shape
	Refused    []Refusal       // tensors that cannot be copied into the module's
}

// ShapeMismatch is a tensor whose shape in the state dict is not the module's.
type ShapeMismatch struct {
	Name      string
	Got, Want []int // in the state dict, in the module
}

// Refusal is a tensor whose values cannot go into the module's: it is closed, has none (meta),
// or is of a kind that libtorch does not copy to the other's (sparse, quantized).
type Refusal struct {
	Name string
	Err  error
}

// Error names every key, in PyTorch's words.
func (e *StateDictError) Error() string {
	var parts []string
	if len(e.Missing) > 0 {
		parts = append(parts, "Missing key(s) in state_dict: "+pytext.Quoted(e.Missing))
	}
	if len(e.Unexpected) > 0 {
		parts = append(parts, "Unexpected key(s) in state_dict: "+pytext.Quoted(e.Unexpected))
	}
	for _, m := range e.Mismatched {
		parts = append(parts, fmt.Sprintf("size mismatch for %s: copying a param with shape %v from checkpoint, the shape in current model is %v",
			m.Name, m.Got, m.Want))
	}
	for _, r := range e.Refused {
		parts = append(parts, fmt.Sprintf("%s cannot be loaded: %v", r.Name, r.Err))
	}
	return "nn: the state dict does not fit the module: " + strings.Join(parts, "; ")
}

// StripPrefix returns the tensors whose names begin with a prefix under names without it, and the others as they
// are: PyTorch's consume_prefix_in_state_dict_if_present. Prefixes are taken off one after the other, those
// of wrappers from outside to inside:
//
//	state = nn.StripPrefix(state, "_orig_mod.", "module.") // of torch.compile, of DataParallel
func StripPrefix(dict map[string]torch.Tensor, prefixes ...string) map[string]torch.Tensor {
	own := make(map[string]torch.Tensor, len(dict))
	for name, t := range dict {
		for _, p := range prefixes {
			name = strings.TrimPrefix(name, p)
		}
		own[name] = t
	}
	return own
}

// Unwrap returns the reasons of what was refused.
func (e *StateDictError) Unwrap() (list []error) {
	for _, r := range e.Refused {
		list = append(list, r.Err)
	}
	return list
}
