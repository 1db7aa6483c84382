package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// versionNumber is 2.15.0 as the C++ side writes it: 21500.
func versionNumber(v string) (int, error) {
	parts := strings.Split(v, ".")
	if len(parts) != 3 {
		return 0, fmt.Errorf("version %q: want three numbers, as 2.15.0", v)
	}
	n := 0
	for _, p := range parts {
		i, err := strconv.Atoi(p)
		if err != nil || i < 0 || i > 99 {
			return 0, fmt.Errorf("version %q: want three numbers, as 2.15.0", v)
		}
		n = n*100 + i
	}
	return n, nil
}

// signatureOf is what a compiled call depends on: types, not names or defaults.
func signatureOf(o *Op) string {
	var b strings.Builder
	for _, a := range o.Args {
		b.WriteString(a.Type.cxxKey() + ",")
	}
	b.WriteString("->")
	for _, r := range o.Returns {
		b.WriteString(r.Type.cxxKey() + ",")
	}
	return b.String()
}

// compareVersions notes in versions.txt the operators that another version lacks or
// takes other arguments for. The earliest version found so far stays.
func compareVersions(root, yamlPath, otherPath, as string) error {
	if as == "" {
		return errors.New("-compare needs -as VERSION")
	}
	number, err := versionNumber(as)
	if err != nil {
		return err
	}
	table := filepath.Join(root, "cgo/gen")
	t, err := readTables(table)
	if err != nil {
		return err
	}
	ours, err := readYAML(yamlPath)
	if err != nil {
		return err
	}
	theirs, err := readYAML(otherPath)
	if err != nil {
		return err
	}
	other := map[string]string{}
	for _, o := range theirs {
		other[o.Name()] = signatureOf(o)
	}
	for _, o := range ours {
		sig, ok := other[o.Name()]
		if whyLeft(o) != "" || (ok && sig == signatureOf(o)) {
			continue
		}
		before, known := t.Gone[o.Name()]
		if n, err := versionNumber(before); known && err == nil && n <= number {
			continue
		}
		t.Gone[o.Name()] = as
		fmt.Printf("%-40s %s in %s\n", o.Name(), map[bool]string{true: "changed", false: "gone"}[ok], as)
	}
	return os.WriteFile(filepath.Join(table, "versions.txt"), []byte(versionsText(t.Gone)), 0o644)
}

func versionsText(gone map[string]string) string {
	var b strings.Builder
	b.WriteString("# operator, and the first version of libtorch in which it is gone or takes other arguments\n")
	b.WriteString("# (written by go run ./cgo/gen -compare FILE -as VERSION)\n")
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		fmt.Fprintf(&b, "%s %s\n", name, gone[name])
	}
	return b.String()
}
