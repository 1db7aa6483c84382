// Command gen writes everything that follows from libtorch's list of operators: the
// C++ unpackers, the numbers in package cgo, the methods and functions of packages
// torch and torch/aten, the table docs/ops.tsv for people and internal/optable for tests.
//
//	go run ./cgo/gen                                write the files
//	go run ./cgo/gen -check                         list the files that differ; exit 1 if any
//	go run ./cgo/gen -compare FILE -as 2.15.0       note in versions.txt what another yaml lacks
//
// It reads native_functions.yaml as it comes with libtorch, the hand-written entries
// in cgo/shim/entries.def, and three tables beside itself: names.txt (every decision
// on naming), docs.txt (the sentences of comments) and versions.txt.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	yamlPath := flag.String("yaml", "", "native_functions.yaml to read (default: the one in third_party/libtorch)")
	root := flag.String("root", ".", "root of the module")
	check := flag.Bool("check", false, "write nothing; exit 1 if a file differs")
	compare := flag.String("compare", "", "another version's native_functions.yaml to compare with")
	as := flag.String("as", "", "the version that -compare names, as 2.15.0")
	flag.Parse()
	if *yamlPath == "" {
		*yamlPath = filepath.Join(*root, "third_party/libtorch/torchgen/packaged/ATen/native/native_functions.yaml")
	}
	err := run(*root, *yamlPath, *compare, *as, *check)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(root, yamlPath, compare, as string, check bool) error {
	if compare != "" {
		return compareVersions(root, yamlPath, compare, as)
	}
	files, err := generate(root, yamlPath)
	if err != nil {
		return err
	}
	stale, err := staleFiles(root, files)
	if err != nil {
		return err
	}
	if check {
		return checkFiles(root, files, stale)
	}
	for _, path := range stale {
		if err := os.Remove(filepath.Join(root, path)); err != nil {
			return err
		}
	}
	return writeFiles(root, files)
}

// generate makes the contents of all generated files, by their path below root.
func generate(root, yamlPath string) (map[string][]byte, error) {
	t, err := readTables(filepath.Join(root, "cgo/gen"))
	if err != nil {
		return nil, err
	}
	ops, err := readYAML(yamlPath)
	if err != nil {
		return nil, err
	}
	hand, err := readDef(filepath.Join(root, "cgo/shim/entries.def"), entryLine)
	if err != nil {
		return nil, err
	}
	if t.Settings, err = readDef(filepath.Join(root, "cgo/shim/settings.def"), settingLine); err != nil {
		return nil, err
	}
	if err := t.unused(ops); err != nil {
		return nil, err
	}
	files, public, err := render(ops, hand, t)
	if err != nil {
		return nil, err
	}
	if err := t.unusedRules(); err != nil {
		return nil, err
	}
	return files, checkHand(root, public, t)
}

// render writes everything that follows from the operators, the hand-written entries
// and the tables. It also returns the public Go forms.
func render(ops []*Op, hand []string, t *Tables) (map[string][]byte, []*Func, error) {
	door, left, err := arrange(ops, hand, t)
	if err != nil {
		return nil, nil, err
	}
	if err := guardAll(door, left, t); err != nil {
		return nil, nil, err
	}
	files := map[string][]byte{}
	if err := cxxFiles(files, hand, door, left, t); err != nil {
		return nil, nil, err
	}
	if files["cgo/ops_gen.go"], err = opsFile(hand, door, opsHash(hand, t.Settings, door), t); err != nil {
		return nil, nil, err
	}
	t.index(door)
	forms, all := map[Place][]*Func{}, []*Func{}
	for place := range rooms {
		if forms[place], err = goForms(door, place, t); err != nil {
			return nil, nil, err
		}
	}
	for place, room := range rooms {
		if err := goFiles(files, room, forms[place], t); err != nil {
			return nil, nil, err
		}
		all = append(all, forms[place]...)
	}
	if err := errors.Join(t.lost...); err != nil {
		return nil, nil, err
	}
	if files["torch/ops_support_gen.go"], files[formPackage+"/form_gen.go"], err = supportFiles(); err != nil {
		return nil, nil, err
	}
	if files["internal/optable/forms_gen.go"], err = tableFile(all); err != nil {
		return nil, nil, err
	}
	files["docs/ops.tsv"] = []byte(tsv(door))
	files["cgo/gen/report.txt"] = []byte(report(hand, door, left))
	return files, forms[Public], nil
}

