package torch_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/linalg"
	"github.com/libtorch-go/libtorch/torch/special"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// short is a vector of int32.
func short(v ...int32) torch.Tensor { return torch.FromSlice(v) }

// gated are the weights of recurrent layers: two to a direction, and their biases.
func gated(gates, width, size, layers, directions int) (params []torch.Tensor) {
	for i := range layers * directions {
		if i == directions {
			width = size * directions
		}
		params = append(params, torch.Ones(gates*size, width), torch.Ones(gates*size, size), torch.Ones(gates*size), torch.Ones(gates*size))
	}
	return params
}

// without is a list in which tensor i is another.
func without(i int, other torch.Tensor, list []torch.Tensor) []torch.Tensor {
	list[i] = other
	return list
}

func lstm(input torch.Tensor, layers int, hidden, params []torch.Tensor) {
	aten.LSTM(input, hidden, params, true, layers, 0, false, false, false)
}

func packed(sizes torch.Tensor) {
	aten.LSTMPacked(torch.Ones(3, 3), sizes, []torch.Tensor{torch.Ones(1, 2, 4), torch.Ones(1, 2, 4)}, gated(4, 3, 4, 1, 1), true, 1,
		0, false, false)
}

func twice(size ...int) []torch.Tensor {
	return []torch.Tensor{torch.Ones(size...), torch.Ones(size...)}
}

func bags(mode int, offsets torch.Tensor) {
	aten.EmbeddingBag(torch.Ones(4, 3), long(0, 1, 2, 3), offsets, aten.EmbeddingBagOptions{Mode: mode})
}

func segments(o torch.SegmentReduceOptions) { torch.SegmentReduce(torch.Ones(4, 2), "sum", o) }

func scored(size ...int) torch.Tensor { return torch.Zeros(size...).LogSoftmax(-1) }

// least are n of the smallest number of an integer type; minus are n times -1.
func least(d torch.DType, n int) torch.Tensor {
	return torch.TensorOptions{DType: d}.Full([]int{n}, map[torch.DType]int{torch.Int64: math.MinInt64, torch.Int32: math.MinInt32}[d])
}
func minus(d torch.DType, n int) torch.Tensor {
	return torch.TensorOptions{DType: d}.Full([]int{n}, -1)
}

// badChecked are the mistakes that libtorch does not survive, or does not notice.
var badChecked = slices.Concat(badBags, badLabels, badSegments, badSparse, badDivisions, badStatistics, badRecurrent, badEndless, badRules)

var badBags = []badInput{
	{"bags that descend", func() { bags(2, long(0, 3, 1)) }, broken, "offsets have to ascend, but offsets[2] is 1 after 3"},
	{"bags at a negative offset", func() { bags(0, long(0, -1000000, 1)) }, broken,
		"offsets have to ascend, but offsets[1] is -1000000 after 0"},
	{"bags in the middle of nowhere", func() { bags(1, long(0, 10000000, 1)) }, broken,
		"offsets[1] can not be greater than input's length 4 but got 10000000"},
	{"bags of a padding that descend", func() {
		aten.EmbeddingBagPaddingIdx(torch.Ones(4, 3), long(0, 1), short(0, 2, 1), false, 2, false, none, false, new(1))
	}, broken, "have to ascend"},
	{"indices without a bag", func() { bags(2, long()) }, broken, "offsets of 0 elements leave no bag for 4 indices"},
	{"indices past the last bag", func() {
		aten.EmbeddingBag(torch.Ones(4, 3), long(0, 1, 2), long(0, 2), aten.EmbeddingBagOptions{Mode: 2, IncludeLastOffset: true})
	}, broken, "offsets[-1] has to be input's length 3 but got 2"},
	{"indices with only an end", func() {
		aten.EmbeddingBag(torch.Ones(4, 3), long(0, 1, 2), long(0), aten.EmbeddingBagOptions{Mode: 2, IncludeLastOffset: true})
	}, broken, "leave no bag for 3 indices"},
	{"bags of a mode that is not there", func() { bags(3, long(0)) }, misused, "mode has to be 0 (sum), 1 (mean) or 2 (max), but got 3"},
	{"bags of a negative mode", func() { bags(-1, long(0)) }, misused, "but got -1"},
}

