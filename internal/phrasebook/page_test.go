package phrasebook

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/pytorch.md")

const page = "../../docs/pytorch.md"

// enough is how many phrases the tables of the page have at least.
const enough = 300

func TestPage(t *testing.T) {
	written := sources(t)
	total := 0
	used := map[string]bool{}
	find := func(title string) (*chapter, []string, string) {
		for _, c := range chapters {
			if c.title == title {
				used[title] = true
				w := written[title]
				require.Len(t, w.phrases, len(c.phrases), title)
				return c, w.phrases, w.setup
			}
		}
		require.Fail(t, "there is no chapter", title)
		return nil, nil, ""
	}
	for _, c := range chapters {
		if c.isTable() {
			total += len(c.phrases)
		}
	}
	fill := template.New("page.md").Funcs(template.FuncMap{
		"total": func() int { return total },
		"table": func(title string) string {
			return table(t, title, find)
		},
		"blocks": func(title string) string {
			return blocks(title, find)
		},
		"definitions": func(title string) string {
			c, _, _ := find(title)
			return "```python\n" + strings.TrimSpace(c.before) + "\n```"
		},
		"declaration": func(name string) string {
			return "```go\n" + declaration(t, name) + "\n```"
		},
	})
	fill, err := fill.ParseFiles(filepath.Join("testdata", "page.md"))
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, fill.Execute(&text, nil))
	for _, c := range chapters {
		assert.True(t, used[c.title], "the page has no place for %s", c.title)
	}
	require.GreaterOrEqual(t, total, enough)
	requireNoTwins(t)
	if *update {
		require.NoError(t, os.WriteFile(page, text.Bytes(), 0o644))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, text.String(), string(have), "docs/pytorch.md is out of date: run go test ./internal/phrasebook -update")
}

// requireNoTwins checks that no phrase is counted twice.
func requireNoTwins(t *testing.T) {
	t.Helper()
	seen := map[string]string{}
	for _, c := range chapters {
		for _, p := range c.phrases {
			if c.isTable() {
				assert.Empty(t, seen[p.python], "%s is in %s too: %s", c.title, seen[p.python], p.python)
				seen[p.python] = c.title
			}
		}
	}
}

type finder func(title string) (c *chapter, source []string, setup string)

// table is a chapter as rows. What stands in a row has no blocks.
func table(t *testing.T, title string, find finder) string {
	c, source, setup := find(title)
	var b strings.Builder
	if c.python != "" {
		fmt.Fprintf(&b, "```python\n%s\n```\n```go\n%s\n```\n\n", c.python, declared(setup))
	}
	b.WriteString("| PyTorch | Go |\n|---|---|\n")
	for i, p := range c.phrases {
		python, _, _ := strings.Cut(p.python, hidden)
		assert.NotContains(t, python+source[i], "`", p.python)
		fmt.Fprintf(&b, "| %s | %s |\n", cell(python), cell(source[i]))
	}
	return b.String()
}

var assigned = regexp.MustCompile(`(?m)^(\w+(?:, \w+)*) = `)

// declared is a setup as a program writes it: what is a variable of the test's is declared
// there.
func declared(setup string) string { return assigned.ReplaceAllString(setup, "$1 := ") }

// cell is code in a table: each line by itself, its blanks kept.
func cell(code string) string {
	lines := strings.Split(strings.ReplaceAll(code, "|", `\|`), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	for i, line := range lines {
		rest := strings.TrimLeft(line, " \t")
		indent := strings.ReplaceAll(line[:len(line)-len(rest)], "\t", "    ")
		lines[i] = strings.Repeat("&nbsp;", len(indent)) + "`" + rest + "`"
	}
	return strings.Join(lines, "<br>")
}

// blocks is a chapter as pairs of code blocks.
func blocks(title string, find finder) string {
	c, source, setup := find(title)
	var list []string
	for i, p := range c.phrases {
		python, _, _ := strings.Cut(p.python, hidden)
		code := source[i]
		if i == 0 && c.python != "" {
			python, code = c.python+"\n\n"+python, declared(setup)+"\n\n"+code
		}
		list = append(list, fmt.Sprintf("```python\n%s\n```\n```go\n%s\n```\n", strings.TrimSpace(python), code))
	}
	return strings.Join(list, "\n")
}
