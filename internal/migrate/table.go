package migrate

import (
	"fmt"
	"regexp"
	"strings"
)

// groups are the sections of the table, with the packages of gotorch in each.
var groups = []struct{ title, prefix string }{
	{"Tensors", "gotorch"}, {"Networks", "nn"}, {"Functions", "functional"}, {"Initial values", "initializer"}, {"Models", "models"},
	{"Images", "transforms"}, {"Loading", "imageloader"}, {"The rest", ""},
}

// Table is what becomes of every exported name, in Markdown.
func Table() string {
	var b strings.Builder
	done := map[string]bool{"gocv": true}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n### %s\n\n| gotorch | libtorch for Go | |\n|---|---|---|\n", g.title)
		for _, r := range ruleList() {
			prefix, _, _ := strings.Cut(r.name, ".")
			if prefix == g.prefix || g.prefix == "" && !done[prefix] {
				fmt.Fprintf(&b, "| `%s` | %s |\n", r.name, strings.Join(r.cells(), " | "))
			}
		}
		done[g.prefix] = true
	}
	return b.String()
}

var (
	optional = regexp.MustCompile(`\{((?:[^{}|]|\{[^{}]*\})*)\|[^{}|]+\}`)
	standard = regexp.MustCompile(`\|[^;}]+`)
	letters  = regexp.MustCompile(`\$[a-z](\d)`)
	opposite = regexp.MustCompile(`\$n(\d)`)
)

// cells are what stands beside a name: the expression in its place, and how that comes to be or what is different.
func (r rule) cells() []string {
	switch {
	case r.text == "-":
		return []string{r.hint, "removed"}
	case r.text == "?":
		return []string{r.hint, "by hand"}
	case strings.HasPrefix(r.text, "support:"), special(r.text) != nil:
		hint := r.hint
		if hint == "" {
			hint = "a function in the program"
		}
		if special(r.text) == nil {
			return []string{hint, "a copy in " + SupportFile}
		}
		return []string{hint, ""}
	}
	text := options.ReplaceAllStringFunc(r.text, func(s string) string {
		m := options.FindStringSubmatch(s)
		return ", " + m[1] + "{" + strings.ReplaceAll(strings.TrimSpace(standard.ReplaceAllString(m[2], "")), ";", ",") + "}"
	})
	text = optional.ReplaceAllString(text, "$1")
	text = opposite.ReplaceAllString(text, "!$$$1")
	text = letters.ReplaceAllString(text, "$$$1")
	text = strings.ReplaceAll(helperName.ReplaceAllString(text, "$1"), "$p", "params")
	text = placeholder.ReplaceAllStringFunc(text, func(s string) string {
		switch s {
		case "$0":
			return "x"
		case "$...":
			return "…"
		}
		return string("abcdefghi"[s[1]-'1'])
	})
	return []string{"`" + text + "`", r.hint}
}