var badLabels = []badInput{
	{"CTC loss of a label far off",
		func() { aten.CTCLoss(scored(9, 2, 5), long(1, 2, 3, 4000000).Reshape(2, 2), []int{9, 9}, []int{2, 2}) }, outside,
		"in the range [0, 5), but got label 4000000"},
	{"CTC loss of a label one too large", func() { aten.CTCLoss(scored(9, 2, 5), long(1, 2, 3, 5), []int{9, 9}, []int{2, 2}) },
		outside, "but got label 5"},
	{"CTC loss of a negative label", func() { aten.CTCLoss(scored(9, 1, 5), short(1, -4000000), []int{9}, []int{2}) }, outside,
		"but got label -4000000"},
	{"CTC loss of one sequence with a label far off", func() { aten.CTCLoss(scored(9, 5), long(1, 9999999), []int{9}, []int{2}) },
		outside, "but got label 9999999"},
	{"CTC loss of lengths in tensors with a label far off",
		func() { aten.CTCLossTensor(scored(9, 2, 5), long(1, 2, 3, 4000000), long(9, 9), long(2, 2)) }, outside, "but got label 4000000"},
}

var badSegments = []badInput{
	{"segments of unsafe lengths", func() { segments(torch.SegmentReduceOptions{Lengths: long(4000000), Unsafe: true}) }, broken,
		"Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1), 4"},
	{"segments of unsafe negative lengths", func() { segments(torch.SegmentReduceOptions{Lengths: long(-1, 4), Unsafe: true}) },
		broken, "lengths contains negative value"},
	{"segments up to far off", func() { segments(torch.SegmentReduceOptions{Offsets: long(0, 40000000)}) }, outside,
		"at most 4, but got 40000000 after 0"},
	{"segments from before", func() { segments(torch.SegmentReduceOptions{Offsets: long(-40000000, 4)}) }, outside,
		"but got -40000000 after 0"},
	{"segments backwards", func() { segments(torch.SegmentReduceOptions{Offsets: long(0, 3, 1)}) }, outside, "but got 1 after 3"},
	{"segments of other rows", func() { segments(torch.SegmentReduceOptions{Lengths: of(torch.Int64, 1, 2), Axis: 1}) }, broken,
		"Expected segments of size 4 at dimension 0, as in data, but got 1"},
	{"aligned tensors of nothing", func() { torch.AlignTensors() }, misused, "non-empty list of Tensors"},
	{"attention of no keys in groups", func() {
		aten.ScaledDotProductAttention(torch.Ones(1, 4, 2, 8), torch.Ones(1, 0, 2, 8), torch.Ones(1, 0, 2, 8),
			aten.ScaledDotProductAttentionOptions{EnableGQA: true})
	}, broken, "at least one head with enable_gqa, but got 0 and 0"},
	{"attention of no values in groups", func() {
		aten.ScaledDotProductAttention(torch.Ones(1, 4, 2, 8), torch.Ones(1, 2, 2, 8), torch.Ones(1, 0, 2, 8),
			aten.ScaledDotProductAttentionOptions{EnableGQA: true})
	}, broken, "at least one head with enable_gqa, but got 2 and 0"},
}

