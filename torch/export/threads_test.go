package export_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
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
// for rounding where images are cut into tiles, and its bits where a few rows meet many weights.
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
		threadsCase{model: nn.Eval(model), input: []int{2, 3, 128, 128}, apart: 1e-4, runs: 40}.test(t, name)
	}
	for name, model := range map[string]any{
		"linear":             nn.Sequential{nn.NewLinear(1024, 2048), nn.ReLU{}, nn.NewLinear(2048, 1024)},
		"LSTM":               first{nn.NewLSTM(1024, 512)},
		"LSTM in both ways":  first{nn.NewLSTM(1024, 256, nn.RNNOptions{Bidirectional: true})},
		"attention of a row": attended{},
	} {
		threadsCase{model: model, input: []int{1, 1, 1024}, runs: 400}.test(t, name)
	}
}

// first is a recurrent layer without its states.
type first struct{ *nn.LSTM }

func (l first) Forward(x torch.Tensor) torch.Tensor {
	y, _, _ := l.LSTM.Forward(x.Expand(16, 1, -1))
	return y
}

// attended is an attention of one row, whose keys are made of all numbers.
type attended struct{}

func (attended) Forward(x torch.Tensor) torch.Tensor {
	all := torch.Cat([]torch.Tensor{x, x.Sin(), x.Cos(), x.Sigmoid()}, 1).Expand(256, 4, 1024).Reshape(1, 8, -1, 64)
	return F.ScaledDotProductAttention(all.Narrow(2, 7, 1), all, all.Neg())
}

// Threads that sleep between runs are woken together, and stay free to run on any processor.
func TestThreadsAfterPauses(t *testing.T) {
	torchtest.NoLeaks(t)
	before := torch.NumThreads()
	defer torch.SetNumThreads(before)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	torch.SetNumThreads(2)
	torch.Scope(func() {
		model := nn.Eval(nn.Sequential{nn.NewLinear(2048, 4096), nn.ReLU{}, nn.NewLinear(4096, 2048)})
		x := torch.RandN(1, 2048)
		program, err := export.Export(model, []any{x})
		require.NoError(t, err)
		defer program.Close()
		compiled := compiled(t, program)
		torch.Inference(func() {
			want, err := compiled.Run(x)
			require.NoError(t, err)
			for range 20 {
				time.Sleep(20 * time.Millisecond) // until they sleep
				torch.Scope(func() {
					got, err := compiled.Run(x)
					require.NoError(t, err)
					torchtest.Equal(t, got[0], want[0])
				})
			}
		})
	})
	allowed := map[string]bool{}
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	require.NoError(t, err)
	require.NotEmpty(t, tasks)
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err == nil { // it has not ended meanwhile
			allowed[regexp.MustCompile(`Cpus_allowed:\s*(\S+)`).FindString(string(text))] = true
		}
	}
	require.Len(t, allowed, 1, "some thread may not run everywhere")
}

// threadsCase is a network that threads compute with results that are so far from those of one, as a part of the largest.
type threadsCase struct {
	model any
	input []int
	apart float64
	runs  int
}

func (c threadsCase) test(t *testing.T, name string) {
	torch.SetNumThreads(1)
	torch.Scope(func() {
		x := torch.RandN(c.input...)
		program, err := export.Export(c.model, []any{x})
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
		require.LessOrEqual(t, two.Sub(one).Abs().Max().Float64(), c.apart*one.Abs().Max().Float64(), name)
		all, own := used(t, syscall.RUSAGE_SELF), used(t, syscall.RUSAGE_THREAD)
		for range c.runs {
			torch.Scope(func() { torchtest.Equal(t, run(), two) })
		}
		all, own = used(t, syscall.RUSAGE_SELF)-all, used(t, syscall.RUSAGE_THREAD)-own
		require.Less(t, float64(own), 0.85*float64(all), "%s: one thread did all the work", name)
	})
}
