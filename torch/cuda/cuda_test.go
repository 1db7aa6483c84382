package cuda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
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

// Without a card every entry answers with a typed error, and nothing aborts.
func TestWithoutCUDA(t *testing.T) {
	torchtest.NoLeaks(t)
	if cuda.IsAvailable() {
		t.Skip("this machine has a card")
	}
	require.Zero(t, cuda.DeviceCount())
	require.ErrorIs(t, cuda.Unavailable(), torch.ErrNoCUDA)
	_, err := cuda.LibraryVersions()
	require.ErrorIs(t, err, torch.ErrNoCUDA)
	for name, call := range map[string]func(){
		"memory":      func() { cuda.Memory(0) },
		"reset peak":  func() { cuda.ResetPeakMemory(0) },
		"empty cache": func() { cuda.EmptyCache() },
		"memory info": func() { cuda.MemoryInfo(0) },
		"synchronize": func() { cuda.Synchronize(0) },
		"current":     func() { cuda.CurrentDevice() },
		"tensor":      func() { torch.TensorOptions{Device: torch.CUDA(0)}.Zeros(2) },
		"pinned":      func() { torch.TensorOptions{PinMemory: true}.Zeros(2) },
		"generator":   func() { torch.NewGenerator(torch.CUDA(0)) },
		"device mode": func() { torch.WithDevice(torch.CUDA(0), func() {}) },
	} {
		err := torch.Try(call)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "INTERNAL ASSERT", name)
	}
}

func TestNames(t *testing.T) {
	require.Equal(t, "on off unchanged tf32 ieee none", fmt.Sprint(cuda.On, cuda.Off, cuda.Unchanged, cuda.TF32, cuda.IEEE, cuda.PrecisionDefault))
	require.Equal(t, "Switch(9) Precision(9)", fmt.Sprint(cuda.Switch(9), cuda.Precision(9)))
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
