package migrate

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Left is something that was not rewritten.
type Left struct {
	Pos  token.Position
	Name string // in gotorch: "functional.Conv2d"
	Hint string // what to write instead
}

func (l Left) String() string {
	s := fmt.Sprintf("%s: %s", l.Pos, l.Name)
	if l.Hint != "" {
		s += ": " + strings.ReplaceAll(l.Hint, "`", "")
	}
	return s
}

// Result is what became of a program.
type Result struct {
	Files map[string][]byte // by path: those that changed, and the new one with what libtorch for Go does not have in one call
	Left  []Left
}

// SupportFile is the name of the new file.
const SupportFile = "gotorch_support.go"

// Program rewrites the packages in a folder and below, in memory.
func Program(dir string) (*Result, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	l, own, err := newLoader(dir)
	if err != nil {
		return nil, err
	}
	r := &Result{Files: map[string][]byte{}}
	for _, p := range own {
		if !slices.ContainsFunc(p.Imports, isAncestor) {
			continue
		}
		g, err := l.load(p)
		if err != nil {
			return nil, err
		}
		if err := g.rewrite(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func isAncestor(path string) bool { return path == ancestor || strings.HasPrefix(path, ancestor+"/") }

// Write writes the files of a result, which are below dir, to the same places below out, and returns their paths.
func (r *Result) Write(dir, out string) (written []string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(r.Files)) {
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return written, err
		}
		to := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return written, err
		}
		if err := os.WriteFile(to, r.Files[path], 0o644); err != nil {
			return written, err
		}
		written = append(written, to)
	}
	return written, nil
}

// program is a package on its way.
type program struct {
	name, dir string
	set       *token.FileSet
	files     []*ast.File
	sources   map[string][]byte
	info      *types.Info
	left      []Left
	used      map[string]bool // packages of ours that the file at hand names
	helpers   map[string]bool // functions and types of package support
}

func (g *program) rewrite(r *Result) error {
	for _, file := range g.files {
		path := g.set.File(file.Pos()).Name()
		clear(g.used)
		f := &rewriter{program: g, file: file, source: g.sources[path], folded: map[ast.Node]ast.Expr{}, gone: map[ast.Node]bool{}}
		text, err := f.whole()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.Files[path] = text
	}
	r.Left = append(r.Left, g.left...)
	if len(g.helpers) == 0 {
		return nil
	}
	text, err := supportFor(g.name, g.helpers)
	if err != nil {
		return err
	}
	r.Files[filepath.Join(g.dir, SupportFile)] = text
	return nil
}

// homes are the packages of ours by the names that rewritten files have for them.
var homes = map[string]string{
	"torch": ours + "/torch", "nn": ours + "/torch/nn", "F": ours + "/torch/nn/functional", "nninit": ours + "/torch/nn/init",
	"optim": ours + "/torch/optim", "cuda": ours + "/torch/cuda", "aten": ours + "/torch/aten", "pt": ours + "/torch/pt",
	"fmt": "fmt",
}

// whole is the text of the file, rewritten.
func (f *rewriter) whole() ([]byte, error) {
	body := f.declarations()
	var imports []string
	seen := map[string]bool{}
	add := func(name, path string) {
		line := fmt.Sprintf("%q", path)
		if name != "" {
			line = name + " " + line
		}
		if !seen[line] {
			seen[line] = true
			imports = append(imports, line)
		}
	}
	for _, spec := range f.file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := ""
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if path != gocv && !isAncestor(path) && (name == "_" || f.still(path, name, body)) {
			add(name, path)
		}
	}
	for name := range f.used {
		if name == "F" || name == "nninit" {
			add(name, homes[name])
		} else {
			add("", homes[name])
		}
	}
	slices.SortFunc(imports, byPath)
	var b strings.Builder
	b.Write(f.source[:f.offset(f.file.Name.End())])
	if len(imports) > 0 {
		b.WriteString("\n\nimport (\n")
		for i, line := range imports {
			if i > 0 && group(line) != group(imports[i-1]) {
				b.WriteString("\n")
			}
			b.WriteString("\t" + line + "\n")
		}
		b.WriteString(")\n")
	}
	b.WriteString(body)
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return nil, fmt.Errorf("the rewritten program is no Go: %w\n%s", err, b.String())
	}
	return text, nil
}

// byPath orders imports, the standard library's first.
func byPath(a, b string) int {
	_, x, _ := strings.Cut(a, `"`)
	_, y, _ := strings.Cut(b, `"`)
	return strings.Compare(group(a)+x, group(b)+y)
}

// group puts the standard library first.
func group(line string) string {
	if strings.Contains(line, ".") {
		return "1"
	}
	return "0"
}

// still tells whether the body names an import.
func (f *rewriter) still(path, name, body string) bool {
	if name == "" {
		name = filepath.Base(path)
	}
	return strings.Contains(body, name+".")
}

// declarations is the text behind the imports, rewritten.
func (f *rewriter) declarations() string {
	from := f.file.Name.End()
	for _, d := range f.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			from = g.End()
		}
	}
	f.prepare()
	return f.between(f.file, from, f.file.FileEnd)
}
