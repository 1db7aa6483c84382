package phrasebook

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// written is the source of a chapter: the setup and the phrases, as the page shows them.
type written struct {
	setup   string
	phrases []string
}

// sources reads the chapters from this package's files, by their titles.
func sources(t *testing.T) map[string]written {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	list := map[string]written{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		require.NoError(t, err)
		base := file.FileStart
		cut := func(from, to token.Pos) string { return string(text[from-base : to-base]) }
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && isNamed(lit.Type, "chapter") {
				title, w := readChapter(t, lit, cut)
				require.NotContains(t, list, title)
				list[title] = w
				return false
			}
			return true
		})
	}
	return list
}

func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func readChapter(t *testing.T, lit *ast.CompositeLit, cut func(from, to token.Pos) string) (title string, w written) {
	t.Helper()
	for _, e := range lit.Elts {
		field, ok := e.(*ast.KeyValueExpr)
		require.True(t, ok)
		switch field.Key.(*ast.Ident).Name {
		case "title":
			text, err := strconv.Unquote(field.Value.(*ast.BasicLit).Value)
			require.NoError(t, err)
			title = text
		case "setup":
			body := field.Value.(*ast.FuncLit).Body
			w.setup = dedent(cut(body.Lbrace+1, body.Rbrace))
		case "phrases":
			for _, p := range field.Value.(*ast.CompositeLit).Elts {
				w.phrases = append(w.phrases, shown(t, readPhrase(p.(*ast.CompositeLit)), cut))
			}
		}
	}
	return title, w
}

// phraseSource is a phrase in the source.
type phraseSource struct {
	hidden bool // Python has hidden lines
	body   *ast.BlockStmt
}

func readPhrase(lit *ast.CompositeLit) (p phraseSource) {
	ast.Inspect(lit.Elts[0], func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		p.hidden = p.hidden || ok && isNamed(e, "hidden")
		return true
	})
	p.body = lit.Elts[1].(*ast.FuncLit).Body
	return p
}

// compared begins the statements of Go that are not shown, as hidden does the lines of Python.
const compared = "// ->"

// shown is the part of a function that the page shows: all but what only says what is compared.
func shown(t *testing.T, said phraseSource, cut func(from, to token.Pos) string) string {
	t.Helper()
	list := said.body.List
	end, ok := list[len(list)-1].(*ast.ReturnStmt)
	require.True(t, ok, cut(said.body.Pos(), said.body.End()))
	value := end.Results[0]
	result := dedent(cut(value.Pos(), value.End()))
	if call, ok := value.(*ast.CallExpr); ok && isNamed(call.Fun, "all") {
		result = cut(call.Lparen+1, call.Rparen)
	}
	if len(list) == 1 {
		return result
	}
	text, _, marked := strings.Cut(cut(said.body.Lbrace+1, end.Pos()), compared)
	before := strings.TrimSuffix(dedent(text), ";")
	if marked || said.hidden || onlyNames(value) {
		return before
	}
	return before + "\n" + result
}

// onlyNames tells whether an expression names variables and does nothing with them.
func onlyNames(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return true
	case *ast.IndexExpr:
		return onlyNames(e.X)
	case *ast.CallExpr:
		return isNamed(e.Fun, "all") && !slices.ContainsFunc(e.Args, func(e ast.Expr) bool { return !onlyNames(e) })
	}
	return false
}

// dedent removes what all lines after the first begin with, and empty lines around.
func dedent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	least := -1
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, "\t"))
		first := i == 0 && indent == 0 // it stood behind something else
		if !first && strings.TrimSpace(line) != "" && (least < 0 || indent < least) {
			least = indent
		}
	}
	for i, line := range lines {
		lines[i] = line[min(max(least, 0), len(line)-len(strings.TrimLeft(line, "\t"))):]
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// declaration is the source of a function of this package, or of a type with its constructor and
// its methods, without comments.
func declaration(t *testing.T, name string) string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var list []string
	for _, path := range files {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if !declares(d, name) {
				continue
			}
			var text strings.Builder
			require.NoError(t, format.Node(&text, set, d))
			list = append(list, text.String())
		}
	}
	require.NotEmpty(t, list, name)
	return strings.Join(list, "\n\n")
}

// declares tells whether d is of that name, its constructor or one of its methods.
func declares(d ast.Decl, name string) bool {
	switch d := d.(type) {
	case *ast.GenDecl:
		spec, ok := d.Specs[0].(*ast.TypeSpec)
		return ok && spec.Name.Name == name
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name == name || d.Name.Name == "New"+name
		}
		receiver := d.Recv.List[0].Type
		if p, ok := receiver.(*ast.StarExpr); ok {
			receiver = p.X
		}
		return isNamed(receiver, name)
	}
	return false
}
