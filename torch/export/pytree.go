package export

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// ParseTreeSpec reads a tree as PyTorch writes it (torch.utils._pytree.treespec_dumps), which is what AOTInductor's packages have as well.
func ParseTreeSpec(text string) (*TreeSpec, error) {
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	p := &parser{b: quoted, budget: costStruct * int64(len(text)+1), path: []string{"tree"}}
	t := p.treeSpec()
	if err := p.end(); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	if err := t.check(); err != nil {
		return nil, malformed("%w", err)
	}
	return t, nil
}

// Leaves is how many values the tree holds.
func (t *TreeSpec) Leaves() int { return t.leaves() }

// Unflatten builds the value whose leaves these are: a map[string]any of a dictionary, a []any of a list or tuple.
func (t *TreeSpec) Unflatten(leaves []torch.Tensor) (any, error) {
	if n := t.leaves(); n != len(leaves) {
		return nil, fmt.Errorf("export: %d values for a tree of %d", len(leaves), n)
	}
	list := make([]any, len(leaves))
	for i, x := range leaves {
		list[i] = x
	}
	v, _ := t.unflatten(list)
	return v, nil
}

// Flatten brings the arguments of a call into the order of the tree of inputs: positional ones, then those that torch.Arg names.
func (s *ModuleCallSignature) Flatten(inputs ...any) ([]any, error) {
	if err := s.check(); err != nil {
		return nil, malformed("%w", err)
	}
	leaves, err := s.flattenInputs(slices.Clone(inputs))
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return leaves, nil
}
