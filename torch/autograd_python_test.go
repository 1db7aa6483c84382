package torch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/fft"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// complains asks Python for the error that code ends in, and requires ours to say the same: one may go on where the other ends.
func complains(t *testing.T, code string, run func()) {
	t.Helper()
	want := ask(t, code+"\ny = 0").Error
	require.NotEmpty(t, want, "Python does not complain of %s", code)
	_, text, _ := strings.Cut(want, ": ")
	text, _, _ = strings.Cut(text, "\n")
	var e *torch.Error
	require.ErrorAs(t, torch.Try(run), &e, "%s: Python says %s", code, want)
	ours, _, _ := strings.Cut(e.Msg, "\n")
	require.True(t, strings.HasPrefix(text, ours) || strings.HasPrefix(ours, text), "%s\nPython: %s\n    Go: %s", code, text, e.Msg)
}

func TestGradientsAreCheckedAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(3).SetRequiresGrad(true)
		x3 := func() torch.Tensor { return x.MulScalar(2) }
		one := torch.FromSlice([]float32{2}).SetRequiresGrad(true)
		const made = "x = torch.ones(3, requires_grad=True)\none = torch.tensor([2.], requires_grad=True)\n"
		nine := torch.Ones(3, 3)
		i3 := torch.TensorOptions{DType: torch.Complex64}.Ones(3)
		cases := map[string]func(){
			"(one * 2).backward(torch.ones(3, 3))": func() { one.MulScalar(2).Backward(torch.BackwardOptions{Gradient: nine}) },
			"torch.autograd.grad([one * 2], [one], [torch.ones(3, 3)])": func() {
				torch.Grad([]torch.Tensor{one.MulScalar(2)}, []torch.Tensor{one}, torch.GradOptions{GradOutputs: []torch.Tensor{nine}})
			},
			"(x * 2).backward(torch.ones(()))":                       func() { x3().Backward(torch.BackwardOptions{Gradient: torch.Ones()}) },
			"(x * 2).backward(torch.ones(3, dtype=torch.complex64))": func() { x3().Backward(torch.BackwardOptions{Gradient: i3}) },
			"(x * 1j).backward(torch.ones(3))": func() {
				x.MulScalar(1i).Backward(torch.BackwardOptions{Gradient: torch.Ones(3)})
			},
			"(one * 1j).backward()": func() { one.MulScalar(1i).Backward() },
			"(x * 2).backward()":    func() { x3().Backward() },
			"(x * 2).backward(torch.ones(3, device='meta'))": func() {
				x3().Backward(torch.BackwardOptions{Gradient: torch.TensorOptions{Device: torch.Meta}.Ones(3)})
			},
			"(x * 2).backward(torch.ones(3).to_mkldnn())": func() {
				x3().Backward(torch.BackwardOptions{Gradient: torch.Call("to_mkldnn", torch.Ones(3))[0].(torch.Tensor)})
			},
			"x.sum().backward(inputs=[])": func() { x.Sum().Backward(torch.BackwardOptions{Inputs: []torch.Tensor{}}) },
			"torch.autograd.backward([x.sum(), x.sum()], [None])": func() {
				torch.Backward([]torch.Tensor{x.Sum(), x.Sum()}, []torch.Tensor{{}})
			},
			"torch.ones(3).backward()":                    func() { torch.Ones(3).Backward() },
			"x.grad = x":                                  func() { x.SetGrad(x) },
			"x.grad = torch.ones(2)":                      func() { x.SetGrad(torch.Ones(2)) },
			"x.grad = torch.ones(3, dtype=torch.float64)": func() { x.SetGrad(torch.TensorOptions{DType: torch.Float64}.Ones(3)) },
			"x.grad = torch.ones(3, device='meta')":       func() { x.SetGrad(torch.TensorOptions{Device: torch.Meta}.Ones(3)) },
			"x.grad = torch.ones(3).to_mkldnn()": func() {
				x.SetGrad(torch.Call("to_mkldnn", torch.Ones(3))[0].(torch.Tensor))
			},
			"torch.ones(3, 3).to_sparse().grad = torch.ones(3, 3)":     func() { nine.ToSparse().SetGrad(nine) },
			"torch.ones(3, 3).grad = torch.ones(3, 3).to_sparse_csr()": func() { nine.SetGrad(nine.ToSparseCSR()) },
		}
		for code, run := range cases {
			complains(t, made+code, run)
		}
		err := torch.Try(func() { torch.Backward([]torch.Tensor{x.Sum(), x3()}, []torch.Tensor{{}, torch.Ones(2)}) })
		require.ErrorContains(t, err, "grad_output[1] has a shape of [2] and output[1] has a shape of [3].")
		err = torch.Try(func() { torch.Grad([]torch.Tensor{x.Sum()}, nil) })
		require.ErrorContains(t, err, "`inputs` argument to `grad()` cannot be empty.", "other words in Python before 2.15")
		require.False(t, x.Grad().Defined(), "what was refused left nothing behind")
		require.False(t, one.Grad().Defined())
	})
}

func TestGradientsAreTakenAsInPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(3).SetRequiresGrad(true)
		x.SetGrad(torch.Ones(3).ToSparse()) // as Python takes it
		require.Equal(t, torch.Sparse, x.Grad().Layout())
		x.SetGrad(torch.Tensor{})
		x.MulScalar(2).Backward(torch.BackwardOptions{Gradient: torch.TensorOptions{DType: torch.Float64}.Ones(3)}) // the engine casts
		require.Equal(t, []float32{2, 2, 2}, torch.Values[float32](x.Grad()))
		require.Error(t, torch.Try(func() { torch.Tensor{}.SetGrad(x) }))
		require.Error(t, torch.Try(func() { torch.Backward([]torch.Tensor{{}}, nil) }))
	})
}

func TestNilIsNoOption(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.Ones(2)
	defer x.Close()
	require.ErrorIs(t, torch.Try(func() { x.To(nil) }), torch.ErrType)
	require.ErrorIs(t, torch.Try(func() { x.To(torch.Float64, nil) }), torch.ErrType)
	require.ErrorIs(t, torch.Try(func() { x.MulScalar(nil) }), torch.ErrType)
	require.ErrorIs(t, torch.Try(func() { x.At(0).Set(nil) }), torch.ErrType)
}

// What a factory writes into its result is no change of it: versions start at 0, as in Python.
func TestFactoriesStartAtVersionZero(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		o, x := torch.TensorOptions{RequiresGrad: true}, torch.Ones(2)
		for name, made := range map[string]torch.Tensor{
			"ones": torch.Ones(2), "zeros": torch.Zeros(2), "full": torch.Full([]int{2}, 3.5), "eye": torch.Eye(2),
			"arange": torch.Arange(3), "linspace": torch.Linspace(0, 1, 3),
			"logspace": torch.Logspace(0, 1, 3), "rand": torch.Rand(2), "randn": torch.RandN(2), "randint": torch.RandInt(0, 3, []int{2}),
			"randperm": torch.RandPerm(3), "empty": torch.Empty(2),
			"options": o.Ones(2), "options.full": o.Full(nil, 2.0), "options.randn": o.RandN(2), "slice": torch.FromSlice([]int{1, 2}),
			"value": torch.FromValue(1.5),
			"bytes": torch.FromBytes(make([]byte, 8), torch.Float32, 2), "ones_like": torch.OnesLike(x), "rand_like": torch.RandLike(x),
			"full_like": torch.FullLike(x, 2.0), "new_ones": x.NewOnes([]int{2}), "new_full": x.NewFull([]int{2}, 1.0),
			"hann_window": torch.HannWindow(3), "kaiser_window": torch.KaiserWindow(3), "tril_indices": torch.TrilIndices(3, 3),
			"fftfreq": fft.FFTFreq(4, 1), "normal": torch.Normal(0, 1, 2),
			"generator": torch.TensorOptions{Generator: torch.NewGenerator(torch.CPU)}.RandN(2),
			"meta":      torch.TensorOptions{Device: torch.Meta}.Ones(2),
		} {
			require.Zero(t, made.Version(), name)
		}
		y := torch.Ones(2)
		y.AddInPlace(y)
		require.Equal(t, 1, y.Version())
	})
}

// Numbers that no enumerator has are refused where they enter: only calls by name can give them.
func TestEnumeratorsThatThereAreNot(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(2, 2)
		for _, bad := range []int{47, 100, 255} {
			require.ErrorIs(t, torch.Try(func() { torch.Call("to.dtype", x, bad) }), torch.ErrValue)
			require.ErrorIs(t, torch.Try(func() { torch.Call("contiguous", x, torch.Arg("memory_format", bad)) }), torch.ErrValue)
		}
	})
}
