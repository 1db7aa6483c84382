package cuda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestSettingsAreSetAndPutBack(t *testing.T) {
	torchtest.NoLeaks(t)
	before := cuda.Current()
	defer cuda.Set(before)
	for name, c := range map[string]struct {
		change cuda.Settings
		get    func(cuda.Settings) any
		want   any
	}{
		"cudnn off":        {cuda.Settings{CUDNN: cuda.Off}, func(s cuda.Settings) any { return s.CUDNN }, cuda.Off},
		"benchmark":        {cuda.Settings{Benchmark: cuda.On}, func(s cuda.Settings) any { return s.Benchmark }, cuda.On},
		"benchmark limit":  {cuda.Settings{BenchmarkLimit: 3}, func(s cuda.Settings) any { return s.BenchmarkLimit }, 3},
		"deterministic":    {cuda.Settings{Deterministic: cuda.On}, func(s cuda.Settings) any { return s.Deterministic }, cuda.On},
		"conv in IEEE":     {cuda.Settings{Conv: cuda.IEEE}, func(s cuda.Settings) any { return s.Conv }, cuda.IEEE},
		"rnn in IEEE":      {cuda.Settings{RNN: cuda.IEEE}, func(s cuda.Settings) any { return s.RNN }, cuda.IEEE},
		"products in TF32": {cuda.Settings{MatMul: cuda.TF32}, func(s cuda.Settings) any { return s.MatMul }, cuda.TF32},
		"only deterministic algorithms": {cuda.Settings{DeterministicAlgorithms: cuda.On},
			func(s cuda.Settings) any { return s.DeterministicAlgorithms }, cuda.On},
		"warnings": {cuda.Settings{DeterministicWarnOnly: cuda.On}, func(s cuda.Settings) any { return s.DeterministicWarnOnly }, cuda.On},
		"filling":  {cuda.Settings{FillUninitialized: cuda.Off}, func(s cuda.Settings) any { return s.FillUninitialized }, cuda.Off},
		"float16 sums": {cuda.Settings{FP16Reduction: cuda.FullPrecision},
			func(s cuda.Settings) any { return s.FP16Reduction }, cuda.FullPrecision},
		"bfloat16 sums": {cuda.Settings{BF16Reduction: cuda.FullPrecisionNoSplit},
			func(s cuda.Settings) any { return s.BF16Reduction }, cuda.FullPrecisionNoSplit},
		"float16 throughout": {cuda.Settings{FP16Accumulation: cuda.On}, func(s cuda.Settings) any { return s.FP16Accumulation }, cuda.On},
		"all algorithms":     {cuda.Settings{BenchmarkLimit: -1}, func(s cuda.Settings) any { return s.BenchmarkLimit }, -1},
		"no flash":           {cuda.Settings{FlashAttention: cuda.Off}, func(s cuda.Settings) any { return s.FlashAttention }, cuda.Off},
		"no efficient": {cuda.Settings{MemEfficientAttention: cuda.Off},
			func(s cuda.Settings) any { return s.MemEfficientAttention }, cuda.Off},
		"no cuDNN attention": {cuda.Settings{CUDNNAttention: cuda.Off}, func(s cuda.Settings) any { return s.CUDNNAttention }, cuda.Off},
		"no math":            {cuda.Settings{MathAttention: cuda.Off}, func(s cuda.Settings) any { return s.MathAttention }, cuda.Off},
		"math in half":       {cuda.Settings{MathReduction: cuda.On}, func(s cuda.Settings) any { return s.MathReduction }, cuda.On},
	} {
		require.NotEqual(t, c.want, c.get(before), name)
		cuda.With(c.change, func() {
			now := cuda.Current()
			require.Equal(t, c.want, c.get(now), name)
			cuda.Set(cuda.Settings{})
			require.Equal(t, now, cuda.Current(), "zero settings change nothing")
		})
		require.Equal(t, before, cuda.Current(), name)
		require.PanicsWithValue(t, "mine", func() { cuda.With(c.change, func() { panic("mine") }) })
		require.Equal(t, before, cuda.Current(), "%s, after a panic", name)
	}
}

func TestNames(t *testing.T) {
	require.Equal(t, "on off unchanged tf32 ieee none",
		fmt.Sprint(cuda.On, cuda.Off, cuda.Unchanged, cuda.TF32, cuda.IEEE, cuda.PrecisionDefault))
	require.Equal(t, "reduced full", fmt.Sprint(cuda.ReducedPrecision, cuda.FullPrecision))
	require.Equal(t, "no stream", fmt.Sprint(cuda.Stream{}))
}

func ExampleWith() {
	cuda.With(cuda.Settings{Benchmark: cuda.On}, func() {
		fmt.Println("benchmark", cuda.Current().Benchmark)
	})
	fmt.Println("benchmark", cuda.Current().Benchmark)
	// Output:
	// benchmark on
	// benchmark off
}
