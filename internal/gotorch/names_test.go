package gotorch

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// source imports packages of a module from its folder, and gocv from another, without looking at C.
type source struct {
	t        *testing.T
	dir      string
	gocv     string
	set      *token.FileSet
	standard types.Importer
	known    map[string]*types.Package
}

func newSource(t *testing.T, dir string) *source {
	if race {
		t.Skip("the race detector sees nothing in a type checker, and slows it down tenfold")
	}
	set := token.NewFileSet()
	return &source{t, dir, root + "/compat/gocv", set, importer.ForCompiler(set, "source", nil), map[string]*types.Package{}}
}

// Import is what package types asks for. What is neither gotorch's nor of the standard library is left empty.
func (s *source) Import(path string) (*types.Package, error) {
	if p, ok := s.known[path]; ok {
		return p, nil
	}
	name, ours := strings.CutPrefix(path, ancestor)
	switch {
	case ours:
		s.known[path] = s.check(path, filepath.Join(s.dir, name))
	case path == "gocv.io/x/gocv":
		s.known[path] = s.check(path, s.gocv)
	case strings.Contains(path, "."):
		p := types.NewPackage(path, filepath.Base(path))
		p.MarkComplete()
		s.known[path] = p
	default:
		return s.standard.Import(path)
	}
	return s.known[path], nil
}

// check reads a package. Mistakes in bodies of functions, and where other modules' names are used, do not matter here.
func (s *source) check(path, dir string) *types.Package {
	config := types.Config{Importer: s, FakeImportC: true, IgnoreFuncBodies: true, Error: func(error) {}}
	p, _ := config.Check(path, s.set, s.parse(dir), nil)
	return p
}

func (s *source) parse(dir string) (files []*ast.File) {
	listed, err := build.Default.ImportDir(dir, 0)
	require.NoError(s.t, err)
	for _, name := range slices.Concat(listed.GoFiles, listed.CgoFiles) {
		file, err := parser.ParseFile(s.set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(s.t, err)
		files = append(files, file)
	}
	return files
}

// exported lists what programs can name in a package, each with its type.
func exported(p *types.Package) map[string]string {
	list := map[string]string{}
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		list[name] = plain(o.Type())
		if c, ok := o.(*types.Const); ok {
			list[name] += " = " + c.Val().ExactString()
		}
		named, ok := o.Type().(*types.Named)
		if _, isType := o.(*types.TypeName); !ok || !isType {
			continue
		}
		list[name] = "type"
		switch u := named.Underlying().(type) {
		case *types.Struct:
			for f := range u.Fields() {
				if f.Exported() {
					list[name+"."+f.Name()] = plain(f.Type())
				}
			}
		case *types.Interface:
			for m := range u.Methods() {
				list[name+"."+m.Name()] = plain(m.Type())
			}
		default:
			list[name] = plain(u)
		}
		for m := range named.Methods() {
			if m.Exported() {
				list[name+"."+m.Name()] = plain(m.Type())
				if _, pointer := m.Signature().Recv().Type().(*types.Pointer); pointer {
					list[name+"."+m.Name()] += " of a pointer"
				}
			}
		}
	}
	return list
}

// plain writes a type without the names of parameters. C's pointers, which package types does not know, are Go's.
func plain(t types.Type) string {
	if s, ok := t.(*types.Signature); ok {
		t = types.NewSignatureType(nil, nil, nil, nameless(s.Params()), nameless(s.Results()), s.Variadic())
	}
	return strings.ReplaceAll(types.TypeString(t, func(p *types.Package) string { return p.Path() }), "invalid type", "unsafe.Pointer")
}

func nameless(list *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for v := range list.Variables() {
		vars = append(vars, types.NewParam(token.NoPos, nil, "", v.Type()))
	}
	return types.NewTuple(vars...)
}

// packages are those of the original that programs can import, by their folders.
func packages(t *testing.T) (list []string) {
	dir := theOriginal(t)
	folders := map[string]bool{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly)
		if err == nil && file.Name.Name != "main" {
			name, _ := filepath.Rel(dir, filepath.Dir(path))
			folders[name] = true
		}
		return err
	}))
	return slices.Sorted(maps.Keys(folders))
}

// more are our own additions, for programs that move step by step.
var more = []string{"Unwrap", "Wrap"}

// Nothing that a program could name is missing, and nothing has another type.
func TestEveryExportedNameIsThere(t *testing.T) {
	was, is := newSource(t, theOriginal(t)), newSource(t, compat)
	names := 0
	for _, folder := range packages(t) {
		path := strings.TrimSuffix(ancestor+"/"+folder, "/.")
		theirs, err := was.Import(path)
		require.NoError(t, err)
		ours, err := is.Import(path)
		require.NoError(t, err)
		want, have := exported(theirs), exported(ours)
		names += len(want)
		if _, ok := want["Optimizer.Opt"]; ok {
			want["Optimizer.Opt"] = "*unsafe.Pointer" // package types loses the star before a name of C's
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			assert.Equal(t, want[name], have[name], "%s.%s", path, name)
		}
		for name := range have {
			_, known := want[name]
			assert.True(t, known || slices.Contains(more, name), "%s.%s is new", path, name)
		}
	}
	t.Logf("%d exported names, fields and methods in %d packages", names, len(packages(t)))
	assert.GreaterOrEqual(t, names, 250)
}

// Where OpenCV is installed, packages compile against the real gocv, of the version that gotorch's go.mod names.
func TestImagesCompileWithTheRealGocv(t *testing.T) {
	out, err := command(compat, "go", "mod", "download", "-json", "gocv.io/x/gocv@v0.24.0").Output()
	require.NoError(t, err)
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &module))
	s := newSource(t, compat)
	s.gocv = module.Dir
	for _, folder := range []string{"vision/transforms", "vision/imageloader"} {
		config := types.Config{Importer: s, FakeImportC: true}
		_, err := config.Check(ancestor+"/"+folder, s.set, s.parse(filepath.Join(compat, folder)), nil)
		assert.NoError(t, err)
	}
	assert.NotNil(t, s.known["gocv.io/x/gocv"].Scope().Lookup("NewCLAHE"), "this is the stand-in")
}

// docs/gotorch.md says of every exported name what it is called here.
func TestTheGuideForgetsNothing(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/gotorch.md")
	require.NoError(t, err)
	said := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		assert.False(t, said[row[1]], "%s is there twice", row[1])
		said[row[1]] = true
	}
	was := newSource(t, theOriginal(t))
	for _, folder := range packages(t) {
		path := strings.TrimSuffix(ancestor+"/"+folder, "/.")
		p, err := was.Import(path)
		require.NoError(t, err)
		for name := range exported(p) {
			name = fmt.Sprintf("%s.%s", filepath.Base(path), name)
			assert.True(t, said[name], "docs/gotorch.md has no row for %s", name)
			delete(said, name)
		}
	}
	assert.Empty(t, said, "rows of docs/gotorch.md for what gotorch has not")
}
