package library_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// compiled is a shared library of C++ source, made by the machine's compiler.
func compiled(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	compiler, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("there is no C++ compiler: ", err)
	}
	include, err := library.IncludeDirs()
	if err != nil {
		t.Skip("this libtorch has no headers: ", err)
	}
	path := filepath.Join(t.TempDir(), name)
	args := []string{"-std=c++20", "-shared", "-fPIC", "-o", path, "-I", include[0], "-I", include[1], "-x", "c++"}
	out, err := exec.Command(compiler, append(append(args, flags...), source)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

func written(t *testing.T, source string) string {
	path := filepath.Join(t.TempDir(), "source.cc")
	require.NoError(t, os.WriteFile(path, []byte(source), 0o600))
	return path
}

// A library of someone else's, for the stable ABI, which Go has not compiled.
func TestLoadStable(t *testing.T) {
	torchtest.NoLeaks(t)
	path := compiled(t, "libthirdparty.so", "testdata/thirdparty.cc", "-DTORCH_TARGET_VERSION=0x020a000000000000ULL")
	require.NotContains(t, torch.Operators(), "thirdparty::scale_add")
	require.NoError(t, library.Load(path))
	require.NoError(t, library.Load(path), "again")
	require.Contains(t, torch.Operators(), "thirdparty::scale_add")
	require.Equal(t, "thirdparty::scale_add(Tensor x, Tensor y, float factor) -> Tensor", library.Lookup("thirdparty::scale_add").String())
	torch.Scope(func() {
		x, y := torch.FromSlice([]float32{1, 2}), torch.FromSlice([]float32{10, 20})
		got := torch.Call("thirdparty::scale_add", x, y, 0.5)[0].(torch.Tensor)
		require.Equal(t, []float32{6, 12}, torch.Values[float32](got))
		err := torch.Try(func() { torch.Call("thirdparty::scale_add", x, torch.Ones(3), 0.5) })
		require.ErrorContains(t, err, "x and y differ in size")
	})

	// Go gives it what its author has not: a derivative, and shapes without elements.
	lib := library.New("thirdparty")
	defer lib.Close()
	op := lib.Operator("scale_add").
		Fake(func(x, _ torch.Tensor, _ float64) torch.Tensor { return torch.EmptyLike(x) }).
		Autograd(library.Formula{
			Setup: func(ctx *torch.FunctionCtx, args, _ []any) { ctx.State = args[2] },
			Backward: func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
				return []torch.Tensor{grads[0], grads[0].MulScalar(ctx.State)}
			},
		})
	torch.Scope(func() {
		x, y := torch.Ones(2).SetRequiresGrad(true), torch.Ones(2).SetRequiresGrad(true)
		op.Call1(x, y, 0.25).Sum().Backward()
		require.Equal(t, []float32{0.25, 0.25}, torch.Values[float32](y.Grad()))
		meta := torch.TensorOptions{Device: torch.Meta}.Zeros(7)
		require.Equal(t, []int{7}, op.Call1(meta, meta, 1.0).Shape())
	})
}

// torchvision is linked to Python's and CUDA's halves of torch, neither of which is here.
func TestLoadTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	script := `import importlib.util as u; print(u.find_spec("torchvision").submodule_search_locations[0])`
	out, err := peer.Command(t, "-c", script).Output()
	if err != nil {
		t.Skip("Python has no torchvision: ", err)
	}
	path := filepath.Join(strings.TrimSpace(string(out)), "_C.so")
	require.NoError(t, library.Load(path))
	require.NoError(t, library.Load(path), "again")
	require.Equal(t, "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
		library.Lookup("torchvision::nms").String())
	torch.Scope(func() {
		torch.ManualSeed(1)
		corner, size := torch.Rand(200, 2).MulScalar(10), torch.Rand(200, 2).MulScalar(4)
		boxes, scores := torch.Cat([]torch.Tensor{corner, corner.Add(size)}, 1), torch.Rand(200)
		kept := torch.Call("torchvision::nms", boxes, scores, 0.3)[0].(torch.Tensor)
		want := peer.Run(t, "testdata/nms.py", peer.Tensors{"boxes": boxes, "scores": scores})
		torchtest.Equal(t, kept, want["kept"])
		require.Less(t, kept.Size(0), 200)

		// Its autograd kernels are its own.
		x := torch.TensorOptions{DType: torch.Float64}.RandN(1, 2, 6, 6).SetRequiresGrad(true)
		rois := torch.FromSlice([]float64{0, 0.5, 0.5, 4, 4}, 1, 5)
		torchtest.GradCheck(t, func(in []torch.Tensor) []torch.Tensor {
			return []torch.Tensor{torch.Call("torchvision::roi_align", in[0], rois, 1.0, 2, 2, 2, false)[0].(torch.Tensor)}
		}, []torch.Tensor{x})
	})
}

func TestLoadRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	require.ErrorContains(t, library.Load("nowhere.so"), "there is no library")
	require.ErrorContains(t, library.Load(written(t, "int f();")), "is not a shared library")
	for name, c := range map[string]struct{ source, want string }{
		"another libtorch": {
			"namespace at { void gone_since_1_0(); void and_so_is_this(); }\nvoid f() { at::gone_since_1_0(); at::and_so_is_this(); }",
			"it was built for another libtorch than " + torch.Version() + ", which does not have _ZN2at",
		},
		"python": {"extern \"C\" int PyErr_Occurred();\nint f() { return PyErr_Occurred(); }",
			"it is a module of Python's: it uses PyErr_Occurred"},
		"other": {"extern \"C\" void nobody_has_this();\nvoid f() { nobody_has_this(); }", "nobody_has_this"},
	} {
		path := compiled(t, "lib.so", written(t, c.source), "-Wl,--no-as-needed")
		require.ErrorContains(t, library.Load(path), c.want, name)
	}
}