func cxxFiles(files map[string][]byte, hand []string, door, left []*Op, t *Tables) error {
	table, err := cxxRules(slices.Concat(door, left), t.Unlisted)
	if err != nil {
		return err
	}
	files["cgo/shim/ops_gen_rules.cc"] = []byte(table)
	files["cgo/shim/ops_gen.h"] = []byte(cxxHeader())
	files["cgo/shim/ops_gen_table.cc"] = []byte(cxxTable(hand, door, opsHash(hand, t.Settings, door)))
	for name, part := range shardsOf(door) {
		src, err := cxxShard(part)
		if err != nil {
			return err
		}
		files["cgo/shim/ops_gen_"+name+".cc"] = []byte(src)
	}
	return nil
}

// shardsOf deals the operators out to files that compile beside each other. Those with rules
// have files of their own, because these change with rules.h.
func shardsOf(door []*Op) map[string][]*Op {
	var plain, ruled []*Op
	for _, o := range door {
		if o.Guard.stands() {
			ruled = append(ruled, o)
		} else {
			plain = append(plain, o)
		}
	}
	parts := map[string][]*Op{}
	for i := range shards {
		parts[fmt.Sprintf("%02d", i)] = plain[i*len(plain)/shards : (i+1)*len(plain)/shards]
		parts[fmt.Sprintf("ruled_%02d", i)] = ruled[i*len(ruled)/shards : (i+1)*len(ruled)/shards]
	}
	return parts
}

// goFiles writes the Go forms of one package, sorted into files by subject.
func goFiles(files map[string][]byte, r room, funcs []*Func, t *Tables) (err error) {
	themes := map[string][]*Func{}
	for _, f := range funcs {
		name := theme(f)
		themes[name] = append(themes[name], f)
	}
	for name, funcs := range themes {
		if files[r.prefix+name+"_gen.go"], err = goFile(r.name, funcs, t); err != nil {
			return err
		}
	}
	if files[r.prefix+"options_gen.go"], err = optionsFile(r.name, funcs); err != nil {
		return err
	}
	return nil
}

// generated are patterns of the files that only this program writes.
var generated = []string{"cgo/shim/ops_gen*", "cgo/ops_gen.go", "torch/ops_*_gen.go", "torch/aten/*_gen.go",
	"torch/linalg/*_gen.go", "torch/fft/*_gen.go", "torch/special/*_gen.go", "internal/optable/*_gen.go", formPackage + "/*_gen.go"}

// staleFiles are generated files that this run no longer writes.
func staleFiles(root string, files map[string][]byte) ([]string, error) {
	var stale []string
	for _, pattern := range generated {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			if files[filepath.ToSlash(rel)] == nil {
				stale = append(stale, filepath.ToSlash(rel))
			}
		}
	}
	return stale, nil
}

// checkFiles fails with the list of files that differ from what would be written.
func checkFiles(root string, files map[string][]byte, stale []string) error {
	differ := slices.Clone(stale)
	for path, want := range files {
		have, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || !bytes.Equal(have, want) {
			differ = append(differ, path)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	slices.Sort(differ)
	return fmt.Errorf("these files differ from what `go run ./cgo/gen` writes:\n  %s", strings.Join(differ, "\n  "))
}

// writeFiles writes only what has changed, so that build caches stay valid.
func writeFiles(root string, files map[string][]byte) error {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(root, path)
		if have, err := os.ReadFile(full); err == nil && bytes.Equal(have, files[path]) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, files[path], 0o644); err != nil {
			return err
		}
	}
	return nil
}
