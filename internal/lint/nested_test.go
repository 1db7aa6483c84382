package lint

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nested are the modules in folders of the repository, which ./... leaves out: what they must not import.
var nested = map[string][]string{
	"compat/gotorch":    {module + "/cgo", module + "/internal/"},
	"compat/gocv":       {module + "/"},
	"cmd/serve/browser": {module + "/"},
}

// Modules of their own have no C either, and stand on the public packages as any user's do.
func TestNestedModulesAreUsers(t *testing.T) {
	all, err := files()
	require.NoError(t, err)
	var found []string
	for _, name := range all {
		if dir, ok := strings.CutSuffix(name, "/go.mod"); ok {
			found = append(found, dir)
		}
	}
	for dir := range nested {
		assert.Contains(t, found, dir)
	}
	for _, dir := range found {
		refused, known := nested[dir]
		require.True(t, known, "%s is a module of its own", dir)
		list, err := listPackages(filepath.Join(root, dir))
		require.NoError(t, err)
		require.NotEmpty(t, list)
		for _, p := range list {
			assert.Empty(t, p.CgoFiles, "%s imports C", p.ImportPath)
			assert.NotEmpty(t, p.Doc, p.ImportPath)
			if p.Name != "main" {
				assert.FileExists(t, filepath.Join(p.Dir, "doc.go"))
				assert.True(t, strings.HasPrefix(p.Doc, "Package "+p.Name+" "), "the comment of %s starts with %q", p.ImportPath, p.Doc)
			}
			for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
				assert.False(t, slices.ContainsFunc(refused, func(r string) bool { return strings.HasPrefix(path, r) }),
					"%s must not import %s", p.ImportPath, path)
			}
		}
	}
}
