package aoti

import (
	"fmt"
	"strconv"

	"github.com/libtorch-go/libtorch/torch/export"
)

// name names the inputs after the arguments that they are in. Numbers are those of the placeholders, which say where arguments without a
// tensor are left out.
func name(inputs []Input, numbers []string, in *export.TreeSpec) {
	leaves := leafNames(in)
	first := 0
	for i := range inputs {
		n, err := strconv.Atoi(numbers[i])
		if i == 0 {
			first = n
		}
		at := i
		if len(leaves) != len(inputs) {
			at = n - first
			if last, err := strconv.Atoi(numbers[len(numbers)-1]); err != nil || last-first != len(leaves)-1 {
				at = len(leaves) // the first or the last is left out, and nothing says which
			}
		}
		if inputs[i].Name = fmt.Sprintf("input_%d", i); err == nil && at >= 0 && at < len(leaves) {
			inputs[i].Name = leaves[at]
		}
	}
}

// leafNames names the leaves of a call: a named argument's by its name, the others by their place, with the places in them behind.
func leafNames(in *export.TreeSpec) []string {
	if in == nil || len(in.Children) != 2 {
		return nil
	}
	args, kwargs := in.Children[0], in.Children[1]
	if len(args.Children) == 1 && len(kwargs.Children) == 0 {
		return below(nil, "input", args.Children[0])
	}
	names := below(nil, "input", args)
	for i, key := range kwargs.Keys {
		names = below(names, key, kwargs.Children[i])
	}
	return names
}

func below(names []string, name string, t *export.TreeSpec) []string {
	if t.Type == "" {
		return append(names, name)
	}
	for i, c := range t.Children {
		own := strconv.Itoa(i)
		if i < len(t.Keys) {
			own = t.Keys[i]
		}
		names = below(names, name+"_"+own, c)
	}
	return names
}

// outputNames names the outputs: by the keys of the dictionary that the model returns, or by their numbers.
func outputNames(out *export.TreeSpec, n int) (names []string) {
	if out != nil && len(out.Keys) == n && n == len(out.Children) {
		return out.Keys
	}
	if n == 1 {
		return []string{"output"}
	}
	for i := range n {
		names = append(names, fmt.Sprintf("output_%d", i))
	}
	return names
}
