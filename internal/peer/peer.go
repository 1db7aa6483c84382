package peer

import (
	_ "embed"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/libtorch-go/libtorch/internal/home"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// Tensors are tensors by name.
type Tensors = map[string]torch.Tensor

//go:embed peer.py
var harness []byte

// Run calls the script's main with the inputs and arguments, and returns its results, which
// are closed when the test ends. It skips the test where there is no Python with torch,
// unless the variable CI is set.
func Run(t testing.TB, script string, inputs Tensors, args ...string) Tensors {
	t.Helper()
	dir := t.TempDir()
	in, out, run := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "out.safetensors"), filepath.Join(dir, "peer.py")
	if err := os.WriteFile(run, harness, 0o600); err != nil {
		t.Fatal("peer: ", err)
	}
	if err := safetensors.Save(in, maps.All(inputs)); err != nil {
		t.Fatal("peer: ", err)
	}
	cmd := Command(t, append([]string{run, script, in, out}, args...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("peer: %s: %v\n%s", script, err, text)
	} else if len(text) > 0 {
		t.Logf("peer: %s says\n%s", script, text)
	}
	file, err := safetensors.Load(out)
	if err != nil {
		t.Fatal("peer: ", err)
	}
	t.Cleanup(file.Close)
	return file.Tensors
}

// Command is Python with torch on the same libtorch, with one thread, about to run with the
// arguments. It skips the test as [Run] does.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd, err := Python()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("peer: ", err)
		}
		t.Skip("peer: ", err)
	}
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(cmd.Environ(), "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

// Python is the peer that build.sh makes, or the env.sh of a bundle: a command without arguments.
func Python() (*exec.Cmd, error) {
	dir := home.FromEnv()
	if dir == "" {
		dir = above("third_party")
	}
	made := filepath.Join(dir, "peer", "python")
	if _, err := os.Stat(made); err == nil {
		return exec.Command(made), nil
	}
	return nil, errors.New("there is no Python with torch to compare with; run ./build.sh, or, in a bundle, see what its " +
		"scripts say of Python")
}

// above finds a folder of that name here or in one of the folders around.
func above(name string) string {
	dir, err := os.Getwd()
	if err != nil {
		return name
	}
	for {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil || dir == filepath.Dir(dir) {
			return path
		}
		dir = filepath.Dir(dir)
	}
}
