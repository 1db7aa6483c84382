package lint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The programs of README compile, as they stand there.
func TestProgramsInREADMECompile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	programs := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllSubmatch(text, -1)
	require.NotEmpty(t, programs)
	for i, program := range programs {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("program%d.go", i))
		require.NoError(t, os.WriteFile(file, program[1], 0o644))
		vet := exec.Command("go", "vet", file)
		vet.Dir = root
		out, err := vet.CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
}
