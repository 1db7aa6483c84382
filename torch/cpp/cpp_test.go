package cpp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cpp"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// What the tests compile is not kept for the user.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cpp")
	if err == nil {
		err = os.Setenv("XDG_CACHE_HOME", dir)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

const twice = `
using torch::stable::Tensor;

Tensor twice(const Tensor& x) {
	STD_TORCH_CHECK(x.is_contiguous() && x.scalar_type() == torch::headeronly::ScalarType::Float, "twice: x must be contiguous and float32");
	Tensor y = torch::stable::empty_like(x);
	auto in = static_cast<const float*>(x.const_data_ptr());
	auto out = static_cast<float*>(y.mutable_data_ptr());
	for (int64_t i = 0; i < x.numel(); i++) out[i] = FACTOR * in[i];
	return y;
}

STABLE_TORCH_LIBRARY(NAME, m) { m.def("twice(Tensor x) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(NAME, CPU, m) { m.impl("twice", TORCH_BOX(&twice)); }
`

// source is the operator in a namespace.
func source(name string) string { return strings.ReplaceAll(twice, "NAME", name) }

func needCompiler(t testing.TB) {
	for _, name := range []string{"c++", "g++", "clang++"} {
		if _, err := exec.LookPath(name); err == nil {
			return
		}
	}
	t.Skip("there is no C++ compiler")
}

func TestLoadInline(t *testing.T) {
	torchtest.NoLeaks(t)
	needCompiler(t)
	options := cpp.Options{Flags: []string{"-DFACTOR=2", "-O3"}}
	var group sync.WaitGroup
	for range 3 { // it is compiled once, and loaded once
		group.Go(func() {
			if err := cpp.LoadInline("inline1", source("inline1"), options); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	torch.Scope(func() {
		x := torch.FromSlice([]float32{1, 2.5})
		require.Equal(t, []float32{2, 5}, torch.Values[float32](torch.Call("inline1::twice", x)[0].(torch.Tensor)))
		err := torch.Try(func() { torch.Call("inline1::twice", x.To(torch.CPU, torch.Float64)) })
		require.ErrorContains(t, err, "twice: x must be contiguous and float32")
	})
}

func TestBuildKeepsWhatItMade(t *testing.T) {
	torchtest.NoLeaks(t)
	needCompiler(t)
	path := func(text string, opts ...cpp.Options) string {
		path, err := cpp.Build("kept", text, opts...)
		require.NoError(t, err)
		return path
	}
	first := path("int a;")
	before, err := os.Stat(first)
	require.NoError(t, err)
	require.Equal(t, first, path("int a;", cpp.Options{}))
	after, err := os.Stat(first)
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime())
	require.NotEqual(t, first, path("int a;", cpp.Options{Flags: []string{"-DX"}}))
	left, err := filepath.Glob(filepath.Join(filepath.Dir(first), ".making-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestMistakes(t *testing.T) {
	torchtest.NoLeaks(t)
	needCompiler(t)
	err := cpp.LoadInline("wrong", "int f() {\n\treturn nothing;\n}")
	var wrong *cpp.CompileError
	require.ErrorAs(t, err, &wrong)
	require.Contains(t, wrong.Output, "wrong.cc:2:")
	require.ErrorContains(t, err, "'nothing' was not declared")
	require.ErrorContains(t, cpp.LoadInline("undefined", "void other(); void f() { other(); }"), "undefined reference to `other()'")
	require.ErrorContains(t, cpp.LoadInline("lonely", "int f() { return 1; }"), "registers no operator in the namespace lonely")
	require.ErrorContains(t, cpp.LoadInline("a b", ""), `the name "a b" is not an identifier`)
	require.ErrorContains(t, cpp.LoadInline("c", "", cpp.Options{Compiler: "no-such-compiler -x"}),
		"the compiler no-such-compiler -x is not there")
	t.Setenv("CXX", "false")
	require.ErrorContains(t, cpp.LoadInline("c", ""), "does not run")
}

func ExampleLoadInline() {
	err := cpp.LoadInline("example", source("example"), cpp.Options{Flags: []string{"-DFACTOR=10"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	torch.Scope(func() {
		y := torch.Call("example::twice", torch.Ones(3))[0].(torch.Tensor)
		fmt.Println(torch.Values[float32](y))
	})
	// Output: [10 10 10]
}
