package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	where "github.com/libtorch-go/libtorch/internal/home"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Why CUDA cannot be used is settled when libtorch is loaded: each case is a process.
const childVariable = "CUDA_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "why" {
		fmt.Print(why(cuda.Unavailable()))
		return
	}
	torchtest.Main(m)
}

func why(err error) string {
	for name, reason := range map[string]error{
		"hidden": cuda.ErrHidden, "no driver": cuda.ErrNoDriver, "missing library": cuda.ErrMissingLibrary,
		"version mismatch": cuda.ErrVersionMismatch, "no device": cuda.ErrNoDevice,
	} {
		if errors.Is(err, reason) && errors.Is(err, torch.ErrNoCUDA) {
			return name + ": " + err.Error()
		}
	}
	return fmt.Sprint("? ", err)
}

// place is where a fake of a card lies: a driver without a card, stubs of CUDA's libraries, and
// a home like ours.
type place struct {
	dir, home string
}

func newPlace(t *testing.T) place {
	t.Helper()
	home := os.Getenv("LIBTORCH_GO_HOME")
	if home == "" {
		home = filepath.Join("..", "..", "third_party")
	}
	home, err := filepath.Abs(home)
	require.NoError(t, err)
	p := place{t.TempDir(), home}
	if _, err := os.Stat(filepath.Join(home, "peer", "stubs")); err != nil {
		t.Skip("there are no stubs of CUDA's libraries")
	}
	if cuda.IsAvailable() {
		t.Skip("this machine has a card")
	}
	p.compile(t, "libcuda.so.1", "int nothing;")
	return p
}

func (p place) compile(t *testing.T, name, source string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	cmd := exec.Command(compiler, "-shared", "-fPIC", "-Wl,-soname,"+filepath.Base(name), "-I",
		filepath.Join("..", "..", "cgo", "shim"), "-x", "c", "-", "-o", filepath.Join(p.dir, name))
	cmd.Stdin = strings.NewReader(source)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// libraries is a search path with the driver alone, or with the stubs of CUDA's libraries too.
func (p place) libraries(stubs bool) string {
	path := "LD_LIBRARY_PATH=" + p.dir
	if stubs {
		path += ":" + filepath.Join(p.home, "peer", "stubs")
	}
	return path
}

// farm is a folder of links to all in another but what the names say.
func farm(t *testing.T, from, to string, without ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(to, 0o755))
	entries, err := os.ReadDir(from)
	require.NoError(t, err)
	for _, e := range entries {
		skip := false
		for _, name := range without {
			skip = skip || e.Name() == name
		}
		if !skip {
			require.NoError(t, os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())))
		}
	}
}

// homeWithShim is a home like ours but for the second shim, which says of itself what is given.
func (p place) homeWithShim(t *testing.T, name, abi, cuda string) string {
	t.Helper()
	home := filepath.Join(p.dir, name)
	farm(t, filepath.Join(p.home, "lib"), filepath.Join(home, "lib"), "libtorchgo_cuda.so")
	var major, minor int
	_, err := fmt.Sscanf(torch.Version(), "%d.%d", &major, &minor)
	require.NoError(t, err)
	p.compile(t, filepath.Join(name, "lib", "libtorchgo_cuda.so"), fmt.Sprintf(`#include "torchgo.h"
static const tg_cuda_api api = {%s, %d, %s, 0};
const tg_cuda_api* tg_cuda_open(void) { return &api; }`, abi, major*10000+minor*100, cuda))
	return home
}

func child(t *testing.T, kind string, env []string, args ...string) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, args...)
	cmd.Env = append(append(os.Environ(), childVariable+"="+kind), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestUnavailableSaysWhy(t *testing.T) {
	torchtest.NoLeaks(t)
	p := newPlace(t)
	torchDir := os.Getenv("LIBTORCH")
	if torchDir == "" {
		torchDir = filepath.Join(p.home, "libtorch", "torch")
	}
	cpuOnly := filepath.Join(p.dir, "site", "torch")
	farm(t, filepath.Join(torchDir, "lib"), filepath.Join(cpuOnly, "lib"), "libtorch_cuda.so", "libc10_cuda.so")
	if _, err := os.Stat(filepath.Join(torchDir, "..", "nvidia")); err == nil {
		require.NoError(t, os.Symlink(filepath.Join(torchDir, "..", "nvidia"), filepath.Join(p.dir, "site", "nvidia")))
	}
	otherShim := p.homeWithShim(t, "shim", "TG_ABI + 1", "13000, 13000")
	otherCUDA := p.homeWithShim(t, "cuda", "TG_ABI", "13000, 12060")
	for _, c := range []struct {
		name string
		env  []string
		want []string
	}{
		{"nothing", nil, []string{"no driver: ", "libcuda.so.1", "install NVIDIA's driver"}},
		{"hidden", []string{"CUDA_VISIBLE_DEVICES=", p.libraries(true)}, []string{"hidden: ", `CUDA_VISIBLE_DEVICES is ""`, "unset it"}},
		{"hidden by number", []string{"CUDA_VISIBLE_DEVICES=-1"}, []string{"hidden: "}},
		{"for the CPU", []string{"LIBTORCH=" + cpuOnly, p.libraries(true)}, []string{"missing library: ", "for the CPU alone"}},
		{"no cuBLAS", []string{p.libraries(false)}, []string{"missing library: ", "cannot open", where.Advice("--cuda")}},
		{"another shim", []string{"LIBTORCH_GO_HOME=" + otherShim, "LIBTORCH=" + torchDir, p.libraries(true)},
			[]string{"version mismatch: ", where.Advice()}},
		{"another CUDA", []string{"LIBTORCH_GO_HOME=" + otherCUDA, "LIBTORCH=" + torchDir, p.libraries(true)},
			[]string{"version mismatch: ", "was built for CUDA 13", "is for CUDA 12"}},
		{"an old driver", []string{p.libraries(true)}, []string{"version mismatch: ", "driver"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := child(t, "why", c.env)
			require.NoError(t, err, out)
			for _, part := range c.want {
				require.Contains(t, out, part)
			}
		})
	}
}

// With everything loaded but no card to be found, too, every entry answers and nothing aborts.
func TestWithoutCard(t *testing.T) {
	torchtest.NoLeaks(t)
	p := newPlace(t)
	out, err := child(t, "table", []string{p.libraries(true)}, "-test.run", "^TestWithoutCUDA$", "-test.v")
	require.NoError(t, err, out)
	require.Contains(t, out, "--- PASS: TestWithoutCUDA")
}
