package export

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/libtorch-go/libtorch/torch"
)

// TreeSpec is how the arguments of a program, or its results, are nested: PyTorch's pytree.
type TreeSpec struct {
	Type     string   // "builtins.tuple", "builtins.list", "builtins.dict", …; empty for a leaf
	Keys     []string // of a dictionary
	Context  string   // what other types need to know, as JSON
	Children []*TreeSpec
}

// The types that hold others, by how Go has them.
const (
	typeTuple   = "builtins.tuple"
	typeDict    = "builtins.dict"
	typeOrdered = "collections.OrderedDict"
)

// isDict tells whether the values have keys.
func (t *TreeSpec) isDict() bool { return t.Type == typeDict || t.Type == typeOrdered }

// check tells whether the tree is sound.
func (t *TreeSpec) check() error {
	switch {
	case t.Type == "" && len(t.Children) > 0:
		return errors.New("a leaf of a tree has children")
	case t.isDict() && len(t.Keys) != len(t.Children):
		return fmt.Errorf("a dictionary of %d values has the keys %q", len(t.Children), t.Keys)
	}
	for _, c := range t.Children {
		if c == nil {
			return errors.New("a tree lacks a child")
		}
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// leaves is how many values the tree holds.
func (t *TreeSpec) leaves() int {
	if t.Type == "" {
		return 1
	}
	n := 0
	for _, c := range t.Children {
		n += c.leaves()
	}
	return n
}

// elements returns the elements of a list that Go code has made.
func elements(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []torch.Tensor:
		list := make([]any, len(v))
		for i, t := range v {
			list[i] = t
		}
		return list, true
	}
	return nil, false
}

// entries returns the values of a dictionary that Go code has made.
func entries(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case map[string]torch.Tensor:
		m := make(map[string]any, len(v))
		for k, t := range v {
			m[k] = t
		}
		return m, true
	}
	return nil, false
}

// flatten appends the leaves of a value in the order of the tree.
func (t *TreeSpec) flatten(v any, where string, to []any) ([]any, error) {
	var err error
	switch {
	case t.Type == "":
		return append(to, v), nil
	case t.isDict():
		m, ok := entries(v)
		if !ok {
			return nil, fmt.Errorf("%s is %T, expected a map[string]any with the keys %q", where, v, t.Keys)
		}
		for i, key := range t.Keys {
			own, ok := m[key]
			if !ok {
				return nil, fmt.Errorf("%s lacks the key %q, expected %q", where, key, t.Keys)
			}
			if to, err = t.Children[i].flatten(own, fmt.Sprintf("%s[%q]", where, key), to); err != nil {
				return nil, err
			}
		}
		if len(m) > len(t.Keys) {
			return nil, fmt.Errorf("%s has the keys %q, expected %q", where, slices.Sorted(maps.Keys(m)), t.Keys)
		}
		return to, nil
	}
	list, ok := elements(v)
	if !ok || len(list) != len(t.Children) {
		return nil, fmt.Errorf("%s is %s, expected a []any of %d", where, describe(v), len(t.Children))
	}
	for i, own := range list {
		if to, err = t.Children[i].flatten(own, where+"["+strconv.Itoa(i)+"]", to); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// describe names a value that was expected to be another.
func describe(v any) string {
	if list, ok := elements(v); ok {
		return fmt.Sprintf("a list of %d", len(list))
	}
	return fmt.Sprintf("%T", v)
}

// unflatten builds the value whose leaves these are, and returns the leaves that are left.
func (t *TreeSpec) unflatten(leaves []any) (any, []any) {
	if t.Type == "" {
		return leaves[0], leaves[1:]
	}
	list := make([]any, len(t.Children))
	for i, c := range t.Children {
		list[i], leaves = c.unflatten(leaves)
	}
	if !t.isDict() {
		return list, leaves
	}
	m := make(map[string]any, len(list))
	for i, key := range t.Keys {
		m[key] = list[i]
	}
	return m, leaves
}

// flattenInputs brings the arguments of a call into the order of the tree: positional ones, then those that torch.Arg
// names. A positional argument may be given by its name as well, and the other way round, as in Python.
func (s *ModuleCallSignature) flattenInputs(inputs []any) ([]any, error) {
	if s.flat(inputs) {
		return inputs, nil
	}
	args, kwargs := s.In.Children[0], s.In.Children[1]
	given := map[string]any{}
	var positional []any
	for _, v := range inputs {
		n, ok := v.(torch.Named)
		switch {
		case ok && given[n.Name] != nil:
			return nil, fmt.Errorf("argument %q was given twice", n.Name)
		case ok:
			given[n.Name] = n.Value
		case len(given) > 0:
			return nil, errors.New("a positional argument follows a named one")
		default:
			positional = append(positional, v)
		}
	}
	names := s.names()
	if len(positional) > len(names) {
		return nil, fmt.Errorf("%d arguments, expected %d: %q", len(positional), len(names), names)
	}
	var leaves []any
	for i, name := range names {
		v, ok := given[name]
		switch {
		case i < len(positional) && ok:
			return nil, fmt.Errorf("argument %q was given twice", name)
		case i < len(positional):
			v = positional[i]
		case !ok:
			return nil, fmt.Errorf("argument %d, %q, is missing; expected %q", i, name, names)
		}
		delete(given, name)
		tree := child(i, args, kwargs)
		var err error
		if leaves, err = tree.flatten(v, fmt.Sprintf("argument %q", name), leaves); err != nil {
			return nil, err
		}
	}
	for name := range given {
		return nil, fmt.Errorf("there is no argument %q, expected %q", name, names)
	}
	return leaves, nil
}

// flat tells whether the inputs are the leaves as they are: as many as there are arguments, none by its name, and none that nests others.
func (s *ModuleCallSignature) flat(inputs []any) bool {
	args := s.In.Children[0].Children
	if len(inputs) != len(args) || len(s.In.Children[1].Children) > 0 {
		return false
	}
	for i, v := range inputs {
		if _, named := v.(torch.Named); named || args[i].Type != "" {
			return false
		}
	}
	return true
}

// child is the tree of an argument: those by name come behind the positional ones.
func child(i int, args, kwargs *TreeSpec) *TreeSpec {
	if i < len(args.Children) {
		return args.Children[i]
	}
	return kwargs.Children[i-len(args.Children)]
}

// names are the names of all arguments in the order of the tree.
func (s *ModuleCallSignature) names() []string {
	args, kwargs := s.In.Children[0], s.In.Children[1]
	var names []string
	for i := range args.Children {
		if i < len(s.ArgNames) {
			names = append(names, s.ArgNames[i])
		} else {
			names = append(names, fmt.Sprintf("argument %d", i))
		}
	}
	return append(names, kwargs.Keys...)
}

// check tells whether a tree of inputs is a tuple of the positional arguments and those by name.
func (s *ModuleCallSignature) check() error {
	if s.In == nil || s.Out == nil {
		return errors.New("in_spec or out_spec is missing")
	}
	if err := errors.Join(s.In.check(), s.Out.check()); err != nil {
		return err
	}
	c := s.In.Children
	if s.In.Type != typeTuple || len(c) != 2 || c[0].Type != typeTuple || c[1].Type != typeDict {
		return errors.New("in_spec is no tuple of a tuple and a dictionary")
	}
	seen := map[string]bool{}
	for _, name := range s.names() {
		if seen[name] {
			return fmt.Errorf("two arguments have the name %q", name)
		}
		seen[name] = true
	}
	return nil
}
