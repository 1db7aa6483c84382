package mkldnn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/mkldnn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

func TestSettingsAreSetAndPutBack(t *testing.T) {
	torchtest.NoLeaks(t)
	before := mkldnn.Current()
	defer mkldnn.Set(before)
	require.Equal(t, mkldnn.Settings{
		Enabled: mkldnn.On, Deterministic: mkldnn.Off,
		Conv: mkldnn.PrecisionDefault, RNN: mkldnn.PrecisionDefault, MatMul: mkldnn.PrecisionDefault,
	}, before)
	for name, c := range map[string]struct {
		change mkldnn.Settings
		get    func(mkldnn.Settings) any
		want   any
	}{
		"off":            {mkldnn.Settings{Enabled: mkldnn.Off}, func(s mkldnn.Settings) any { return s.Enabled }, mkldnn.Off},
		"deterministic":  {mkldnn.Settings{Deterministic: mkldnn.On}, func(s mkldnn.Settings) any { return s.Deterministic }, mkldnn.On},
		"conv in BF16":   {mkldnn.Settings{Conv: mkldnn.BF16}, func(s mkldnn.Settings) any { return s.Conv }, mkldnn.BF16},
		"rnn in BF16":    {mkldnn.Settings{RNN: mkldnn.BF16}, func(s mkldnn.Settings) any { return s.RNN }, mkldnn.BF16},
		"matmul in IEEE": {mkldnn.Settings{MatMul: mkldnn.IEEE}, func(s mkldnn.Settings) any { return s.MatMul }, mkldnn.IEEE},
	} {
		mkldnn.With(c.change, func() {
			now := mkldnn.Current()
			require.Equal(t, c.want, c.get(now), name)
			mkldnn.Set(mkldnn.Settings{})
			require.Equal(t, now, mkldnn.Current(), "zero settings change nothing")
		})
		require.Equal(t, before, mkldnn.Current(), name)
	}
}

// Without oneDNN a convolution is computed by other kernels, to nearly the same values.
func TestEnabledChoosesTheKernel(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, w := torch.RandN(8, 16, 20, 20), torch.RandN(32, 16, 3, 3)
		with := aten.Conv2d(x, w)
		var without torch.Tensor
		mkldnn.With(mkldnn.Settings{Enabled: mkldnn.Off}, func() { without = aten.Conv2d(x, w) })
		require.False(t, with.Equal(without), "the same kernel ran")
		torchtest.AllClose(t, with, without, torchtest.Tolerance{Relative: 1e-4, Absolute: 1e-4})
	})
}

func ExampleWith() {
	mkldnn.With(mkldnn.Settings{Enabled: mkldnn.Off}, func() {
		fmt.Println("oneDNN", mkldnn.Current().Enabled)
	})
	fmt.Println("oneDNN", mkldnn.Current().Enabled)
	// Output:
	// oneDNN off
	// oneDNN on
}
