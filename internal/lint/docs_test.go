package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/parity.md takes an hour to measure, so it may be older than the names of today.
func TestParityNamesTheFormsThereAre(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(root, "docs/ops.tsv"))
	require.NoError(t, err)
	forms := map[string]string{}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Split(line, "\t"); len(fields) == 3 {
			forms[fields[0]] = fields[1]
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/parity.md"))
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `(.+?)` \\| `(\\w+\\..+?)` \\|").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(rows), 800)
	for _, row := range rows {
		assert.Equal(t, forms[row[1]], row[2], "docs/parity.md: %s; run ./build.sh parity -update, or mend the name", row[1])
	}
}
