package lint

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// leastExamples is how many Examples the public packages have at least. It is a floor, below which
// whole subjects were without one, and no aim: a new Example need not raise it.
const leastExamples = 250

// Most readers look at an Example first. Each is run, which needs its output to be written down,
// and every public package has one.
func TestExamplesTeach(t *testing.T) {
	total := 0
	for _, p := range public(t) {
		var files []*ast.File
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments)
			require.NoError(t, err)
			files = append(files, file)
		}
		examples := doc.Examples(files...)
		for _, e := range examples {
			assert.True(t, e.Output != "" || e.EmptyOutput, "%s: Example%s has no output, so it is never run", p.path(), e.Name)
		}
		assert.NotEmpty(t, examples, "%s has no Example", p.path())
		total += len(examples)
	}
	t.Logf("%d Examples", total)
	assert.GreaterOrEqual(t, total, leastExamples)
}
