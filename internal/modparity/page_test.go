package modparity

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
)

const page = "../../docs/modules.md"

// head is the beginning of the page.
const head = `# Modules held against Python

Written by ` + "`go test ./internal/modparity -update`" + `. Python and Go make the same modules from the same arguments, load the same
state and have the same inputs, on the same libtorch %s, one thread: names in state dicts, results, gradients of
parameters and inputs, and the state afterwards have to have the same bits. The configurations are those of PyTorch's
module database and of ` + "`internal/modparity/testdata/extra.py`" + `, each in training and in evaluation.

%d modules of torch.nn are equal in %d configurations.

| module | configurations |
|---|---|
`

// compareWithPage checks that every module of torch.nn is compared in three configurations,
// in training and in evaluation, or listed with a reason, and that the page says so.
func compareWithPage(t *testing.T, s spec, equal map[string]int) {
	var modules, left, missing strings.Builder
	total := 0
	for _, name := range s.Modules {
		if why, ok := elsewhere[name]; ok {
			fmt.Fprintf(&left, "| %s | %s |\n", name, why)
			continue
		}
		require.GreaterOrEqual(t, equal[name], 2*3, "configurations of %s", name)
		fmt.Fprintf(&modules, "| %s | %d |\n", name, equal[name])
		total += equal[name]
		if list := absent(name, s.Arguments[name]); len(list) > 0 {
			fmt.Fprintf(&missing, "| %s | %s |\n", name, strings.Join(list, ", "))
		}
	}
	text := fmt.Sprintf(head, torch.Version(), len(equal), total) + modules.String() +
		"\n## Not compared\n\n| module | why |\n|---|---|\n" + left.String() +
		"\n## Arguments that have no counterpart\n\n`device` and `dtype` are those of `nn.To`; `inplace` saves memory and changes " +
		"no result;\n`padding_mode` may only be \"zeros\" there; nested tensors are of PyTorch's fast path.\n\n| module | " +
		"arguments |\n|---|---|\n" + missing.String()
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(text), 0o644))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, text, string(have), "docs/modules.md is out of date: run go test ./internal/modparity -update")
}

// absent are the arguments of Python's constructor that ours lacks.
func absent(class string, names []string) []string {
	e := modules[class]
	t := reflect.TypeOf(e.constructor(nil))
	if t.Kind() == reflect.Func {
		variadic := t.IsVariadic()
		if t = t.In(t.NumIn() - 1); variadic {
			t = t.Elem()
		}
	}
	var before []string
	for _, name := range strings.Fields(e.signature.make) {
		name, _, _ = strings.Cut(name, "=")
		before = append(before, name)
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		if slices.Contains(before, name) || name == "return_indices" { // a method there
			return true
		}
		if t.Kind() != reflect.Struct {
			return false
		}
		at, _ := find(reflect.New(t).Elem(), name)
		return at.IsValid()
	})
}
