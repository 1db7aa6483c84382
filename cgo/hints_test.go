package cgo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInGo(t *testing.T) {
	for text, want := range map[string]string{
		"no advice\n  at all":                "no advice at all",
		"got input size torch.Size([1, 2])":  "got input size [1, 2]",
		"torch.Size([]) and torch.Size([3])": "[] and [3]",
		"a view. Use .reshape(...) instead.": "a view. Use Reshape instead.",
	} {
		assert.Equal(t, want, InGo(text))
	}
}

var (
	goName   = regexp.MustCompile(`\b((torch|nn|F|cuda|linalg|x)\.)?[A-Z][A-Za-z0-9]*\b`)
	pyName   = regexp.MustCompile(`=(True|False|None)\b|\bNone\b|\b(no_grad|autograd|nn\.functional)\b|\b[a-z_]+\(\)`)
	notNames = map[string]bool{"STFT": true, "ISTFT": true, "CUDA": true, "CSR": true}
)

// The advice names what there is, and no Python.
func TestHintsNameWhatThereIs(t *testing.T) {
	declared := map[string]bool{}
	for _, dir := range []string{"torch", "torch/nn", "torch/nn/functional", "torch/cuda", "torch/linalg"} {
		declaredIn(t, filepath.Join("..", dir), declared)
	}
	hints := hints()
	require.Greater(t, len(hints), 100)
	require.Equal(t, len(hints)/2, strings.Count(hintsText, "\n- "))
	require.Equal(t, len(hints)/2, strings.Count(hintsText, "\n+"))
	for i := 0; i < len(hints); i += 2 {
		assert.NotRegexp(t, pyName, hints[i+1])
		for _, name := range goName.FindAllString(hints[i+1], -1) {
			_, base, qualified := strings.Cut(name, ".")
			if !qualified {
				base = name
			}
			if !qualified && (notNames[name] || name[1:] == strings.ToLower(name[1:])) {
				continue // a plain word
			}
			assert.True(t, declared[base] || declared["Linalg"+base], "%q names %s, which is not there", hints[i+1], name)
		}
	}
}

// declaredIn collects the exported functions, methods, types and fields of a folder.
func declaredIn(t *testing.T, dir string, names map[string]bool) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = true
				return false
			case *ast.TypeSpec:
				names[n.Name.Name] = true
			case *ast.Field:
				for _, id := range n.Names {
					names[id.Name] = true
				}
			}
			return true
		})
	}
}