var badSparse = []badInput{
	{"a sparse element outside", func() { torch.SparseCOOTensorSize(long(50000000).Reshape(1, 1), torch.Ones(1), []int{3}) }, broken,
		"size is inconsistent with indices: for dim 0, size is 3 but found index 50000000"},
	{"a sparse element before", func() { torch.SparseCOOTensorSize(long(-50000000).Reshape(1, 1), torch.Ones(1), []int{3}) }, broken,
		"found negative index -50000000 for dim 0"},
	{"a sparse row that ends far off", func() { torch.SparseCSRTensorSize(long(0, 90000000), long(0), torch.Ones(1), []int{1, 3}) },
		broken, "crow_indices[..., -1] == nnz"},
	{"a sparse column far off", func() { torch.SparseCSRTensorSize(long(0, 1), long(90000000), torch.Ones(1), []int{1, 3}) }, broken,
		"0 <= col_indices < ncols"},
	{"a sparse row far off", func() {
		torch.SparseCSCTensorSize(long(0, 1, 1, 1), long(90000000), torch.Ones(1), []int{1, 3})
	}, broken, "0 <= row_indices < nrows"},
	{"a sparse block far off to the right",
		func() { torch.SparseBSRTensorSize(long(0, 1), long(90000000), torch.Ones(1, 1, 1), []int{1, 3}) }, broken, "0 <= col_indices < ncols"},
	{"a sparse block far off below", func() {
		torch.SparseBSCTensorSize(long(0, 1, 1, 1), long(90000000), torch.Ones(1, 1, 1), []int{1, 3})
	}, broken, "0 <= row_indices < nrows"},
	{"a compressed column far off", func() {
		torch.SparseCompressedTensorSize(long(0, 1), long(90000000), torch.Ones(1), []int{1, 3}, torch.TensorOptions{Layout: torch.SparseCSR})
	}, broken, "0 <= col_indices < ncols"},
	{"a row that ends far off, of no size", func() { torch.SparseCSRTensor(long(0, 90000000, 1), long(0), torch.Ones(1)) }, broken,
		"0 <= crow_indices[..., 1:]"},
	{"a column that ends far off, of no size", func() { torch.SparseCSCTensor(long(0, 90000000, 1), long(0), torch.Ones(1)) }, broken,
		"0 <= ccol_indices[..., 1:]"},
	{"a row of blocks that ends far off, of no size",
		func() { torch.SparseBSRTensor(long(0, 90000000, 1), long(0), torch.Ones(1, 2, 3)) }, broken, "0 <= crow_indices[..., 1:]"},
	{"a column of blocks that ends far off, of no size",
		func() { torch.SparseBSCTensor(long(0, 90000000, 1), long(0), torch.Ones(1, 2, 3)) }, broken, "0 <= ccol_indices[..., 1:]"},
	{"a compressed row that ends far off, of no size", func() {
		torch.SparseCompressedTensor(long(0, 90000000, 1), long(0), torch.Ones(1), torch.TensorOptions{Layout: torch.SparseCSR})
	}, broken, "0 <= crow_indices[..., 1:]"},
}

var badDivisions = []badInput{
	{"the smallest int64 by -1", func() { least(torch.Int64, 1).DivMode(minus(torch.Int64, 1), "trunc") }, misused,
		"-9223372036854775808 divided by -1 is past the largest int64"},
	{"one of many smallest int32 by -1", func() { least(torch.Int32, 33).DivMode(minus(torch.Int32, 1), "trunc") }, misused,
		"-2147483648 divided by -1 is past the largest int32"},
	{"the smallest int64 by a small -1", func() { least(torch.Int64, 2).DivModeInPlace(minus(torch.Int32, 2), "trunc") }, misused,
		"is past the largest int64"},
	{"the smallest int64 by the number -1", func() { least(torch.Int64, 33).DivScalarMode(-1, "trunc") }, misused,
		"is past the largest int64"},
	{"the smallest int32 by the number -1, in place", func() { least(torch.Int32, 1).DivScalarModeInPlace(int8(-1), "trunc") },
		misused, "is past the largest int32"},
	{"the smallest int64 by -1 under another name", func() { least(torch.Int64, 1).DivideMode(minus(torch.Int64, 1), "trunc") },
		misused, "integer overflow"},
	{"the smallest int64 by the number -1 under another name", func() { least(torch.Int64, 1).DivideScalarMode(int64(-1), "trunc") },
		misused, "integer overflow"},
}

