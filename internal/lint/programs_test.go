package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The programs in examples are there to be read and copied.
const (
	maxExample = 120 // lines of main.go, which has the whole loop
	maxLoop    = 60  // lines of the loop of resnet18, which is a complete tool in several files
)

func TestExamplesFitAPage(t *testing.T) {
	seen := 0
	eachFile(t, []string{"/main.go"}, func(name string, text []byte) {
		if !strings.HasPrefix(name, "examples/") {
			return
		}
		seen++
		assert.LessOrEqual(t, lines(text), maxExample, "%s is too long", name)
	})
	assert.GreaterOrEqual(t, seen, 12)
}

// A user's module cannot import what is internal to this one, so the examples do not either; their
// tests may.
func TestExamplesImportWhatUsersCan(t *testing.T) {
	for _, p := range allPackages(t) {
		if !strings.HasPrefix(p.path(), "examples/") {
			continue
		}
		assert.NotContains(t, p.path(), "/internal/", "examples share nothing that a reader would have to look for")
		for _, path := range p.Imports {
			assert.NotContains(t, path, "/internal/", p.path())
		}
		assert.FileExists(t, filepath.Join(p.Dir, "README.md"))
		assert.NotEmpty(t, p.TestGoFiles, "%s has no test", p.path())
	}
}

// resnet18's loop is one function, from the batch to the meter.
func TestTheLoopOfResNet18(t *testing.T) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, filepath.Join(root, "examples/resnet18/train.go"), nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "examples/resnet18/train.go"))
	require.NoError(t, err)
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "learn" {
			continue
		}
		first, last := set.Position(fn.Pos()), set.Position(fn.End())
		assert.LessOrEqual(t, last.Line-first.Line+1, maxLoop)
		at, body := 0, string(text[first.Offset:last.Offset])
		for _, part := range []string{"amp.Autocast(", "F.CrossEntropy(", "Backward()", "scaler.Step(", "ZeroGrad()",
			"range t.train.Epoch", "sched.Step()", ".add("} {
			next := strings.Index(body[at:], part)
			assert.GreaterOrEqual(t, next, 0, "%s, in this order", part)
			at += max(next, 0)
		}
		return
	}
	assert.Fail(t, "there is no function learn in examples/resnet18/train.go")
}
