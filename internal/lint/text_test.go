package lint

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Written in pieces, so that this file passes its own test.
var forbidden = map[string]*regexp.Regexp{
	"a folder of someone's machine": regexp.MustCompile(`(^|[\s"'` + "`" + `=(:,])/(root|work|home|Users|tmp)/\w`),
	"the host of a package registry": regexp.MustCompile(strings.Join([]string{
		`pypi\.(org|io)`, `pythonhosted\.org`, `registry\.npmjs`, `proxy\.golang`, `sum\.golang`, `registry\.yarnpkg`, `crates\.io`,
	}, "|")),
	"work for later": regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`),
}

var textFiles = []string{
	".go", ".cc", ".h", ".def", ".txt", ".tsv", ".tmpl", ".cmake", "CMakeLists.txt", ".py", ".sh", ".md", ".yml", ".yaml", ".json",
	".env", ".sum", ".mod", "run",
}

func TestTextNamesNoMachine(t *testing.T) {
	eachFile(t, textFiles, func(name string, text []byte) {
		for what, pattern := range forbidden {
			for i, line := range strings.Split(string(text), "\n") {
				if found := pattern.FindString(line); found != "" {
					assert.Fail(t, what, "%s:%d: %q", name, i+1, found)
				}
			}
		}
	})
}