var badStatistics = []badInput{
	{"native batch norm with other statistics", func() {
		aten.NativeBatchNorm(torch.Ones(2, 400, 3), none, none, torch.Ones(1), torch.Ones(1), true, 0.1, 1e-5)
	}, broken, "running_mean should contain 400 elements not 1"},
	{"native batch norm with other weights", func() {
		aten.NativeBatchNorm(torch.Ones(2, 400, 3), torch.Ones(1), torch.Ones(400), none, none, true, 0.1, 1e-5)
	}, broken, "weight should contain 400 elements not 1"},
	{"native batch norm without statistics", func() {
		aten.NativeBatchNorm(torch.Ones(2, 4, 3), none, none, torch.Ones(4), none, false, 0.1, 1e-5)
	}, broken, "running_var must be defined in evaluation mode"},
	{"general eigenvalues of NaN", func() { linalg.Eigvals(filled(math.NaN(), 3, 3)) }, linAlg, "should not contain infs or NaNs"},
	{"general eigenvalues of infinity", func() { linalg.Eigvals(filled(math.Inf(-1), 30, 30)) }, linAlg, "should not contain infs or NaNs"},
	{"symmetric eigenvalues alone of NaN", func() { linalg.Eigvalsh(filled(math.NaN(), 30, 30)) }, linAlg, "should not contain infs or NaNs"},
	{"the rank of a symmetric NaN", func() {
		linalg.MatrixRank(filled(math.NaN(), 30, 30), linalg.MatrixRankOptions{Hermitian: true})
	}, linAlg, "should not contain infs or NaNs"},
	{"the inverse of a symmetric NaN", func() {
		linalg.Pinv(filled(math.NaN(), 30, 30), linalg.PinvOptions{Hermitian: true})
	}, linAlg, "should not contain infs or NaNs"},
	{"symmetric pivots far off", func() { linalg.LDLSolve(torch.Eye(3), short(1, 2, 1000000), torch.Ones(3, 1)) }, outside,
		"between 1 and 3, or between -3 and -1, but got 1000000"},
	{"symmetric pivots of 0", func() { linalg.LDLSolve(torch.Eye(3), short(0, 2, 3), torch.Ones(3, 1)) }, outside, "but got 0"},
	{"half a block at the end", func() { linalg.LDLSolve(torch.Eye(3), short(1, 2, -3), torch.Ones(3, 1)) }, outside, "come in pairs"},
	{"half a block at the beginning", func() { linalg.LDLSolve(torch.Eye(3), short(-1, 2, 3), torch.Ones(3, 1)) }, outside, "come in pairs"},
	{"three halves of blocks", func() {
		linalg.LDLSolve(torch.Eye(3).Expand(2, 3, 3), short(1, 2, 3, -1, -1, -3).Reshape(2, 3), torch.Ones(2, 3, 1))
	}, outside, "come in pairs"},
}

