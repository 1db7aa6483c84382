package guides

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/torchtest"
)

var update = flag.Bool("update", false, "write the programs into the guides")

func TestMain(m *testing.M) { torchtest.Main(m) }

const docs = "../../docs"

// place is where a guide names a program: a comment, the program, and what it prints.
var place = regexp.MustCompile("(?s)<!-- (Example\\w+) -->\n(?:```go\n.*?```\n)?(?:```text\n.*?```\n)?")

// programs are the Examples of this package as a guide shows them: the program, and its output.
func programs(t *testing.T) map[string]string {
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	all := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && strings.HasPrefix(fn.Name.Name, "Example") {
				body := string(text[set.Position(fn.Body.Lbrace).Offset+1 : set.Position(fn.Body.Rbrace).Offset])
				all[fn.Name.Name] = shown(t, fn.Name.Name, body)
			}
		}
	}
	return all
}

func shown(t *testing.T, name, body string) string {
	program, output, found := strings.Cut(body, "\t// Output:")
	require.True(t, found, "%s is never run: it has no output", name)
	unindent := func(text, indent string) string {
		var b strings.Builder
		for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
			b.WriteString(strings.TrimPrefix(line, indent))
		}
		return b.String()
	}
	output = unindent(strings.TrimSpace(unindent(output, "\t")), "// ")
	return "<!-- " + name + " -->\n```go\n" + unindent(program, "\t") + "```\n```text\n" + output + "```\n"
}

// What a guide shows is what runs here, and all that runs here is shown.
func TestGuidesShowWhatRuns(t *testing.T) {
	all := programs(t)
	require.NotEmpty(t, all)
	guides, err := filepath.Glob(filepath.Join(docs, "*.md"))
	require.NoError(t, err)
	used := map[string]bool{}
	for _, guide := range guides {
		text, err := os.ReadFile(guide)
		require.NoError(t, err)
		want := place.ReplaceAllStringFunc(string(text), func(old string) string {
			name := place.FindStringSubmatch(old)[1]
			require.Contains(t, all, name, guide)
			used[name] = true
			return all[name]
		})
		if *update && want != string(text) {
			require.NoError(t, os.WriteFile(guide, []byte(want), 0o644))
			continue
		}
		require.Equal(t, want, string(text), "%s: run go test ./internal/guides -update", guide)
	}
	for name := range all {
		require.True(t, used[name], "no guide shows %s", name)
	}
}

// Links between the guides, and from the packages to them, lead somewhere.
func TestGuidesAreLinked(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	doc, err := os.ReadFile("../../torch/doc.go")
	require.NoError(t, err)
	link := regexp.MustCompile(`\]\(([\w./-]+)(?:#[\w-]+)?\)`)
	for _, name := range []string{"memory", "goroutines", "mixedprecision", "performance", "deployment"} {
		require.True(t, strings.Contains(string(readme), "(docs/"+name+".md)"), "README does not name %s", name)
		require.True(t, strings.Contains(string(doc), "docs/"+name+".md"), "the comment of package torch does not name %s", name)
		text, err := os.ReadFile(filepath.Join(docs, name+".md"))
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(docs, m[1]))
			require.NoError(t, err, "%s links to %s", name, m[1])
		}
	}
}
