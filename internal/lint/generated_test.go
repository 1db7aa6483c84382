package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGeneratedFilesSaySo(t *testing.T) {
	named := regexp.MustCompile(`_gen(_\w+)?\.(go|cc|h)$`)
	eachFile(t, []string{".go", ".cc", ".h"}, func(name string, text []byte) {
		assert.Equal(t, named.MatchString(name), ours(text), "%s: generated files, and only they, are named …_gen and start with %q",
			name, header)
	})
}

func TestGeneratedIsRegenerated(t *testing.T) {
	const schema = "third_party/libtorch/torchgen/packaged/ATen/native/native_functions.yaml"
	if _, err := os.Stat(filepath.Join(root, schema)); err != nil {
		t.Skip("libtorch is not installed, and its operators' schema with it: ", err)
	}
	cmd := exec.Command("go", "run", "./cgo/gen", "-check")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "run go run ./cgo/gen\n%s", out)
}