var badRecurrent = []badInput{
	{"LSTM of another width", func() { lstm(torch.Ones(2, 1, 3000), 1, twice(1, 1, 4), gated(4, 3, 4, 1, 1)) }, broken,
		"Expected parameter of size [16, 3000], but got [16, 3]"},
	{"LSTM of another hidden state", func() { lstm(torch.Ones(2, 1, 3), 1, twice(1, 1, 4000), gated(4, 3, 4, 1, 1)) }, broken,
		"Expected parameter of size [16000, 3]"},
	{"LSTM of another batch", func() { lstm(torch.Ones(2, 5, 3), 1, twice(1, 1, 4), gated(4, 3, 4, 1, 1)) }, broken,
		"Expected hidden state of size [1, 5, 4], but got [1, 1, 4]"},
	{"LSTM of another batch, batch first", func() {
		aten.LSTM(torch.Ones(2, 5, 3), twice(1, 5, 4), gated(4, 3, 4, 1, 1), true, 1, 0, false, false, true)
	}, broken, "Expected hidden state of size [1, 2, 4]"},
	{"LSTM with another batch of cells", func() {
		lstm(torch.Ones(2, 5, 3), 1, []torch.Tensor{torch.Ones(1, 5, 4), torch.Ones(1, 1, 4)}, gated(4, 3, 4, 1, 1))
	}, broken, "Expected hidden state of size [1, 5, 4]"},
	{"LSTM of a flat hidden state", func() { lstm(torch.Ones(2, 1, 3), 1, twice(1, 4), gated(4, 3, 4, 1, 1)) }, broken,
		"hidden states of 3 dimensions"},
	{"LSTM of other recurrent weights", func() {
		lstm(torch.Ones(2, 1, 3), 1, twice(1, 1, 4), without(1, torch.Ones(1, 1), gated(4, 3, 4, 1, 1)))
	}, broken, "Expected parameter of size [16, 4], but got [1, 1]"},
	{"LSTM of another bias in the second layer", func() {
		lstm(torch.Ones(2, 1, 3), 2, twice(2, 1, 4), without(7, torch.Ones(1), gated(4, 3, 4, 2, 1)))
	}, broken, "Expected parameter of size [16], but got [1]"},
	{"LSTM of too few layers", func() { lstm(torch.Ones(2, 1, 3), 2, twice(2, 1, 4), gated(4, 3, 4, 1, 1)) }, broken, "expected 8, got 4"},
	{"LSTM of no layers", func() { lstm(torch.Ones(2, 1, 3), 0, twice(0, 1, 4), nil) }, misused,
		"expected num_layers to be positive, but got 0"},
	{"GRU of another width", func() {
		aten.GRU(torch.Ones(2, 1, 3000), torch.Ones(1, 1, 4), gated(3, 3, 4, 1, 1), true, 1, 0, false, false, false)
	}, broken, "Expected parameter of size [12, 3000]"},
	{"tanh layers of another batch", func() {
		aten.RNNTanh(torch.Ones(2, 5, 3), torch.Ones(1, 2, 4), gated(1, 3, 4, 1, 1), true, 1, 0, false, false, false)
	}, broken, "Expected hidden state of size [1, 5, 4]"},
	{"ReLU layers of one direction too few", func() {
		aten.RNNReLU(torch.Ones(2, 1, 3), torch.Ones(2, 1, 4), gated(1, 3, 4, 1, 1), true, 1, 0, false, true, false)
	}, broken, "expected 8, got 4"},
	{"packed sequences of nothing", func() { packed(long()) }, misused, "batch_sizes has to be a non-empty vector of int64 on the CPU"},
	{"packed sequences on another device", func() { packed(torch.TensorOptions{Device: torch.Meta, DType: torch.Int64}.Ones(2)) },
		misused, "on the CPU"},
	{"packed sequences that grow", func() { packed(long(1, 2)) }, misused, "not to ascend, but got 2 after 1"},
	{"packed sequences that stop", func() { packed(long(2, 1, 0)) }, misused, "have to be positive"},
	{"packed sequences past the end", func() { packed(long(2, 2)) }, misused, "sum to the 3 rows of data, but got 4"},
	{"packed sequences of another batch", func() { packed(long(1, 1, 1)) }, broken,
		"Expected hidden state of size [1, 1, 4], but got [1, 2, 4]"},
	{"packed GRU of nothing", func() {
		aten.GRUPacked(torch.Ones(3, 3), long(), torch.Ones(1, 2, 4), gated(3, 3, 4, 1, 1), true, 1, 0, false, false)
	}, misused, "non-empty vector"},
	{"packed tanh layers of nothing", func() {
		aten.RNNTanhPacked(torch.Ones(3, 3), long(), torch.Ones(1, 2, 4), gated(1, 3, 4, 1, 1), true, 1, 0, false, false)
	}, misused, "non-empty vector"},
}

var badEndless = []badInput{
	{"trials of NaN", func() { torch.Binomial(filled(math.NaN(), 1), filled(0.5, 1)) }, misused, "count contains NaN"},
	{"the smallest power", func() { linalg.MatrixPower(torch.Eye(2), math.MinInt) }, misused,
		"the exponent -9223372036854775808 is too small"},
	{"the smallest power of a method", func() { torch.Eye(2).MatrixPower(math.MinInt) }, misused, "is too small"},
	{"Laguerre polynomials of endless degree", func() { special.LaguerrePolynomialL(torch.Ones(1), filled(1e18, 1)) }, misused,
		"the degree n is at most 16777216"},
	{"Laguerre polynomials of an endless number", func() { special.LaguerrePolynomialLScalar(torch.Ones(1), uint64(1e18)) }, misused,
		"but got 1000000000000000000"},
	{"Laguerre polynomials of a number in endless degree", func() { special.LaguerrePolynomialLScalarTensor(0.5, long(1, 1e18)) },
		misused, "at most 16777216"},
	{"Legendre polynomials of endless degree", func() { special.LegendrePolynomialP(torch.Zeros(1), filled(1e18, 1)) }, misused,
		"at most 16777216"},
	{"Legendre polynomials of an endless number", func() { special.LegendrePolynomialPScalar(torch.Zeros(1), 1e18) }, misused,
		"but got 1e+18"},
	{"Legendre polynomials of a number in endless degree", func() { special.LegendrePolynomialPScalarTensor(0.5, filled(1e18, 1)) },
		misused, "at most 16777216"},
}

