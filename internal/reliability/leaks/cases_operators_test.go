package leaks

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/fft"
	"github.com/libtorch-go/libtorch/torch/linalg"
)

func int64s(v ...int64) torch.Tensor { return torch.FromSlice(v) }

// doubles is for operators that round in float32 what they are given.
func doubles(shape ...int) torch.Tensor { return random(shape...).To(torch.Float64) }

// operatorCases call operators that neither a sample of PyTorch's nor made-up arguments
// come to.
var operatorCases = cases{
	"dimensions": func() {
		x := random(3, 4)
		for _, reduce := range []func(dims ...int) torch.Tensor{
			x.AMax, x.AMin, x.NaNMean, x.NaNSum, x.Prod, x.Std, x.Var, x.All, x.ArgMin, x.CountNonzero,
		} {
			reduce(1)
			reduce()
		}
		x.LogSumExp(1)
		x.AMinMax(0)
		x.HashTensor(0)
		torch.StdMean(x, 1)
		torch.VarMean(x, 1)
	},
	"ranges": func() {
		torch.Arange(4)
		torch.ArangeStart(1, 4)
		torch.ArangeStep(1, 4, 2)
		torch.Range(1, 4)
		torch.RangeStep(1, 4, 2)
		torch.Linspace(0, 1, 4)
		torch.Logspace(0, 1, 4)
		fft.FFTFreq(4, 1)
		fft.RFFTFreq(4, 1)
		torch.TrilIndices(3, 3)
		torch.TriuIndices(3, 3)
		torch.EyeM(2, 3)
	},
	"windows": func() {
		for _, fn := range []func(int) torch.Tensor{torch.BartlettWindow, torch.BlackmanWindow, torch.HammingWindow, torch.HannWindow,
			torch.KaiserWindow} {
			fn(4)
		}
		for _, fn := range []func(int, bool) torch.Tensor{
			torch.BartlettWindowPeriodic, torch.BlackmanWindowPeriodic, torch.HammingWindowPeriodic, torch.HannWindowPeriodic,
			torch.KaiserWindowPeriodic,
		} {
			fn(4, true)
		}
		torch.HammingWindowAlpha(4, true, 0.5)
		torch.HammingWindowAlphaBeta(4, true, 0.5, 0.5)
		torch.KaiserWindowBeta(4, true, 12)
	},
	"new tensors": func() {
		torch.EmptyPermuted([]int{2, 3}, []int{1, 0})
		torch.EmptyStrided([]int{2, 3}, []int{3, 1})
		torch.Normal(0, 1, 2)
		torch.RandInt(0, 4, []int{2})
		torch.RandIntN(4, 2)
		torch.RandIntNLikeTensor(zeros(2), torch.FromValue(int64(4)))
		torch.ScalarTensor(1)
		torch.SparseCOOEmpty(2, 2)
	},
	"compressed layouts": func() {
		rows, cols, v, size := int64s(0, 1, 2), int64s(0, 1), random(2), []int{2, 2}
		csc, m := torch.SparseCSCTensorSize(rows, cols, v, size), torch.SparseCSRTensor(rows, cols, v)
		torch.SparseCSRTensorSize(rows, cols, v, size)
		m.CRowIndices()
		m.ColIndices()
		m.Values()
		csc.CColIndices()
		csc.RowIndices()
		torch.SparseCSCTensor(rows, cols, v)
		layout := torch.TensorOptions{Layout: torch.SparseCSR}
		torch.SparseCompressedTensor(rows, cols, v, layout)
		torch.SparseCompressedTensorSize(rows, cols, v, size, layout)
	},
	"compressed blocks": func() {
		rows, cols, v, size := int64s(0, 1, 2), int64s(0, 1), random(2, 2, 2), []int{4, 4}
		torch.SparseBSRTensor(rows, cols, v)
		torch.SparseBSRTensorSize(rows, cols, v, size)
		torch.SparseBSCTensor(rows, cols, v)
		torch.SparseBSCTensorSize(rows, cols, v, size)
		torch.Eye(4).ToSparseBSR([]int{2, 2})
		torch.Eye(4).ToSparseBSC([]int{2, 2})
	},
	"coordinates": func() {
		m := torch.Eye(3).ToSparse()
		m.Indices()
		m.IsCoalesced()
		m.SMM(random(3, 2))
	},
	"gradients of samples": func() {
		x, at := random(4, 4), []torch.Tensor{torch.Arange(4).To(torch.Float32)}
		torch.GradientScalarsDims(x, []torch.Scalar{1.0}, []int{0})
		torch.GradientTensors(random(4), at)
		torch.GradientTensorsDims(x, at, []int{0})
	},
	"recurrent": func() {
		params := []torch.Tensor{random(5, 3), random(5, 5), random(5), random(5)}
		h, data, sizes := torch.Zeros(1, 2, 5), random(6, 3), int64s(2, 2, 2)
		aten.RNNReLU(random(4, 2, 3), h, params, true, 1, 0, false, false, false)
		aten.RNNReLUPacked(data, sizes, h, params, true, 1, 0, false, false)
		aten.RNNTanhPacked(data, sizes, h, params, true, 1, 0, false, false)
		gates := func(n int) []torch.Tensor {
			return []torch.Tensor{random(n*5, 3), random(n*5, 5), random(n * 5), random(n * 5)}
		}
		aten.GRUPacked(data, sizes, h, gates(3), true, 1, 0, false, false)
		aten.LSTMPacked(data, sizes, []torch.Tensor{h, h}, gates(4), true, 1, 0, false, false)
	},
	"losses": func() {
		aten.NLLLoss(random(2, 3), zeros(2))
		aten.NLLLoss2d(random(2, 3, 4, 4), zeros(2, 4, 4))
	},
	"norms": func() {
		linalg.MatrixNorm(random(2, 2), math.Inf(1))
		torch.NuclearNormDim(random(2, 2), []int{0, 1})
	},
	"in place": func() {
		random(2, 2).AddBMMInPlace(random(3, 2, 4), random(3, 4, 2))
		random(2).AddMVInPlace(random(2, 3), random(3))
		random(2, 3).AddRInPlace(random(2), random(3))
		doubles(2).FloatPowerInPlace(torch.FromValue(2.0))
		doubles(2).FloatPowerScalarInPlace(2)
	},
	"by index": func() {
		i := int64s(0, 1)
		random(3, 2).IndexCopyInPlace(0, i, random(2, 2))
		random(3, 2).IndexFillTensorInPlace(0, i, torch.FromValue(float32(2)))
		random(3, 2).IndexReduceInPlace(0, i, random(2, 2), "amax")
		random(3).ScatterSrcReduce(0, i, random(2), "add")
		random(3).ScatterSrcReduceInPlace(0, i, random(2), "add")
		random(3).ScatterValueReduce(0, i, 2, "add")
		random(3).ScatterValueReduceInPlace(0, i, 2, "add")
		random(3).NarrowTensor(0, torch.FromValue(int64(1)), 1)
	},
	"others": func() {
		aten.EmbeddingBag(random(5, 4), zeros(3), int64s(0, 2))
		torch.HistogramDDEdges(random(4, 1), []torch.Tensor{torch.Linspace(-1, 1, 4)})
		aten.UnflattenDenseTensors(random(5), random(2), random(3))
		aten.UpsampleNearest3dVec(image(3), []int{4, 4, 4}, nil)
		random(3, 2).Orgqr(random(2))
		random(16).STFT(4, torch.STFTOptions{Window: torch.Ones(4), ReturnComplex: new(true)})
		nested := torch.Call("_nested_tensor_from_tensor_list", []torch.Tensor{random(2), random(3)})[0].(torch.Tensor)
		torch.NestedToPaddedTensor(nested, 0)
		nested.ToPaddedTensor(0)
	},
}
