package torch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// zeroTensor is a gradient that autograd makes without memory, of a derivative that vanishes.
func zeroTensor() torch.Tensor {
	x := torch.TensorOptions{RequiresGrad: true}.Ones(3)
	x.Sgn().Sum().Backward()
	return x.Grad()
}

func TestZeroTensorsHaveElementsAllTheSame(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		z := zeroTensor()
		require.Equal(t, []float32{0, 0, 0}, torch.Values[float32](z))
		require.Equal(t, []int{0, 0, 0}, torch.Values[int](z))
		require.Equal(t, make([]byte, 12), z.Bytes())
		require.Equal(t, float32(0), torch.Value[float32](z.Index(1)))
		require.Equal(t, 0.0, z.Index(1).Item())
		require.Equal(t, "tensor([0., 0., 0.])", z.String())
		for _, row := range z.Rows() {
			require.Equal(t, 0.0, row.Float64())
		}
		require.False(t, aten.IsZeroTensor(z))
		require.False(t, aten.IsZeroTensor(aten.EfficientZeroTensor([]int{3})))
		require.False(t, aten.IsZeroTensor(torch.Call("_efficientzerotensor", []int{3})[0].(torch.Tensor)))
	})
}

// A gradient of zeros that a program reads is the tensor's own from then on.
func TestGradientsOfZerosCanBeWritten(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.TensorOptions{RequiresGrad: true}.Ones(3)
		x.Sgn().Sum().Backward()
		torch.Fill(x.Grad(), []float32{1, 2, 3})
		require.Equal(t, []float32{1, 2, 3}, torch.Values[float32](x.Grad()))
		x.Sgn().Sum().Backward()
		require.Equal(t, []float32{1, 2, 3}, torch.Values[float32](x.Grad()))
	})
}

// Where a tensor is changed by itself, the graph keeps a copy: the tensor would keep the graph,
// and the graph the tensor. Python keeps both for good, and its backward pass fails.
func TestTensorsChangedByThemselves(t *testing.T) {
	torchtest.NoLeaks(t)
	live := func() int64 { torch.GC(); return torch.Stats().HostBytes }
	for name, change := range map[string]func(x torch.Tensor){
		"mul":     func(x torch.Tensor) { x.MulInPlace(x) },
		"addcmul": func(x torch.Tensor) { x.AddCMulInPlace(x, torch.Ones(3)) },
		"lerp":    func(x torch.Tensor) { x.LerpInPlace(torch.Ones(3), x) },
		"part":    func(x torch.Tensor) { x.Narrow(0, 0, 1).MulInPlace(x.Narrow(0, 2, 1)) },
		"by name": func(x torch.Tensor) { torch.Call("mul_.Tensor", x, x) },
	} {
		once := func() {
			torch.Scope(func() { change(torch.TensorOptions{RequiresGrad: true}.Ones(3).MulScalar(2)) })
		}
		once()
		before := live()
		for range 10 {
			once()
		}
		require.Equal(t, before, live(), name)
	}
	torch.Scope(func() {
		w := torch.FromSlice([]float32{1, 2, 3}).SetRequiresGrad(true)
		x := w.MulScalar(2)
		x.MulInPlace(x)
		require.Equal(t, []float32{4, 16, 36}, torch.Values[float32](x))
		x.Sum().Backward()
		require.Equal(t, []float32{8, 16, 24}, torch.Values[float32](w.Grad()))
	})
}

// Fill writes what Values then reads, also where a mark of the tensor changes what its bytes mean.
func TestFillThroughMarks(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.TensorOptions{DType: torch.Complex64}.Zeros(2)
		values := []complex64{1 + 2i, 3 - 4i}
		conj := x.Conj()
		version := x.Version()
		torch.Fill(conj, values)
		require.Greater(t, x.Version(), version)
		require.Equal(t, values, torch.Values[complex64](conj))
		require.Equal(t, []complex64{1 - 2i, 3 + 4i}, torch.Values[complex64](x))

		y := torch.TensorOptions{DType: torch.Complex64}.Zeros(2)
		neg := torch.Call("_neg_view", torch.Zeros(2))[0].(torch.Tensor)
		torch.Fill(neg, []float32{5, -6})
		require.Equal(t, []float32{5, -6}, torch.Values[float32](neg))
		require.ErrorContains(t, torch.Try(func() { torch.Fill(y.Conj().Imag(), []float32{5, -6}) }), "contiguous")

		leaf := torch.Ones(2).SetRequiresGrad(true)
		torch.Fill(torch.Call("_neg_view", leaf.Detach())[0].(torch.Tensor), []float32{1, 2})
		require.Equal(t, []float32{-1, -2}, torch.Values[float32](leaf))
	})
}

func TestFillRefusesWhatHasNoRoom(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		three := []float32{1, 2, 3}
		var inference torch.Tensor
		torch.Inference(func() { inference = torch.Zeros(3) })
		sparse := torch.Eye(3).ToSparse()
		for name, bad := range map[string]torch.Tensor{
			"expanded": torch.Zeros(1).Expand(3), "overlapping": torch.Zeros(4).AsStrided([]int{3}, []int{0}),
			"every second": torch.Zeros(6).Index(torch.Slice(0, torch.End, 2)),
			"sparse":       sparse, "meta": torch.TensorOptions{Device: torch.Meta}.Zeros(3),
			"mkldnn": torch.Call("to_mkldnn", torch.Zeros(3))[0].(torch.Tensor), "inference": inference,
		} {
			require.Error(t, torch.Try(func() { torch.Fill(bad, three) }), name)
		}
		require.Equal(t, []float32{0, 0, 0}, torch.Values[float32](inference), "refused before anything was written")
		require.ErrorIs(t, torch.Try(func() { sparse.Bytes() }), torch.ErrType)
		require.ErrorContains(t, torch.Try(func() { torch.Values[float32](sparse) }), "ToDense")
		require.Error(t, torch.Try(func() { torch.TensorOptions{Device: torch.Meta}.Zeros(3).Bytes() }))
	})
}
