package pt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// python runs the script that writes and compares files.
func python(t *testing.T, args ...string) string {
	out, err := peer.Command(t, append([]string{"testdata/files.py"}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// What Python wrote is read, written and read by Python: equal to the bit, with the same memory shared, in
// both formats and all protocols.
func TestPythonToGoToPython(t *testing.T) {
	torchtest.NoLeaks(t)
	from, to := t.TempDir(), t.TempDir()
	python(t, "write", from)
	files, err := os.ReadDir(from)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 120)
	for i, f := range files {
		v, err := pt.Load(filepath.Join(from, f.Name()), pt.LoadOptions{MMap: i%2 == 0})
		require.NoError(t, err, f.Name())
		require.NoError(t, pt.Save(filepath.Join(to, f.Name()), v), f.Name())
		pt.Close(v)
	}
	out := strings.Split(strings.TrimSpace(python(t, "compare", from, to)), "\n")
	require.Equal(t, fmt.Sprint(len(files)), out[len(out)-1])
}
