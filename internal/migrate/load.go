package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	ancestor = "github.com/wangkuiyi/gotorch"
	gocv     = "gocv.io/x/gocv"
	ours     = "github.com/libtorch-go/libtorch"
)

// listed is what go list tells of a package.
type listed struct {
	Dir, ImportPath, Name, Export string
	Standard                      bool
	GoFiles, CgoFiles             []string
	Imports                       []string
}

// list runs go list in a folder.
func list(dir string, args ...string) (found []listed, err error) {
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=Dir,ImportPath,Name,Export,Standard,GoFiles,CgoFiles,Imports"}, args...)...)
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w: %s", dir, err, strings.TrimSpace(complaint.String()))
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
}

// loader type-checks packages from their source, without C: of those that a program imports only the declarations.
type loader struct {
	set      *token.FileSet
	packages map[string]listed
	checked  map[string]*types.Package
	exports  types.Importer
}

// newLoader finds out what the packages below a folder are made of.
func newLoader(dir string) (*loader, []listed, error) {
	own, err := list(dir, "./...")
	if err != nil {
		return nil, nil, err
	}
	all, err := list(dir, "-deps", "./...")
	if err != nil {
		return nil, nil, err
	}
	l := &loader{set: token.NewFileSet(), packages: map[string]listed{}, checked: map[string]*types.Package{}}
	var standard []string
	for _, p := range all {
		l.packages[p.ImportPath] = p
		if p.Standard {
			standard = append(standard, p.ImportPath)
		}
	}
	compiled, err := list(dir, append([]string{"-export"}, standard...)...)
	if err != nil {
		return nil, nil, err
	}
	files := map[string]string{}
	for _, p := range compiled {
		files[p.ImportPath] = p.Export
	}
	l.exports = importer.ForCompiler(l.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	return l, own, nil
}

// Import is what package types asks for. libtorch for Go itself is not looked into: nothing that gotorch exports names it, and
// what a program has of it already stays.
func (l *loader) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p, ok := l.checked[path]; ok {
		return p, nil
	}
	p, ok := l.packages[path]
	switch {
	case ok && p.Standard:
		return l.exports.Import(path)
	case !ok || path == ours || strings.HasPrefix(path, ours+"/"):
		empty := types.NewPackage(path, filepath.Base(path))
		empty.MarkComplete()
		l.checked[path] = empty
		return empty, nil
	}
	files, err := l.parse(p, nil)
	if err != nil {
		return nil, err
	}
	config := types.Config{Importer: l, FakeImportC: true, IgnoreFuncBodies: true, Error: func(error) {}}
	l.checked[path], _ = config.Check(path, l.set, files, nil)
	return l.checked[path], nil
}

// parse reads the files of a package, and keeps their text in sources if that is there.
func (l *loader) parse(p listed, sources map[string][]byte) (files []*ast.File, err error) {
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		path := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(l.set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		if sources != nil {
			sources[path] = text
		}
	}
	return files, nil
}

// load type-checks a package of the program, bodies included. It must be free of mistakes.
func (l *loader) load(p listed) (*program, error) {
	g := &program{name: p.Name, dir: p.Dir, set: l.set, sources: map[string][]byte{}, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}, used: map[string]bool{}, helpers: map[string]bool{}}
	var err error
	if g.files, err = l.parse(p, g.sources); err != nil {
		return nil, err
	}
	config := types.Config{Importer: l, FakeImportC: true}
	if _, err = config.Check(p.ImportPath, l.set, g.files, g.info); err != nil {
		return nil, fmt.Errorf("the program does not compile as it is: %w", err)
	}
	return g, nil
}
