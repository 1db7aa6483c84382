package gpusuite

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// childVariable names the function that a child process runs.
const childVariable = "GPUSUITE_CHILD"

var children = map[string]func(){"assert": childAssert, "nccl": childNCCL, "nccl alone": childNCCLAlone}

func TestMain(m *testing.M) {
	if err := os.Setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8"); err != nil { // cuBLAS is deterministic with it alone
		panic(err)
	}
	if fn := children[os.Getenv(childVariable)]; fn != nil {
		fn()
		return
	}
	torchtest.Main(m)
}

var dev = torch.CUDA(0)

// needCard skips the test where there is no card, and says why. The test stays on one thread:
// another would have a handle of cuBLAS of its own, with 32 MB of the card's memory.
func needCard(t *testing.T) {
	t.Helper()
	if err := cuda.Unavailable(); err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	torchtest.NoLeaks(t)
}

// exact runs fn with kernels that give the same bits each time.
func exact(fn func()) {
	cuda.With(cuda.Settings{
		Deterministic: cuda.On, Benchmark: cuda.Off, DeterministicAlgorithms: cuda.On, Conv: cuda.IEEE, MatMul: cuda.IEEE,
	}, fn)
}

// on makes tensors on the card.
var on = torch.TensorOptions{DType: torch.Float32, Device: dev}

// The description of the card is complete and plausible, and is part of the results.
func TestCard(t *testing.T) {
	needCard(t)
	p := cuda.DeviceProperties(0)
	v, err := cuda.LibraryVersions()
	require.NoError(t, err)
	free, total := cuda.MemoryInfo(0)
	t.Logf("%v; %+v", p, v)
	require.NotEmpty(t, p.Name)
	require.GreaterOrEqual(t, p.Major, 5)
	require.Equal(t, 32, p.WarpSize)
	require.Positive(t, p.MultiProcessorCount)
	require.InEpsilon(t, total, int64(p.TotalMemory), 0.1)
	require.LessOrEqual(t, free, total)
	require.GreaterOrEqual(t, v.Driver, v.Runtime/1000*1000)
	require.Greater(t, v.NCCL, 22000)
	for other := range cuda.DeviceCount() {
		t.Logf("reaches the memory of device %d: %v", other, cuda.CanAccessPeer(0, other))
	}
	if s, err := cuda.ReadSensors(0); err == nil {
		t.Logf("%+v", s)
		require.Positive(t, s.Temperature)
		require.Positive(t, s.SMClock)
	} else {
		t.Log(err)
	}
	require.ErrorIs(t, torch.Try(func() { cuda.Memory(cuda.DeviceCount()) }), torch.ErrValue)
}

// childAssert makes a kernel fail, and prints how the process reacts.
func childAssert() {
	err := torch.Try(func() {
		torch.Scope(func() {
			on.Ones(4).IndexSelect(0, torch.FromSlice([]int{9}).To(dev))
			cuda.Synchronize(0)
		})
	})
	fmt.Println(err)
	fmt.Println("unhealthy:", torch.Unhealthy())
	fmt.Println("again:", torch.Try(func() { torch.Scope(func() { on.Ones(4).Sum().Float64() }) }))
}

// An assertion in a kernel is an error: the process reports itself as unhealthy and does not
// abort.
func TestDeviceAssertIsUnhealthy(t *testing.T) {
	needCard(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVariable+"=assert")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "unhealthy: torch: ")
	require.NotContains(t, string(out), "unhealthy: <nil>")
	require.NotContains(t, string(out), "again: <nil>")
}

// CUDA's compilers, which cuDNN's kernels and NVRTC's come from, set handlers of signals and take them back: a service
// that is told to end would end in Go's fatal error.
func TestSignalHandlersOnACard(t *testing.T) {
	needCard(t)
	torch.Scope(func() {
		x := on.RandN(2, 8, 16, 16).To(torch.Float16, torch.ChannelsLast)
		w := on.RandN(8, 8, 3, 3).To(torch.Float16, torch.ChannelsLast)
		F.Conv2d(x, w, torch.Tensor{}).ReLU().Sum().Float64()
		module, err := cuda.Compile(`extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }`)
		require.NoError(t, err)
		defer module.Close()
	})
	reliability.SignalsOnStack(t)
}
