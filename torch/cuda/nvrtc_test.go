package cuda_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

const kernels = `
#include <cuda_fp16.h>

__global__ void axpy(float a, const float* x, float* __restrict__ y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] += a * x[i];
}

extern "C" __global__ void fill(float* y, float v, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = v;
}

namespace mine {
__global__ void halves(const __half* x, __half* y, bool on, long long n) { if (on && n > 0) y[0] = x[0]; }
}

template <class T> __global__ void scale(T* x, T by, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= by;
}

__global__ void reversed(const float* x, float* y, int n) {
	extern __shared__ float room[];
	room[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	y[threadIdx.x] = room[n - 1 - threadIdx.x];
}
`

// binary compiles for an H100, which takes no card, or skips the test where NVRTC is not there.
func binary(t *testing.T, source string, options cuda.CompileOptions) (*cuda.Binary, error) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if options.Arch == 0 {
		options.Arch = 90
	}
	b, err := cuda.CompileBinary(source, options)
	if err != nil && strings.Contains(err.Error(), "NVRTC, which compiles kernels, is not there") {
		require.ErrorIs(t, err, torch.ErrNoCUDA)
		t.Skip(err)
	}
	return b, err
}

func TestCompileBinary(t *testing.T) {
	torchtest.NoLeaks(t)
	options := cuda.CompileOptions{Instances: []string{"scale<float>", "scale<double>"}}
	b, err := binary(t, kernels, options)
	require.NoError(t, err)
	require.Equal(t, []string{"axpy", "fill", "mine::halves", "reversed", "scale<double>", "scale<float>"}, b.Kernels())
	require.Equal(t, 90, b.Arch)

	dir, err := os.UserCacheDir()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "libtorch-go", "nvrtc", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.WriteFile(files[0], []byte("broken"), 0o600))
	options.Arch = 90
	_, err = cuda.CompileBinary(kernels, options)
	require.ErrorContains(t, err, "is broken, remove it", "the second time it is read")
	options.Flags = []string{"-DOTHER"}
	_, err = cuda.CompileBinary(kernels, options)
	require.NoError(t, err, "other flags make another file")
}

func TestCompileErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, c := range map[string]struct {
		source  string
		options cuda.CompileOptions
		want    string
	}{
		"source": {"__global__ void f() { nothing(); }", cuda.CompileOptions{Name: "mine.cu"},
			`mine.cu(1): error: identifier "nothing" is undefined`},
		"instance": {"template <class T> __global__ void f(T*) {}", cuda.CompileOptions{Instances: []string{"g<float>"}}, "g"},
		"flag":     {"__global__ void f() {}", cuda.CompileOptions{Flags: []string{"--no-such-flag"}}, "INVALID_OPTION"},
		"arch":     {"__global__ void f() {}", cuda.CompileOptions{Arch: 12}, "INVALID_OPTION"},
	} {
		_, err := binary(t, c.source, c.options)
		require.ErrorContains(t, err, c.want, name)
		if name == "source" {
			var wrong *cuda.CompileError
			require.ErrorAs(t, err, &wrong)
		}
	}
}

// Without a card, what needs one says so.
func TestKernelsWithoutCUDA(t *testing.T) {
	torchtest.NoLeaks(t)
	if cuda.IsAvailable() {
		t.Skip("this machine has a card")
	}
	_, err := cuda.Compile(kernels)
	require.ErrorIs(t, err, torch.ErrNoCUDA)
	b, err := binary(t, kernels, cuda.CompileOptions{})
	require.NoError(t, err)
	_, err = b.Load(0)
	require.ErrorIs(t, err, torch.ErrNoCUDA)
	_, err = cuda.CompileBinary(kernels)
	require.ErrorIs(t, err, torch.ErrNoCUDA, "for which card?")
}

func TestKernelsRun(t *testing.T) {
	torchtest.NoLeaks(t)
	if !cuda.IsAvailable() {
		t.Skip("there is no card: ", cuda.Unavailable())
	}
	m, err := cuda.Compile(kernels, cuda.CompileOptions{Instances: []string{"scale<double>"}})
	require.NoError(t, err)
	defer m.Close()
	const n = 1000
	block := cuda.Dim3{X: 256}
	torch.Scope(func() {
		x, y := torch.TensorOptions{Device: torch.CUDA(0)}.RandN(n), torch.TensorOptions{Device: torch.CUDA(0)}.RandN(n)
		want := y.Add(x.MulScalar(2))
		m.Kernel("axpy").Launch(cuda.Blocks(n, 256), block, 0, 2, x, y, n)
		torchtest.AllClose(t, y, want)
		m.Kernel("fill").Launch(cuda.Blocks(n, 256), block, 0, y, float32(3), int32(n))
		torchtest.Equal(t, y, torch.FullLike(y, 3))
		d := x.To(x.Device(), torch.Float64)
		want = d.MulScalar(0.5)
		m.Kernel("scale<double>").Launch(cuda.Blocks(n, 256), block, 0, d, 0.5, n)
		torchtest.Equal(t, d, want)
		m.Kernel("reversed").Launch(cuda.Dim3{}, block, 256*4, x, y, 256)
		torchtest.Equal(t, y.Narrow(0, 0, 256), x.Narrow(0, 0, 256).Flip(0))

		w := torch.OnesLike(y).SetRequiresGrad(true)
		product := w.Mul(y)
		m.Kernel("fill").Launch(cuda.Blocks(n, 256), block, 0, y, float32(3), int32(n))
		require.ErrorContains(t, torch.Try(func() { product.Sum().Backward() }), "modified by an inplace operation")

		require.ErrorIs(t, torch.Try(func() { m.Kernel("axpy").Launch(cuda.Dim3{}, cuda.Dim3{X: 4096}, 0, 2, x, y, n) }), torch.ErrValue)
		require.ErrorIs(t, torch.Try(func() { m.Kernel("axpy").Launch(cuda.Dim3{}, block, 0, 2, x.CPU(), y, n) }), torch.ErrValue)
		require.ErrorContains(t, torch.Try(func() { m.Kernel("none") }), `there is no kernel "none"; there are axpy, fill`)
	})
	require.NoError(t, torch.Unhealthy())
}
