package lint

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	maxFile     = 500
	maxFunction = 60
	maxLine     = 140 // characters; a tab is one
)

func TestPackagesExplainThemselves(t *testing.T) {
	for _, p := range allPackages(t) {
		switch {
		case p.Name == "main" && strings.HasPrefix(p.path(), "examples/"):
			assert.FileExists(t, filepath.Join(p.Dir, "README.md"))
			fallthrough
		case p.Name == "main":
			assert.NotEmpty(t, p.Doc, "command %s has no comment", p.path())
		default:
			assert.FileExists(t, filepath.Join(p.Dir, "doc.go"))
			assert.True(t, strings.HasPrefix(p.Doc, "Package "+p.Name+" "), "the comment of %s starts with %q", p.path(), p.Doc)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	eachFile(t, []string{".go", ".cc", ".h", ".py", ".sh"}, func(name string, text []byte) {
		if generated(text) {
			return
		}
		assert.LessOrEqual(t, lines(text), maxFile, "%s is too long", name)
	})
}

func TestLinesFitAScreen(t *testing.T) {
	eachFile(t, []string{".go"}, func(name string, text []byte) {
		if generated(text) {
			return
		}
		number := 0
		for line := range bytes.Lines(text) {
			number++
			assert.LessOrEqual(t, utf8.RuneCount(bytes.TrimSuffix(line, []byte("\n"))), maxLine, "%s:%d is too wide", name, number)
		}
	})
}

func TestGoSource(t *testing.T) {
	eachFile(t, []string{".go"}, func(name string, text []byte) {
		clean, err := format.Source(text)
		if !assert.NoError(t, err, name) {
			return
		}
		assert.True(t, string(clean) == string(text), "%s is not gofmt'ed", name)
		if generated(text) {
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := set.Position(fn.Pos()), set.Position(fn.End())
			assert.LessOrEqual(t, last.Line-first.Line+1, maxFunction, "%v: %s is too long", first, fn.Name.Name)
			assert.False(t, fn.Recv == nil && fn.Name.Name == "init", "%v: nothing happens in init", first)
		}
	})
}

// A cleanup waits with the processor that found it, and where GOMAXPROCS falls, for good:
// what frees memory of libtorch's is a finalizer.
func TestNothingIsLeftToCleanups(t *testing.T) {
	eachFile(t, []string{".go"}, func(name string, text []byte) {
		if !strings.HasPrefix(name, "internal/lint/") {
			assert.NotContains(t, string(text), "runtime.AddCleanup", name)
		}
	})
}

// Tests that make tensors must show that none is left.
func TestTestsEndClean(t *testing.T) {
	for _, p := range allPackages(t) {
		tests := slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		imports := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		if len(tests) == 0 || !slices.Contains(imports, module+"/torch") && p.path() != "torch" {
			continue
		}
		ends := slices.ContainsFunc(tests, func(name string) bool {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			require.NoError(t, err)
			return strings.Contains(string(text), "torchtest.Main(") || strings.Contains(string(text), "torchtest.NoLeaks(")
		})
		assert.True(t, ends, "the tests of %s use neither torchtest.Main nor torchtest.NoLeaks", p.path())
	}
}
