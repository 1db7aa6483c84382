package torch_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/cgo"
	where "github.com/libtorch-go/libtorch/internal/home"
	"github.com/libtorch-go/libtorch/torch"
)

// childLoad says what Load and a first operation make of the environment.
func childLoad() {
	err := torch.Load()
	fmt.Println(err)
	first := torch.Try(func() { torch.Ones(1) })
	var e *torch.Error
	if errors.As(first, &e) != (err != nil) || err != nil && (first.Error() != err.Error() || !errors.Is(first, torch.ErrLibrary)) {
		fmt.Println("the first operation disagrees:", first)
	}
	if scope := torch.Try(func() { torch.Scope(func() {}) }); (scope != nil) != (err != nil) {
		fmt.Println("a scope disagrees:", scope)
	}
	if s := torch.Stats(); err != nil && s != (torch.MemoryStats{}) {
		fmt.Println("there are tensors:", s)
	}
	torch.GC()
}

func home(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv(cgo.EnvHome); dir != "" {
		return dir
	}
	dir, err := filepath.Abs(filepath.Join("..", "third_party"))
	require.NoError(t, err)
	return dir
}

// anotherShim compiles a shim that says these things of itself.
func anotherShim(t *testing.T, dir, abi, version, hash string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	source := fmt.Sprintf(`#include "torchgo.h"
static const tg_api api = {%s, %s, %s, 0, 0};
const tg_api* tg_open() { return &api; }`, abi, version, hash)
	file := filepath.Join(t.TempDir(), "shim.c")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o644))
	out, err := exec.Command(compiler, "-shared", "-fPIC", "-I", filepath.Join("..", "cgo", "shim"), "-o",
		filepath.Join(dir, "libtorchgo.so"), file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	require.NoError(t, torch.Load())
	libtorch := filepath.Join(home(t), "libtorch", "torch")
	if dir := os.Getenv(cgo.EnvTorch); dir != "" {
		libtorch = dir
	}
	advice := where.Advice()
	cases := []struct {
		name string
		make func(t *testing.T, home string) // fills home, whose lib/ is there
		want []string                        // parts of the message; @ stands for the folder
	}{
		{"empty folder", func(t *testing.T, home string) {},
			[]string{"libtorch is not installed", "@/lib/libtorchgo.so ($LIBTORCH_GO_HOME)", advice}},
		{"no libtorch", func(t *testing.T, home string) { touch(t, home, "libtorchgo.so", "") },
			[]string{"cannot open libtorch in @/libtorch/torch/lib", "libc10.so", advice, "$LIBTORCH"}},
		{"torch.path to nowhere", func(t *testing.T, home string) {
			touch(t, home, "libtorchgo.so", "")
			touch(t, home, "torch.path", "nowhere\n")
		}, []string{"cannot open libtorch in nowhere/lib", "@/lib/torch.path"}},
		{"not a library", func(t *testing.T, home string) {
			touch(t, home, "libtorchgo.so", "text")
			touch(t, home, "torch.path", libtorch)
		}, []string{"cannot open the shim @/lib/libtorchgo.so", advice}},
		{"a shim of other sources", func(t *testing.T, home string) {
			anotherShim(t, filepath.Join(home, "lib"), "TG_ABI", "21100", "12345")
			touch(t, home, "torch.path", libtorch)
		}, []string{"@/lib/libtorchgo.so was built from other sources", advice}},
		{"a shim of another ABI", func(t *testing.T, home string) {
			anotherShim(t, filepath.Join(home, "lib"), "TG_ABI + 1", "21100", "12345")
			touch(t, home, "torch.path", libtorch)
		}, []string{"@/lib/libtorchgo.so was built from other sources", advice}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(home, "lib"), 0o755))
			c.make(t, home)
			out := runChild(t, "load", cgo.EnvHome+"="+home, cgo.EnvTorch+"=")
			for _, part := range c.want {
				assert.Contains(t, out, strings.ReplaceAll(part, "@", home))
			}
			assert.True(t, strings.HasPrefix(out, "torch: "), out)
			for _, complaint := range []string{"disagrees", "panic", "there are tensors"} {
				assert.NotContains(t, out, complaint)
			}
		})
	}
}

func touch(t *testing.T, home, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(home, "lib", name), []byte(text), 0o644))
}

func TestLibtorchCanBeElsewhere(t *testing.T) {
	there, err := filepath.Abs(filepath.Join(home(t), "libtorch", "torch"))
	require.NoError(t, err)
	if _, err := os.Stat(there); err != nil {
		t.Skip("libtorch is elsewhere already")
	}
	elsewhere := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(home(t), "lib"), filepath.Join(elsewhere, "lib")))
	assert.Equal(t, "<nil>\n", runChild(t, "load", cgo.EnvHome+"="+elsewhere, cgo.EnvTorch+"="+there))
	out := runChild(t, "load", cgo.EnvHome+"="+home(t), cgo.EnvTorch+"="+elsewhere)
	assert.Contains(t, out, "cannot open libtorch in "+elsewhere+"/lib ($LIBTORCH)", "LIBTORCH wins over what lies beside the shim")
}

func TestCUDAThatIsNotThere(t *testing.T) {
	d := torch.CUDA(0)
	err := torch.CheckDevice(d)
	if err == nil {
		t.Skip("there is a CUDA device")
	}
	assert.ErrorIs(t, err, torch.ErrNoCUDA)
	assert.ErrorContains(t, err, "cuda:0")
	assert.Equal(t, torch.CPU, torch.DefaultDevice())
	assert.Zero(t, torch.DeviceCount(torch.DeviceCUDA))
	uses := map[string]func(){
		"to":       func() { torch.Ones(1).To(d) },
		"factory":  func() { torch.TensorOptions{Device: d}.Zeros(2) },
		"like":     func() { torch.ZerosLike(torch.Ones(2), torch.TensorOptions{Device: d}) },
		"boxed":    func() { torch.Call("zeros", []int{2}, torch.Arg("device", d)) },
		"generate": func() { torch.NewGenerator(d) },
		"default":  func() { torch.DefaultGenerator(d) },
		"mode":     func() { torch.WithDevice(d, func() {}) },
		"wait":     func() { torch.Synchronize(d) },
	}
	for name, use := range uses {
		err := torch.Try(use)
		assert.ErrorIs(t, err, torch.ErrNoCUDA, name)
	}
}
