package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// most is how many functions package torch may have besides its methods: what PyTorch has in
// torch.* and no more.
const most = 320

// public are the packages that programs import.
func public(t *testing.T) (list []goPackage) {
	for _, p := range allPackages(t) {
		path := p.path()
		if p.Name != "main" && path != "cgo" && !strings.Contains(path, "internal/") && !strings.HasPrefix(path, "cgo/") {
			list = append(list, p)
		}
	}
	require.NotEmpty(t, list)
	return list
}

// eachDeclaration calls see for every declaration of a package but those of its tests.
func eachDeclaration(t *testing.T, p goPackage, see func(set *token.FileSet, d ast.Decl)) {
	set := token.NewFileSet()
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			see(set, d)
		}
	}
}

// typeName is the last word of a type: SGDOptions of *optim.SGDOptions.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.Ellipsis:
		return typeName(e.Elt)
	case *ast.IndexExpr:
		return typeName(e.X)
	}
	return ""
}

func isOptions(name string) bool {
	return strings.HasSuffix(name, "Options") || strings.HasSuffix(name, "Masks")
}

// Options are at most one struct, by value, behind all other arguments.
func TestOptionsAreOneTrailingValue(t *testing.T) {
	for _, p := range public(t) {
		eachDeclaration(t, p, func(set *token.FileSet, d ast.Decl) {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				return
			}
			params := fn.Type.Params.List
			for i, param := range params {
				_, pointer := param.Type.(*ast.StarExpr)
				assert.False(t, pointer && isOptions(typeName(param.Type)), "%v: %s takes a pointer to options", set.Position(fn.Pos()), fn.Name.Name)
				if rest, ok := param.Type.(*ast.Ellipsis); ok && isOptions(typeName(rest)) {
					assert.Equal(t, len(params)-1, i, "%v: options stand last", set.Position(fn.Pos()))
				}
			}
		})
	}
}

func TestNothingRawIsExported(t *testing.T) {
	for _, p := range public(t) {
		eachDeclaration(t, p, func(set *token.FileSet, d ast.Decl) {
			if fn, ok := d.(*ast.FuncDecl); ok {
				name := fn.Name.Name
				assert.False(t, strings.HasPrefix(name, "Raw") || name == "FromRaw", "%v: %s belongs into internal/bridge",
					set.Position(fn.Pos()), name)
			}
		})
	}
}

func TestRootIsNoWarehouse(t *testing.T) {
	n := 0
	for _, p := range public(t) {
		if p.path() == "torch" {
			eachDeclaration(t, p, func(_ *token.FileSet, d ast.Decl) {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() {
					n++
				}
			})
		}
	}
	assert.NotZero(t, n)
	assert.LessOrEqual(t, n, most, "functions in package torch")
}

// bitSets are combined with |, which only integers can be.
var bitSets = []string{"Key"}

// An enumeration is a type of its own, to which no untyped constant converts: x.Sum(1) is a
// dimension, never a dtype.
func TestEnumerationsAreNoIntegers(t *testing.T) {
	integers := strings.Fields("int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 byte")
	for _, p := range public(t) {
		kinds, enumerated := map[string]bool{}, map[string]token.Position{}
		eachDeclaration(t, p, func(set *token.FileSet, d ast.Decl) {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				return
			}
			for _, s := range g.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if id, ok := s.Type.(*ast.Ident); ok && s.Name.IsExported() && slices.Contains(integers, id.Name) && !s.Assign.IsValid() {
						kinds[s.Name.Name] = true
					}
				case *ast.ValueSpec:
					if g.Tok == token.CONST && s.Type != nil && s.Names[0].IsExported() {
						enumerated[typeName(s.Type)] = set.Position(s.Pos())
					}
				}
			}
		})
		for name, at := range enumerated {
			assert.False(t, kinds[name] && !slices.Contains(bitSets, name), "%v: %s takes any number", at, name)
		}
	}
}