// What is close to a mistake, and none, goes through.
func TestCheckedLetThrough(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, call := range map[string]func(){
		"bags up to the last offset": func() {
			aten.EmbeddingBag(torch.Ones(4, 3), long(0, 1, 2), long(0, 2, 2, 3), aten.EmbeddingBagOptions{Mode: 2, IncludeLastOffset: true})
		},
		"no indices and no bags":    func() { aten.EmbeddingBag(torch.Ones(4, 3), long(), long()) },
		"padding among the targets": func() { aten.CTCLoss(scored(9, 2, 5), long(1, 2, 3, -100).Reshape(2, 2), []int{9, 9}, []int{2, 1}) },
		"empty segments":            func() { segments(torch.SegmentReduceOptions{Offsets: long(0, 0, 2, 2)}) },
		"unsafe lengths that leave some out": func() {
			segments(torch.SegmentReduceOptions{Lengths: long(1, 2), Unsafe: true})
		},
		"the last sparse element": func() { torch.SparseCOOTensorSize(long(2).Reshape(1, 1), torch.Ones(1), []int{3}).ToDense() },
		"sparse blocks of no size": func() {
			torch.SparseBSCTensor(long(0, 1, 2), long(0, 1), torch.Ones(2, 2, 3)).ToDense()
		},
		"-1 and the smallest apart": func() {
			torch.FromSlice([]int{math.MinInt, 5}).DivMode(long(2, -1), "trunc")
			torch.FromSlice([]int32{math.MinInt32}).DivMode(long(-1), "trunc")
			torch.Ones(2).DivScalarMode(-1, "trunc")
			long().DivScalarMode(-1, "trunc")
		},
		"pivots of blocks": func() {
			a := torch.FromSlice([]float32{0, 1, 2, 1, 0, 3, 2, 3, 0}, 3, 3)
			factors, pivots := linalg.LDLFactor(a)
			require.Equal(t, 1, torch.Value[int](pivots.LtScalar(0).Any()), "no block among %v", pivots)
			x := linalg.LDLSolve(factors, pivots, torch.Ones(3, 1))
			assert.True(t, a.MatMul(x).AllClose(torch.Ones(3, 1), torch.AllCloseOptions{ATol: new(1e-5)}))
		},
		"LSTM of two directions in two layers": func() {
			aten.LSTM(torch.Ones(2, 5, 3), twice(4, 2, 4), gated(4, 3, 4, 2, 2), true, 2, 0, false, true, true)
		},
		"LSTM of projections without biases": func() {
			params := []torch.Tensor{torch.Ones(16, 3), torch.Ones(16, 2), torch.Ones(2, 4), torch.Ones(16, 2), torch.Ones(16, 2), torch.Ones(2, 4)}
			aten.LSTM(torch.Ones(2, 5, 3), []torch.Tensor{torch.Ones(2, 5, 2), torch.Ones(2, 5, 4)}, params, false, 2, 0, false, false, false)
		},
		"packed sequences":          func() { packed(long(2, 1)) },
		"polynomials of low degree": func() { special.LegendrePolynomialP(torch.Ones(2), long(3, 1<<20)) },
		"polynomials of bytes":      func() { special.LegendrePolynomialP(torch.Ones(2), torch.FromSlice([]uint8{3, 255})) },
	} {
		torch.Scope(func() { assert.NoError(t, torch.Try(call), name) })
	}
}
