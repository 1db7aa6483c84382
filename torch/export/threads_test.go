package export_test

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/models"
)

// used is the processor time of this process, or of this thread, in nanoseconds.
func used(t *testing.T, who int) int64 {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(who, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

// Kernels of ours share their work among as many threads as libtorch's, with the same results each time, which are those of one thread but
// for rounding.
func TestThreads(t *testing.T) {
	torchtest.NoLeaks(t)
	before := torch.NumThreads()
	defer torch.SetNumThreads(before)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, name := range []string{"resnet18", "mobilenet_v3_large", "squeezenet1_1"} {
		torch.SetNumThreads(1)
		model, err := models.New(name, 10)
		require.NoError(t, err)
		nn.Eval(model)
		torch.Scope(func() {
			x := torch.RandN(2, 3, 128, 128)
			program, err := export.Export(model, []any{x})
			require.NoError(t, err)
			defer program.Close()
			compiled := compiled(t, program)
			run := func() (y torch.Tensor) {
				torch.NoGrad(func() {
					out, err := compiled.Run(x)
					require.NoError(t, err)
					y = out[0]
				})
				return y
			}
			one := run()
			torch.SetNumThreads(2)
			two := run()
			require.Less(t, two.Sub(one).Abs().Max().Float64(), 1e-4*one.Abs().Max().Float64(), name)
			all, own := used(t, syscall.RUSAGE_SELF), used(t, syscall.RUSAGE_THREAD)
			for range 40 {
				torch.Scope(func() { torchtest.Equal(t, run(), two) })
			}
			all, own = used(t, syscall.RUSAGE_SELF)-all, used(t, syscall.RUSAGE_THREAD)-own
			require.Less(t, float64(own), 0.85*float64(all), "%s: one thread did all the work", name)
		})
	}
}
