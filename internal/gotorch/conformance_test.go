package gotorch

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/wangkuiyi/gotorch/variadic"

	"github.com/libtorch-go/libtorch/internal/peer"
)

const (
	ancestor = "github.com/wangkuiyi/gotorch"
	root     = "../.."
	compat   = root + "/compat/gotorch"
)

// original is the folder of the real gotorch, of the version that go.mod names.
var original = sync.OnceValues(func() (string, error) {
	if out, err := command(root, "go", "mod", "download", ancestor).CombinedOutput(); err != nil {
		return string(out), err
	}
	out, err := command(root, "go", "list", "-m", "-f", "{{.Dir}}", ancestor).Output()
	return strings.TrimSpace(string(out)), err
})

func theOriginal(t *testing.T) string {
	t.Helper()
	dir, err := original()
	require.NoError(t, err, dir)
	return dir
}

// command runs a program in a folder, with libtorch from this checkout and without whatever flags these tests are run with.
func command(dir string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	home, err := filepath.Abs(root)
	if err != nil {
		panic(err)
	}
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off", "LIBTORCH_GO_HOME="+home)
	return cmd
}

// The module that go.mod names is the real one, and no replacement.
func TestTheAncestorIsReal(t *testing.T) {
	assert.FileExists(t, filepath.Join(theOriginal(t), "cgotorch", "tensor.cc"))
	assert.True(t, variadic.Has([]map[string]interface{}{{"dim": 1}}, "dim"))
}

// overlay lays the test files of the original over our packages.
func overlay(t *testing.T) (file string, tests int) {
	from, err := filepath.Abs(compat)
	require.NoError(t, err)
	dir := theOriginal(t)
	replace := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(dir, path)
		replace[filepath.Join(from, name)] = path
		return err
	}))
	file = filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o644))
	return file, len(replace)
}

// results are the names of tests by how they ended: pass, fail or skip.
type results map[string][]string

// run runs tests of the original over our packages, with a collection after every few kilobytes, and under the race detector if
// these tests are.
func run(t *testing.T, file string, args ...string) (results, string) {
	first := []string{"test", "-json", "-overlay", file, "-vet=off", "-count=1"}
	if race {
		first = append(first, "-race")
	}
	cmd := command(compat, "go", append(first, args...)...)
	cmd.Env = append(cmd.Env, "GOGC=5")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	r, said := results{}, strings.Builder{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var event struct{ Action, Package, Test, Output string }
		if err := d.Decode(&event); err == io.EOF {
			return r, said.String()
		} else {
			require.NoError(t, err)
		}
		said.WriteString(event.Output)
		switch event.Action {
		case "pass", "fail", "skip":
			if event.Test != "" {
				r[event.Action] = append(r[event.Action], strings.TrimPrefix(event.Package, ancestor)+" "+event.Test)
			}
		}
	}
}

// goldens are the tests that ask for what libtorch 1.6 did and 2.11 does not do.
var goldens = []string{"TestTensorGobEncode", "TestFunctionalBinaryCrossEntropy"}

// skipped want a card, or an archive of ImageNet.
var skipped = []string{" TestMultiCUDAStream", "/vision/imageloader TestImageTgzLoaderHeavy"}

// Every test of gotorch passes over our packages: the 107 that its own build runs without OpenCV, and the 22 that it runs with
// it.
func TestItsOwnTestsPass(t *testing.T) {
	file, n := overlay(t)
	require.Equal(t, 32, n, "test files")
	got, said := run(t, file, "-skip", "^("+strings.Join(goldens, "|")+")$", "./...")
	require.Empty(t, got["fail"], said)
	assert.NotContains(t, said, "[build failed]")
	assert.Empty(t, slices.DeleteFunc(got["skip"], func(name string) bool { return slices.Contains(skipped, name) }))
	t.Logf("%d pass, %d skipped, %d golden values of libtorch 1.6 left out", len(got["pass"]), len(got["skip"]), len(goldens))
	assert.GreaterOrEqual(t, len(got["pass"])+len(got["skip"]), 129-len(goldens))
}

// Each of the golden values is what Python 2.11 says, in the place of what 1.6 said: an error for targets beyond 1, and 1,577 bytes
// for a matrix of three by three.
func TestGoldenValuesArePythons(t *testing.T) {
	file, _ := overlay(t)
	got, said := run(t, file, "-run", "^("+strings.Join(goldens, "|")+")$", ".", "./nn/functional")
	assert.Len(t, got["fail"], len(goldens))
	python, err := peer.Command(t, "-c", `
import io, torch
import torch.nn.functional as F
x = torch.tensor([[1., 2], [3, 4], [5, 6]], dtype=torch.float64)
y = torch.tensor([[6., 5], [4, 3], [2, 1]], dtype=torch.float64)
try:
    F.binary_cross_entropy(torch.sigmoid(x), y)
except RuntimeError as e:
    print(e)
f = io.BytesIO()
torch.save(torch.eye(3), f)
print(len(f.getvalue()))
`).Output()
	require.NoError(t, err)
	words := strings.Split(strings.TrimSpace(string(python)), "\n")
	require.Len(t, words, 2)
	assert.Contains(t, said, words[0])
	assert.Contains(t, said, "actual  : "+words[1])
}
