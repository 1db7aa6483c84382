package export

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// signalCase is a convolution of signals, and the operator that computes it.
type signalCase struct {
	count, channels, outputs, length int
	kernel, groups                   int
	stride, padding, dilation        int
	activation                       string
	target                           string
}

var signalCases = []signalCase{
	{1, 1, 64, 400, 10, 1, 5, 0, 1, "gelu", directTarget},
	{2, 64, 48, 50, 3, 1, 2, 1, 1, "relu", directTarget},
	{3, 20, 33, 41, 5, 1, 1, 8, 4, "swish", directTarget},
	{1, 8, 8, 30, 4, 1, 3, 2, 2, "none", directTarget},
	{1, 7, 5, 9, 1, 1, 1, 0, 1, "sigmoid", directTarget},
	{2, 24, 24, 60, 7, 24, 1, 3, 1, "relu", depthwiseTarget},
	{2, 24, 24, 60, 5, 24, 2, 1, 1, "none", depthwiseTarget},
	{1, 24, 24, 60, 5, 24, 1, 1, 2, "none", "torch.ops.aten.conv1d.default"},
	{1, 12, 24, 60, 5, 3, 1, 1, 1, "none", "torch.ops.aten.conv1d.default"},
	{1, 16, 16, 60, 3, 1, 1, 1, 1, "tanh", directTarget},
}

// Convolutions of signals compute what libtorch's do, whatever is behind them, and what is returned lies as theirs.
func TestSignals(t *testing.T) { eachCase(t, signalCases, signalCase.test) }

func (c signalCase) test(t *testing.T) {
	activation, ok := activations[c.activation]
	if !ok {
		activation = torch.Tensor.Tanh
	}
	w, b := torch.RandN(c.outputs, c.channels/c.groups, c.kernel), torch.RandN(c.outputs)
	fn := func(x torch.Tensor) torch.Tensor {
		return activation(F.Conv1d(x, w, b, F.ConvOptions{Stride: c.stride, Padding: c.padding, Dilation: c.dilation, Groups: c.groups}))
	}
	x := torch.RandN(c.count, c.channels, c.length)
	text := requireCompiled(t, fn, x)
	require.Contains(t, text, c.target)
}

// eachCase tests cases one by one, all with the same numbers.
func eachCase[C any](t *testing.T, cases []C, test func(C, *testing.T)) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, c := range cases {
		t.Run(fmt.Sprint(c), func(t *testing.T) { torch.Scope(func() { test(c, t) }) })
	}
}

// forInference is a function or a module, compiled, until the test ends.
func forInference(t *testing.T, fn any, inputs ...any) *Compiled {
	t.Helper()
	program, err := Export(fn, inputs)
	require.NoError(t, err)
	t.Cleanup(program.Close)
	compiled, err := Compile(program, CompileOptions{Inference: true})
	require.NoError(t, err)
	t.Cleanup(compiled.Close)
	return compiled
}

// packedWeight is a weight as kernels of ours read it. ok is false on a processor without such, and no other error is expected.
func packedWeight(t *testing.T, name string, args ...any) (w torch.Tensor, ok bool) {
	err := torch.Try(func() {
		torch.Unsafe(func() { w = torch.Call(name, args...)[0].(torch.Tensor) })
	})
	if err != nil {
		require.ErrorContains(t, err, "this processor has no kernel")
	}
	return w, err == nil
}

// requireCompiled compiles a function, compares what it computes, and returns its graph.
func requireCompiled(t *testing.T, fn func(torch.Tensor) torch.Tensor, x torch.Tensor) string {
	t.Helper()
	compiled := forInference(t, fn, x)
	torch.Inference(func() {
		got, err := compiled.Run(x)
		require.NoError(t, err)
		want := fn(x)
		require.Equal(t, want.Shape(), got[0].Shape())
		if want.NumEl() == 0 {
			return
		}
		require.Equal(t, want.Stride(), got[0].Stride())
		require.Less(t, got[0].Sub(want).Abs().Max().Float64(), 1e-5*max(1, want.Abs().Max().Float64()))
	})
	return compiled.String()
}

// Residual branches of signals are added where they are computed, batch norms are part of the weights, and what follows, of any layout,
// sees what it saw.
func TestSignalBlocks(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		w, v := torch.RandN(32, 32, 3), torch.RandN(32, 32, 1)
		mean, variance, scale := torch.RandN(32), torch.Rand(32).AddScalar(1), torch.RandN(32)
		fn := func(x torch.Tensor) torch.Tensor {
			y := F.Conv1d(x, w, torch.Tensor{}, F.ConvOptions{Padding: 2, Dilation: 2})
			y = F.BatchNorm(y, F.BatchNormOptions{RunningMean: mean, RunningVar: variance, Weight: scale}).ReLU()
			x = F.Conv1d(y, v, torch.Tensor{}).Add(x).ReLU()
			y = F.MaxPool1d(x, 2)
			y = F.GroupNorm(y, 4)
			return torch.Cat([]torch.Tensor{y.Transpose(1, 2).Contiguous().Flatten(1, 2), x.View(2, -1)}, 1)
		}
		text := requireCompiled(t, fn, torch.RandN(2, 32, 40))
		require.NotContains(t, text, "batch_norm")
		require.NotContains(t, text, "add.Tensor")
		require.NotContains(t, text, "aten.relu")
	})
}

// What a program returns of signals that were turned lies as it did, too.
func TestTurnedSignals(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w := torch.RandN(6, 4, 3)
		fn := func(x torch.Tensor) torch.Tensor { return F.Conv1d(x, w, torch.Tensor{}).Transpose(1, 2) }
		text := requireCompiled(t, fn, torch.RandN(2, 4, 9))
		require.Contains(t, text, directTarget)
	})
}
