package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// handForm is the hand-written Go form that stands in for an operator.
type handForm struct{ symbol string }

// Tables holds the committed decisions: names.txt, docs.txt and versions.txt.
type Tables struct {
	Words    map[string]string   // relu → ReLU
	Stems    map[string]string   // numpy_T → NumpyT: a whole base name
	Suffixes map[string]string   // overload → suffix, "-" for none
	Symbols  map[string]string   // pow.Scalar → PowScalarTensor: one overload
	Params   map[string]string   // min → minimum: an argument's Go name
	Inverted map[string]string   // largest → Smallest: the field for a bool that is true by default
	AsFunc   map[string]bool     // operators that stay functions although the yaml offers a method
	AsMethod map[string]bool     // the reverse
	Private  map[string]bool     // goes to package aten
	Require  map[string][]string // operator → arguments with defaults that Go always asks for
	Fixed    map[string][]string // operator → arguments that stay at their default
	Hand     map[string]*handForm
	Docs     map[string]string // operator or base name → the rest of the first line
	Gone     map[string]string // operator → first libtorch version without it
}

// readTables reads the three tables of dir.
func readTables(dir string) (*Tables, error) {
	t := &Tables{
		Words: map[string]string{}, Stems: map[string]string{}, Suffixes: map[string]string{},
		Symbols: map[string]string{}, Params: map[string]string{}, Inverted: map[string]string{},
		AsFunc: map[string]bool{}, AsMethod: map[string]bool{}, Private: map[string]bool{},
		Require: map[string][]string{}, Fixed: map[string][]string{}, Hand: map[string]*handForm{},
		Docs: map[string]string{}, Gone: map[string]string{},
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
	pairs := map[string]map[string]string{
		"word": t.Words, "stem": t.Stems, "suffix": t.Suffixes,
		"symbol": t.Symbols, "param": t.Params, "invert": t.Inverted,
	}
	switch kind := f[0]; kind {
	case "word", "stem", "suffix", "symbol", "param", "invert":
		if len(f) != 3 {
			return fmt.Errorf("%q: want `%s from to`", line, kind)
		}
		return enter(pairs[kind], f[1], f[2])
	case "function", "method", "private":
		set := map[string]map[string]bool{"function": t.AsFunc, "method": t.AsMethod, "private": t.Private}[kind]
		for _, name := range f[1:] {
			set[name] = true
		}
	case "require", "fixed":
		if len(f) < 3 {
			return fmt.Errorf("%q: want `%s operator argument…`", line, kind)
		}
		set := map[string]map[string][]string{"require": t.Require, "fixed": t.Fixed}[kind]
		set[f[1]] = f[2:]
	case "hand":
		if len(f) != 3 {
			return fmt.Errorf("%q: want `hand operator symbol`", line)
		}
		t.Hand[f[1]] = &handForm{f[2]}
	default:
		return fmt.Errorf("%q is not a kind of line", kind)
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

func enter(m map[string]string, key, value string) error {
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
		known[o.Name()], known[o.Base], known[o.Stem()], known[o.Base+".*"] = true, true, true, true
		if o.Overload != "" {
			known[o.Stem()+"."+o.Overload] = true
		}
	}
	var lost []string
	collect := func(keys ...string) {
		for _, k := range keys {
			if !known[k] {
				lost = append(lost, k)
			}
		}
	}
	collect(slices.Collect(maps.Keys(t.Stems))...)
	collect(slices.Collect(maps.Keys(t.Symbols))...)
	collect(slices.Collect(maps.Keys(t.AsFunc))...)
	collect(slices.Collect(maps.Keys(t.AsMethod))...)
	collect(slices.Collect(maps.Keys(t.Private))...)
	collect(slices.Collect(maps.Keys(t.Require))...)
	collect(slices.Collect(maps.Keys(t.Fixed))...)
	collect(slices.Collect(maps.Keys(t.Hand))...)
	collect(slices.Collect(maps.Keys(t.Docs))...)
	collect(slices.Collect(maps.Keys(t.Gone))...)
	if lost == nil {
		return nil
	}
	slices.Sort(lost)
	return fmt.Errorf("the tables in cgo/gen name operators that do not exist: %s", strings.Join(lost, ", "))
}
