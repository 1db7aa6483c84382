package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In pieces, so that this file passes its own test.
const emptyPhrase = "calls " + "aten::"

// The generator writes the empty phrase for what PyTorch keeps private. Everything that
// users see has a sentence in cgo/gen/docs.txt.
func TestCommentsSaySomething(t *testing.T) {
	eachFile(t, []string{".go"}, func(name string, text []byte) {
		if strings.HasPrefix(name, "torch/aten/") || strings.HasPrefix(name, "cgo/gen/") {
			return
		}
		for i, line := range strings.Split(string(text), "\n") {
			assert.NotContains(t, line, emptyPhrase, "%s:%d: write the sentence into cgo/gen/docs.txt", name, i+1)
		}
	})
}

// Every exported name of a package that others can import has a comment, which begins with it;
// so has every field of the generated options.
func TestExportedNamesAreExplained(t *testing.T) {
	eachFile(t, []string{".go"}, func(name string, text []byte) {
		switch {
		case strings.HasSuffix(name, "_test.go"), strings.Contains(name, "internal/"),
			strings.HasPrefix(name, "examples/"), strings.HasPrefix(name, "bench/"), strings.HasPrefix(name, "torch/aten/"):
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		if file.Name.Name == "main" {
			return
		}
		for _, decl := range file.Decls {
			for _, node := range unexplained(decl, generated(text)) {
				assert.Fail(t, "an exported name without a comment of its own", "%v: %s", set.Position(node.Pos()), node.Name)
			}
		}
	})
}

// unexplained lists the exported names of a declaration that no comment explains.
func unexplained(decl ast.Decl, fields bool) (names []*ast.Ident) {
	missing := func(id *ast.Ident, comments ...*ast.CommentGroup) {
		if !id.IsExported() {
			return
		}
		for _, c := range comments {
			if c.Text() != "" {
				return
			}
		}
		names = append(names, id)
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || receiverExported(d.Recv.List[0].Type) {
			missing(d.Name, d.Doc)
			if text := d.Doc.Text(); text != "" && d.Name.IsExported() && !strings.HasPrefix(text, d.Name.Name) {
				names = append(names, d.Name)
			}
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				missing(s.Name, d.Doc, s.Doc, s.Comment)
				if st, ok := s.Type.(*ast.StructType); ok && fields {
					for _, f := range st.Fields.List {
						for _, id := range f.Names {
							missing(id, f.Doc, f.Comment)
						}
					}
				}
			case *ast.ValueSpec:
				for _, id := range s.Names {
					missing(id, d.Doc, s.Doc, s.Comment)
				}
			}
		}
	}
	return names
}

func receiverExported(typ ast.Expr) bool {
	switch t := typ.(type) {
	case *ast.StarExpr:
		return receiverExported(t.X)
	case *ast.IndexExpr:
		return receiverExported(t.X)
	case *ast.IndexListExpr:
		return receiverExported(t.X)
	case *ast.Ident:
		return t.IsExported()
	}
	return false
}
