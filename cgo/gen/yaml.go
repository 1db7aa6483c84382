package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// entry is what the generator reads of one item of native_functions.yaml.
type entry struct {
	Func     string `yaml:"func"`
	Variants string `yaml:"variants"`
	Module   string `yaml:"python_module"`

	Dispatch   map[string]string `yaml:"dispatch"`            // kernels by keys, of which several may share one
	Structured string            `yaml:"structured_delegate"` // the form whose kernels are this one's, too
	Tags       any               `yaml:"tags"`
}

// kernel reports an operator with kernels of its own, for all of whose kinds of tensors autograd has
// a layer. Others are made of operators, each with that layer.
func (e *entry) kernel() bool {
	for keys := range e.Dispatch {
		if slices.Contains(strings.Split(keys, ", "), "CompositeImplicitAutograd") {
			return false
		}
	}
	return e.Structured != "" || len(e.Dispatch) > 0
}

// readYAML parses native_functions.yaml into operators, in the file's order.
func readYAML(path string) ([]*Op, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w (it comes with libtorch: run ./build.sh deps, or name one with -yaml)", err)
	}
	var entries []entry
	if err := yaml.Unmarshal(raw, &entries); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var ops []*Op
	for _, e := range entries {
		s, err := parseSchema(e.Func)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		ops = append(ops, &Op{
			Schema: s,
			Method: strings.Contains(e.Variants, "method"),
			Module: e.Module,
			Kernel: e.kernel() && !strings.Contains(fmt.Sprint(e.Tags), "inplace_view"),
		})
	}
	return ops, nil
}

var (
	entryLine   = regexp.MustCompile(`(?m)^(?:CUDA_)?ENTRY\((\w+)\)`)
	settingLine = regexp.MustCompile(`(?m)^SETTING\((\w+)\)`)
)

// readDef lists the names in lines like ENTRY(name), in their order: that is their number.
func readDef(path string, line *regexp.Regexp) ([]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range line.FindAllSubmatch(raw, -1) {
		name := string(m[1])
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("%s: %s stands twice", path, m[0])
		}
		names = append(names, name)
	}
	return names, nil
}
