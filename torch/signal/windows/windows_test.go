package windows_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/signal/windows"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// functions are testdata/windows.py's.
var functions = map[string]func(n int, o ...windows.Options) torch.Tensor{
	"bartlett": windows.Bartlett,
	"blackman": windows.Blackman,
	"cosine":   windows.Cosine,
	"exponential": func(n int, opts ...windows.Options) torch.Tensor {
		o := option.One(opts)
		return windows.Exponential(n, 1, windows.ExponentialOptions{Options: o})
	},
	"exponential slow": func(n int, opts ...windows.Options) torch.Tensor {
		o := option.One(opts)
		return windows.Exponential(n, 43.5, windows.ExponentialOptions{Options: o})
	},
	"gaussian":      func(n int, opts ...windows.Options) torch.Tensor { return windows.Gaussian(n, 1, opts...) },
	"gaussian wide": func(n int, opts ...windows.Options) torch.Tensor { return windows.Gaussian(n, 4.5, opts...) },
	"general_cosine": func(n int, opts ...windows.Options) torch.Tensor {
		return windows.GeneralCosine(n, []float64{0.46, 0.23, 0.31}, opts...)
	},
	"general_cosine of one": func(n int, opts ...windows.Options) torch.Tensor {
		return windows.GeneralCosine(n, []float64{0.5}, opts...)
	},
	"general_hamming": func(n int, opts ...windows.Options) torch.Tensor { return windows.GeneralHamming(n, 0.23, opts...) },
	"hamming":         windows.Hamming,
	"hann":            windows.Hann,
	"kaiser":          func(n int, opts ...windows.Options) torch.Tensor { return windows.Kaiser(n, 12, opts...) },
	"kaiser of zero":  func(n int, opts ...windows.Options) torch.Tensor { return windows.Kaiser(n, 0, opts...) },
	"nuttall":         windows.Nuttall,
}

var complaints = map[string]func(){
	"bartlett length":        func() { windows.Bartlett(-1) },
	"blackman length":        func() { windows.Blackman(-1) },
	"cosine length":          func() { windows.Cosine(-1) },
	"exponential length":     func() { windows.Exponential(-1, 1) },
	"gaussian length":        func() { windows.Gaussian(-1, 1) },
	"general_cosine length":  func() { windows.GeneralCosine(-1, []float64{1}) },
	"general_hamming length": func() { windows.GeneralHamming(-1, 0.54) },
	"hamming length":         func() { windows.Hamming(-1) },
	"hann length":            func() { windows.Hann(-1) },
	"kaiser length":          func() { windows.Kaiser(-1, 12) },
	"nuttall length":         func() { windows.Nuttall(-1) },
	"bartlett int64":         func() { windows.Bartlett(3, of(torch.TensorOptions{DType: torch.Int64})) },
	"kaiser float16":         func() { windows.Kaiser(3, 12, of(torch.TensorOptions{DType: torch.Float16})) },
	"hann bfloat16":          func() { windows.Hann(3, of(torch.TensorOptions{DType: torch.BFloat16})) },
	"cosine sparse":          func() { windows.Cosine(3, of(torch.TensorOptions{Layout: torch.Sparse})) },
	"tau":                    func() { windows.Exponential(3, -1) },
	"center":                 func() { windows.Exponential(3, 1, windows.ExponentialOptions{Center: new(1.0)}) },
	"std":                    func() { windows.Gaussian(3, -1e-5) },
	"coefficients":           func() { windows.GeneralCosine(3, []float64{}) },
	"no coefficients":        func() { windows.GeneralCosine(3, nil) },
	"beta":                   func() { windows.Kaiser(3, -0.5) },
}

func of(o torch.TensorOptions) windows.Options { return windows.Options{TensorOptions: o} }

func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	want := peer.Run(t, "testdata/windows.py", nil)
	take := func(t *testing.T, name string) torch.Tensor {
		t.Helper()
		require.Contains(t, want, name)
		defer delete(want, name)
		return want[name]
	}
	for name, call := range complaints {
		t.Run(name, func(t *testing.T) {
			err, ok := torch.Try(call).(*torch.Error)
			require.True(t, ok, "no error")
			exception := map[torch.Kind]string{torch.KindValue: "ValueError", torch.KindType: "TypeError"}[err.Kind]
			require.Equal(t, string(take(t, name).Bytes()), exception+": "+err.Msg)
		})
	}
	for name, call := range functions {
		t.Run(name, func(t *testing.T) {
			for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
				for python, periodic := range map[string]bool{"True": false, "False": true} {
					for _, n := range []int{0, 1, 2, 3, 8, 31, 128} {
						got := call(n, windows.Options{Periodic: periodic, TensorOptions: torch.TensorOptions{DType: dtype}})
						torchtest.Equal(t, got, take(t, fmt.Sprintf("%s %d torch.%v %s", name, n, dtype, python)))
						got.Close()
					}
				}
			}
		})
	}
	got := windows.Exponential(16, 2.5, windows.ExponentialOptions{Options: windows.Options{Periodic: true}, Center: new(8.5)})
	defer got.Close()
	torchtest.Equal(t, got, take(t, "center 8"))
	require.Empty(t, want, "results that Python alone has")
}

// A window whose options ask for it is part of a graph, as in PyTorch.
func TestRequiresGrad(t *testing.T) {
	torchtest.NoLeaks(t)
	o := of(torch.TensorOptions{RequiresGrad: true})
	for name, call := range functions {
		torch.Scope(func() { require.True(t, call(5, o).RequiresGrad(), name) })
	}
}

func TestDefaults(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w := windows.Hann(4)
		require.Equal(t, torch.Float32, w.DType())
		require.InDeltaSlice(t, []float32{0, 0.75, 0.75, 0}, torch.Values[float32](w), 1e-6)
		require.InDelta(t, math.Exp(-0.5), windows.Gaussian(3, 1).Select(0, 0).Float64(), 1e-6)
	})
}
