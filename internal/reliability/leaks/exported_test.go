package leaks

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
)

const (
	module = "github.com/libtorch-go/libtorch/"
	root   = "../../.."
)

// profileVariable names the profile of a run of the other tests.
const profileVariable = "LEAKS_PROFILE"

// block is a run of statements in a profile.
type block struct {
	line, column int
	count        int
}

// profile reads the blocks of each file of the module. Lines of several packages' runs
// add up.
func profile(t *testing.T, path string) map[string][]block {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	blocks := map[string][]block{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, rest, _ := strings.Cut(strings.TrimPrefix(lines.Text(), module), ":")
		var b block
		var endLine, endColumn, statements int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.column, &endLine, &endColumn, &statements, &b.count); err == nil {
			blocks[name] = append(blocks[name], b)
		}
	}
	return blocks
}

// exported is how often each exported function and method of the profiled files was
// entered, by its name after its package's path. Those without statements are left out.
func exported(t *testing.T, blocks map[string][]block) map[string]int {
	t.Helper()
	entered := map[string]int{}
	for name, list := range blocks {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || fn.Body == nil || len(fn.Body.List) == 0 || !exportedReceiver(fn) {
				continue
			}
			first, last := set.Position(fn.Body.Lbrace), set.Position(fn.Body.Rbrace)
			entered[filepath.Dir(name)+"."+receiver(fn)+fn.Name.Name] = entry(list, first, last)
		}
	}
	return entered
}

// entry is the count of the first block between two positions.
func entry(list []block, first, last token.Position) (count int) {
	at := block{line: last.Line, column: last.Column}
	for _, b := range list {
		after := b.line > first.Line || b.line == first.Line && b.column >= first.Column
		before := b.line < at.line || b.line == at.line && b.column < at.column
		switch {
		case after && before:
			at = b
		case b.line == at.line && b.column == at.column:
			at.count += b.count
		}
	}
	return at.count
}

// receiver is the type of a method, with a dot.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	typ := fn.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name + "."
		default:
			return "?."
		}
	}
}

// exportedReceiver leaves out methods that nobody outside can name. Those of a type that
// exported ones embed are promoted; they are in.
func exportedReceiver(fn *ast.FuncDecl) bool {
	return fn.Recv == nil || ast.IsExported(receiver(fn)) || promoted[strings.TrimSuffix(receiver(fn), ".")]
}

// promoted are unexported types whose methods exported types have.
var promoted = map[string]bool{"base": true, "optimizer": true, "scaled": true}

// exceptions are the names in exceptions.txt, each with the reason above it. A name may end
// in a star.
func exceptions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("exceptions.txt")
	require.NoError(t, err)
	list, why := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if reason, ok := strings.CutPrefix(line, "# "); ok {
			why = reason
		} else if line != "" {
			require.NotEmpty(t, why, "%s has no reason", line)
			list[line] = why
		}
	}
	return list
}

func excused(list map[string]string, name string) (by string, ok bool) {
	if _, ok := list[name]; ok {
		return name, true
	}
	for pattern := range list {
		if prefix, star := strings.CutSuffix(pattern, "*"); star && strings.HasPrefix(name, prefix) {
			return pattern, true
		}
	}
	return "", false
}

// unseen are the packages with statements of which the profile has none: the tests do not
// import them.
func unseen(t *testing.T, blocks map[string][]block) (list []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", "{{.ImportPath}}", "./torch/...", "./amp", "./vision/...")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	seen := map[string]bool{}
	for name := range blocks {
		seen[filepath.Dir(name)] = true
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimPrefix(strings.TrimSpace(name), module)
		files, err := filepath.Glob(filepath.Join(root, name, "*.go"))
		require.NoError(t, err)
		only := func(file string) bool { return filepath.Base(file) == "doc.go" || strings.HasSuffix(file, "_test.go") }
		if !seen[name] && slices.ContainsFunc(files, func(file string) bool { return !only(file) }) {
			list = append(list, name)
		}
	}
	return list
}

func TestExportedFunctionsAreAllCalled(t *testing.T) {
	path := os.Getenv(profileVariable)
	if path == "" {
		t.Skip("there is no profile of the other tests: see the package's documentation")
	}
	called, list, used := 0, exceptions(t), map[string]bool{}
	var missing []string
	blocks := profile(t, path)
	assert.Empty(t, unseen(t, blocks), "packages that no test here imports")
	entered := exported(t, blocks)
	for _, name := range slices.Sorted(maps.Keys(entered)) {
		if entered[name] >= times {
			called++
			continue
		}
		by, ok := excused(list, name)
		if used[by] = true; !ok {
			missing = append(missing, fmt.Sprintf("%s: %d times", name, entered[name]))
		}
	}
	reliability.Note(t, "exported functions", len(entered))
	reliability.AtLeast(t, fmt.Sprintf("exported functions called %d times or more", times), called, 1800)
	reliability.Note(t, "exported functions with a reason not to be", len(entered)-called-len(missing))
	reliability.Exactly(t, "exported functions that were forgotten", len(missing), 0)
	for _, text := range missing {
		t.Log(text)
	}
	for name := range list {
		assert.True(t, used[name], "exceptions.txt: %s is called, or gone", name)
	}
}

func TestEntryIsTheFirstBlock(t *testing.T) {
	at := func(line, column int) token.Position { return token.Position{Line: line, Column: column} }
	list := []block{{5, 2, 7}, {3, 20, 9}, {3, 5, 4}, {9, 1, 1}, {3, 20, 1}}
	assert.Equal(t, 10, entry(list, at(3, 19), at(8, 1)))
	assert.Equal(t, 7, entry(list, at(4, 1), at(8, 1)))
	assert.Equal(t, 0, entry(list, at(6, 1), at(8, 1)))
}
