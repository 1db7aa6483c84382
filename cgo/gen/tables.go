package main

import (
	"bufio"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// alsoForm is a second Go form of an operator, which requires one of its options.
type alsoForm struct{ symbol, arg string }

// handForm is the hand-written Go form that stands in for an operator.
type handForm struct{ symbol string }

// Tables holds the committed decisions: names.txt, docs.txt and versions.txt.
type Tables struct {
	Words    map[string]string            // relu → ReLU
	Stems    map[string]string            // numpy_T → NumpyT: a whole base name
	Suffixes map[string]string            // overload → suffix, "-" for none
	Symbols  map[string]string            // pow.Scalar → PowScalarTensor: one overload
	Params   map[string]string            // min → minimum: an argument's Go name
	Inverted map[string]string            // largest → Smallest: the field for a bool that is true by default
	AsFunc   map[string]bool              // operators that stay functions although the yaml offers a method
	AsMethod map[string]bool              // the reverse
	Private  map[string]bool              // goes to package aten
	Public   map[string]bool              // goes to package torch
	Lists    map[string]bool              // its last list is no variadic parameter
	Layer    map[string]bool              // stands behind a layer or a function of torch/nn/functional: goes to package aten
	Heavy    map[string]bool              // takes so long on the CPU that concurrent calls are bounded
	Require  map[string][]string          // operator → arguments with defaults that Go always asks for
	Keyword  map[string][]string          // operator → arguments that need their name to be understood
	Results  map[string][]string          // operator → names of its results
	Tails    map[string]string            // operator → the name of its variadic ints
	Fixed    map[string]map[string]string // operator → argument → the value it always has
	Also     map[string]*alsoForm         // operator → a second Go form
	Dims     map[string]string            // operator over all elements → the one over dimensions, or "" where it is both
	Hand     map[string]*handForm
	Rules    []*ruleLine
	Unsafe   []*patternLine
	Safe     []*patternLine    // the exceptions from Unsafe
	Unlisted []string          // names of operators of aten that are not in libtorch's list
	Docs     map[string]string // operator or base name → the rest of the first line
	Gone     map[string]string // operator → first libtorch version without it
	Settings []string          // of libtorch, by number: cgo/shim/settings.def

	ops  map[string]*Op // all operators of the door, for the sentences that name them
	lost []error        // sentences that name what is not there
}

// readTables reads the three tables of dir.
func readTables(dir string) (*Tables, error) {
	t := &Tables{
		Words: map[string]string{}, Stems: map[string]string{}, Suffixes: map[string]string{},
		Symbols: map[string]string{}, Params: map[string]string{}, Inverted: map[string]string{},
		AsFunc: map[string]bool{}, AsMethod: map[string]bool{}, Private: map[string]bool{}, Public: map[string]bool{},
		Layer: map[string]bool{}, Lists: map[string]bool{}, Heavy: map[string]bool{},
		Require: map[string][]string{}, Keyword: map[string][]string{}, Results: map[string][]string{},
		Tails: map[string]string{}, Fixed: map[string]map[string]string{}, Also: map[string]*alsoForm{}, Dims: map[string]string{},
		Hand: map[string]*handForm{}, Docs: map[string]string{}, Gone: map[string]string{},
	}
	files := []struct {
		name string
		line func(string) error
	}{
		{"names.txt", t.nameLine},
		{"docs.txt", t.docLine},
		{"versions.txt", t.versionLine},
	}
	for _, f := range files {
		if err := eachLine(filepath.Join(dir, f.name), f.line); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// eachLine calls fn for each line that is neither empty nor a comment.
func eachLine(path string, fn func(string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := fn(line); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return sc.Err()
}

func (t *Tables) nameLine(line string) error {
	f := strings.Fields(line)
	kind, f := f[0], f[1:]
	pairs := map[string]map[string]string{
		"word": t.Words, "stem": t.Stems, "suffix": t.Suffixes, "symbol": t.Symbols,
		"param": t.Params, "invert": t.Inverted, "tail": t.Tails,
	}
	sets := map[string]map[string]bool{
		"function": t.AsFunc, "method": t.AsMethod, "private": t.Private, "public": t.Public, "layer": t.Layer, "list": t.Lists, "heavy": t.Heavy,
	}
	lists := map[string]map[string][]string{"require": t.Require, "keyword": t.Keyword, "results": t.Results}
	switch {
	case pairs[kind] != nil && len(f) == 2:
		return enter(pairs[kind], f[0], f[1])
	case sets[kind] != nil:
		for _, name := range f {
			sets[kind][name] = true
		}
	case lists[kind] != nil && len(f) > 1:
		return enter(lists[kind], f[0], f[1:])
	case kind == "fixed" && len(f) > 1:
		values := map[string]string{}
		for _, arg := range f[1:] {
			name, value, _ := strings.Cut(arg, "=")
			values[name] = value
		}
		return enter(t.Fixed, f[0], values)
	case kind == "also" && len(f) == 3:
		return enter(t.Also, f[0], &alsoForm{f[1], f[2]})
	case kind == "dims" && len(f) == 1:
		return enter(t.Dims, f[0], "")
	case kind == "dims" && len(f) == 2:
		return enter(t.Dims, f[0], f[1])
	case kind == "hand" && len(f) == 2:
		return enter(t.Hand, f[0], &handForm{f[1]})
	case kind == "rule" && len(f) > 1:
		return t.ruleLine(f)
	case kind == "unsafe" && len(f) > 0:
		t.Unsafe = append(t.Unsafe, &patternLine{f, make([]bool, len(f))})
	case kind == "safe" && len(f) > 0:
		t.Safe = append(t.Safe, &patternLine{f, make([]bool, len(f))})
	case kind == "unlisted" && len(f) > 0:
		t.Unlisted = append(t.Unlisted, f...)
	default:
		return fmt.Errorf("%q is not a line of this table", line)
	}
	return nil
}

func (t *Tables) docLine(line string) error {
	name, text, ok := strings.Cut(line, " ")
	if !ok {
		return fmt.Errorf("%q: want `operator text`", line)
	}
	return enter(t.Docs, name, strings.TrimSpace(text))
}

func (t *Tables) versionLine(line string) error {
	name, version, ok := strings.Cut(line, " ")
	if !ok {
		return fmt.Errorf("%q: want `operator version`", line)
	}
	return enter(t.Gone, name, strings.Fields(version)[0])
}

func enter[V any](m map[string]V, key string, value V) error {
	if _, ok := m[key]; ok {
		return fmt.Errorf("%s stands twice", key)
	}
	m[key] = value
	return nil
}

// unused fails on lines of the tables that match no operator: a line without effect
// is a mistake, or an operator that has gone.
func (t *Tables) unused(ops []*Op) error {
	known := map[string]bool{}
	for _, o := range ops {
		for _, name := range []string{o.Name(), o.plainName(), o.Base, o.Stem(), o.Base + ".*", o.Stem() + ".*"} {
			known[name] = true
		}
	}
	var lost []string
	for _, keys := range []iter.Seq[string]{
		maps.Keys(t.Stems), maps.Keys(t.Symbols), maps.Keys(t.AsFunc), maps.Keys(t.AsMethod), maps.Keys(t.Private),
		maps.Keys(t.Public), maps.Keys(t.Layer), maps.Keys(t.Lists), maps.Keys(t.Heavy), maps.Keys(t.Require), maps.Keys(t.Keyword),
		maps.Keys(t.Results), maps.Keys(t.Tails),
		maps.Keys(t.Fixed), maps.Keys(t.Also), maps.Keys(t.Dims), maps.Values(t.Dims), maps.Keys(t.Hand),
		maps.Keys(t.Docs), maps.Keys(t.Gone),
	} {
		for name := range keys {
			if name != "" && !known[name] && !strings.Contains(name, "@") {
				lost = append(lost, name)
			}
		}
	}
	if lost == nil {
		return t.docKeys(ops)
	}
	slices.Sort(lost)
	return fmt.Errorf("the tables in cgo/gen name operators that do not exist: %s", strings.Join(lost, ", "))
}

// lookup finds the line of a table for an operator: by its full name, by the name of
// the form that is not in place, or by its base name and ".*".
func lookup[V any](m map[string]V, o *Op) (v V) {
	for _, name := range []string{o.Name(), o.plainName(), o.Stem() + ".*"} {
		if v, ok := m[name]; ok {
			return v
		}
	}
	return v
}
