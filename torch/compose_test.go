package torch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/linalg"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// The tensors that both sides compute with.
const ingredients = `
torch.manual_seed(11)
x, w, s = torch.randn(4, 6), torch.randn(6, 4), torch.randn(50)
k, c = torch.tensor([3, 1, 1, 0, 3, 3]), torch.randn(3, dtype=torch.complex64)
p, q = torch.randn(40, 5), torch.randn(30, 5)
h, b = torch.hann_window(8), torch.tensor([-1., 0., 1.])
`

// composition is what people write in Python, often without knowing whether an operator or
// Python's own code does it.
type composition struct {
	python string
	call   func(in map[string]torch.Tensor) []torch.Tensor
}

func single(t torch.Tensor) []torch.Tensor      { return []torch.Tensor{t} }
func two(a, b torch.Tensor) []torch.Tensor      { return []torch.Tensor{a, b} }
func three(a, b, c torch.Tensor) []torch.Tensor { return []torch.Tensor{a, b, c} }

type in = map[string]torch.Tensor

func TestCompositionsAreThoseOfPython(t *testing.T) {
	torchtest.NoLeaks(t)
	threads := torch.NumThreads()
	torch.SetNumThreads(1)
	defer torch.SetNumThreads(threads)
	names := []string{"x", "w", "s", "k", "c", "p", "q", "h", "b"}
	given := ask(t, ingredients+"y = [x, w, s, k, c, p, q, h, b]")
	inputs := in{}
	for i, name := range names {
		inputs[name] = given.tensor(t, i)
	}
	for _, c := range slices.Concat(arithmetic, choices, layouts, reductions) {
		want := ask(t, ingredients+"y = "+c.python)
		require.Empty(t, want.Error, c.python)
		torch.Scope(func() {
			got := c.call(inputs)
			require.Len(t, got, len(want.Tensors), c.python)
			for i, y := range got {
				expected := want.tensor(t, i)
				require.Equal(t, expected.DType(), y.DType(), c.python)
				require.Equal(t, expected.Shape(), y.Shape(), c.python)
				require.Equal(t, expected.Bytes(), y.Bytes(), "%s: got %v, want %v", c.python, y, expected)
			}
		})
	}
}

var arithmetic = []composition{
	{"x + 2", func(v in) []torch.Tensor { return single(v["x"].AddScalar(2)) }},
	{"k + 0.5", func(v in) []torch.Tensor { return single(v["k"].AddScalar(0.5)) }},
	{"x - 2", func(v in) []torch.Tensor { return single(v["x"].SubScalar(2)) }},
	{"2 - x", func(v in) []torch.Tensor { return single(torch.RSubScalar(v["x"], 2)) }},
	{"x * 3", func(v in) []torch.Tensor { return single(v["x"].MulScalar(3)) }},
	{"k * (1 + 2j)", func(v in) []torch.Tensor { return single(v["k"].MulScalar(1 + 2i)) }},
	{"x / 3", func(v in) []torch.Tensor { return single(v["x"].DivScalar(3)) }},
	{"3 / x", func(v in) []torch.Tensor { return single(torch.DivScalarTensor(3, v["x"])) }},
	{"3 / k", func(v in) []torch.Tensor { return single(torch.DivScalarTensor(3, v["k"])) }},
	{"1.5 / c", func(v in) []torch.Tensor { return single(torch.DivScalarTensor(1.5, v["c"])) }},
	{"x // 0.3", func(v in) []torch.Tensor { return single(v["x"].FloorDivideScalar(0.3)) }},
	{"k // -2", func(v in) []torch.Tensor { return single(v["k"].FloorDivideScalar(-2)) }},
	{"x % 0.3", func(v in) []torch.Tensor { return single(v["x"].RemainderScalar(0.3)) }},
	{"7 % (k + 1)", func(v in) []torch.Tensor { return single(torch.RemainderScalarTensor(7, v["k"].AddScalar(1))) }},
	{"x ** 3", func(v in) []torch.Tensor { return single(v["x"].PowScalar(3)) }},
	{"2 ** x", func(v in) []torch.Tensor { return single(torch.PowScalarTensor(2, v["x"])) }},
	{"x > 0.5", func(v in) []torch.Tensor { return single(v["x"].GtScalar(0.5)) }},
	{"-x", func(v in) []torch.Tensor { return single(v["x"].Neg()) }},
	{"~(k == 3)", func(v in) []torch.Tensor { return single(v["k"].EqScalar(3).BitwiseNot()) }},
	{"x @ w", func(v in) []torch.Tensor { return single(v["x"].MatMul(v["w"])) }},
	{"torch.chain_matmul(x, w, x)", func(v in) []torch.Tensor { return single(linalg.MultiDot(v["x"], v["w"], v["x"])) }},
	{"torch.einsum('ij,jk->ki', x, w)", func(v in) []torch.Tensor { return single(torch.Einsum("ij,jk->ki", v["x"], v["w"])) }},
	{"torch.einsum('...j,...j->...', x, x)", func(v in) []torch.Tensor { return single(torch.Einsum("...j,...j->...", v["x"], v["x"])) }},
	{"torch.tensordot(x, w, 0)", func(v in) []torch.Tensor { return single(torch.TensorDotN(v["x"], v["w"], 0)) }},
	{"torch.tensordot(x, w, 1)", func(v in) []torch.Tensor { return single(torch.TensorDotN(v["x"], v["w"], 1)) }},
	{"torch.tensordot(x, x, 2)", func(v in) []torch.Tensor { return single(torch.TensorDotN(v["x"], v["x"], 2)) }},
	{"torch.tensordot(x, w, ([0, 1], [1, 0]))",
		func(v in) []torch.Tensor { return single(torch.TensorDot(v["x"], v["w"], []int{0, 1}, []int{1, 0})) }},
	{"torch.cdist(x, w.T)", func(v in) []torch.Tensor { return single(torch.CDist(v["x"], v["w"].T())) }},
	{"torch.cdist(p, q)", func(v in) []torch.Tensor { return single(torch.CDist(v["p"], v["q"])) }},
	{"torch.cdist(p, q, compute_mode='donot_use_mm_for_euclid_dist')", func(v in) []torch.Tensor {
		return single(torch.CDist(v["p"], v["q"], torch.CDistOptions{ComputeMode: new(2)}))
	}},
	{"torch.cdist(p, q, p=1)", func(v in) []torch.Tensor { return single(torch.CDist(v["p"], v["q"], torch.CDistOptions{P: new(1.0)})) }},
	{"torch.view_as_real(c)", func(v in) []torch.Tensor { return single(torch.ViewAsReal(v["c"])) }},
	{"torch.view_as_complex(x.reshape(12, 2))", func(v in) []torch.Tensor { return single(torch.ViewAsComplex(v["x"].Reshape(12, 2))) }},
	{"[c.real, c.imag, c.conj(), c.abs(), c.angle()]", func(v in) []torch.Tensor {
		c := v["c"]
		return []torch.Tensor{c.Real(), c.Imag(), c.Conj(), c.Abs(), c.Angle()}
	}},
	{"torch.stft(s, 8, window=h, return_complex=True)", func(v in) []torch.Tensor {
		return single(v["s"].STFT(8, torch.STFTOptions{Window: v["h"], ReturnComplex: new(true)}))
	}},
	{"torch.stft(s, 8, hop_length=3, window=h, center=False, normalized=True, onesided=False, return_complex=True)",
		func(v in) []torch.Tensor {
			o := torch.STFTOptions{HopLength: new(3), Window: v["h"], NoCenter: true, Normalized: true, Onesided: new(false),
				ReturnComplex: new(true)}
			return single(v["s"].STFT(8, o))
		}},
	{"torch.istft(torch.stft(s, 8, window=h, return_complex=True), 8, window=h, length=50)", func(v in) []torch.Tensor {
		y := v["s"].STFT(8, torch.STFTOptions{Window: v["h"], ReturnComplex: new(true)})
		return single(y.ISTFT(8, torch.ISTFTOptions{Window: v["h"], Length: new(50)}))
	}},
}

var choices = []composition{
	{"torch.where(x > 0, x, x * 2)",
		func(v in) []torch.Tensor { return single(torch.Where(v["x"].GtScalar(0), v["x"], v["x"].MulScalar(2))) }},
	{"torch.where(x > 0, x, 0.5)", func(v in) []torch.Tensor { return single(torch.WhereTensorScalar(v["x"].GtScalar(0), v["x"], 0.5)) }},
	{"torch.where(x > 0, 1, x)", func(v in) []torch.Tensor { return single(torch.WhereScalarTensor(v["x"].GtScalar(0), 1, v["x"])) }},
	{"torch.where(x > 0, 1., -1.)", func(v in) []torch.Tensor { return single(torch.WhereScalar(v["x"].GtScalar(0), 1.0, -1.0)) }},
	{"torch.where(x > 0)", func(v in) []torch.Tensor { return torch.WhereIndices(v["x"].GtScalar(0)) }},
	{"torch.unravel_index(x.argmax(), x.shape)", func(v in) []torch.Tensor { return torch.UnravelIndex(v["x"].ArgMax(), v["x"].Shape()...) }},
	{"torch.unravel_index(torch.arange(24).reshape(4, 6), (2, 3, 4))", func(v in) []torch.Tensor {
		return torch.UnravelIndex(torch.Arange(24).Reshape(4, 6), 2, 3, 4)
	}},
	{"torch.unique(k, return_inverse=True, return_counts=True)", func(v in) []torch.Tensor {
		return three(v["k"].Unique(torch.UniqueOptions{ReturnInverse: true, ReturnCounts: true}))
	}},
	{"torch.unique(k.reshape(3, 2), dim=0, return_inverse=True, return_counts=True)", func(v in) []torch.Tensor {
		return three(torch.UniqueDim(v["k"].Reshape(3, 2), 0, torch.UniqueDimOptions{ReturnInverse: true, ReturnCounts: true}))
	}},
	{"torch.unique_consecutive(k, return_inverse=True, return_counts=True)", func(v in) []torch.Tensor {
		return three(torch.UniqueConsecutive(v["k"], torch.UniqueConsecutiveOptions{ReturnInverse: true, ReturnCounts: true}))
	}},
	{"x.topk(2)", func(v in) []torch.Tensor { return two(v["x"].TopK(2)) }},
	{"x.topk(3, dim=0, largest=False)", func(v in) []torch.Tensor {
		return two(v["x"].TopK(3, torch.TopKOptions{Dim: new(0), Smallest: true}))
	}},
	{"x.sort(dim=0, descending=True)", func(v in) []torch.Tensor {
		return two(v["x"].Sort(torch.SortOptions{Dim: new(0), Descending: true}))
	}},
	{"k.sort(stable=True)", func(v in) []torch.Tensor { return two(v["k"].SortStable()) }},
	{"x.kthvalue(2)", func(v in) []torch.Tensor { return two(v["x"].KthValue(2)) }},
	{"x.gather(1, k.reshape(1, 6))", func(v in) []torch.Tensor { return single(v["x"].Gather(1, v["k"].Reshape(1, 6))) }},
	{"x.scatter(1, k[3:].reshape(1, 3), 9.)", func(v in) []torch.Tensor {
		return single(v["x"].ScatterValue(1, v["k"].Index(span(3, torch.End)).Reshape(1, 3), 9.0))
	}},
	{"torch.zeros(6).scatter_add(0, k, s[:6])", func(v in) []torch.Tensor {
		return single(torch.Zeros(6).ScatterAdd(0, v["k"], v["s"].Index(span(6))))
	}},
	{"torch.zeros(6).scatter_reduce(0, k, s[:6], 'mean', include_self=False)", func(v in) []torch.Tensor {
		return single(torch.Zeros(6).ScatterReduce(0, v["k"], v["s"].Index(span(6)), "mean", torch.ScatterReduceOptions{ExcludeSelf: true}))
	}},
	{"torch.searchsorted(b, x)", func(v in) []torch.Tensor { return single(torch.SearchSorted(v["b"], v["x"])) }},
	{"torch.searchsorted(b, 0., side='right')", func(v in) []torch.Tensor {
		return single(torch.SearchSortedScalar(v["b"], 0.0, torch.SearchSortedOptions{Side: "right"}))
	}},
	{"torch.bucketize(x, b, right=True)", func(v in) []torch.Tensor {
		return single(torch.Bucketize(v["x"], v["b"], torch.BucketizeOptions{Right: true}))
	}},
	{"torch.histc(s, bins=7, min=-1, max=1)", func(v in) []torch.Tensor {
		return single(v["s"].Histc(torch.HistcOptions{Bins: new(7), Min: -1, Max: 1}))
	}},
	{"torch.bincount(k, minlength=6)", func(v in) []torch.Tensor { return single(v["k"].BinCount(torch.BinCountOptions{MinLength: 6})) }},
	{"torch.isclose(x, x + 1e-7)", func(v in) []torch.Tensor { return single(v["x"].IsClose(v["x"].AddScalar(1e-7))) }},
	{"x[x > 0]", func(v in) []torch.Tensor { return single(v["x"].Index(v["x"].GtScalar(0))) }},
}

var layouts = []composition{
	{"torch.broadcast_tensors(x[:1], x[:, :1])", func(v in) []torch.Tensor {
		return torch.BroadcastTensors(v["x"].Index(span(1)), v["x"].Index(all, span(1)))
	}},
	{"torch.meshgrid(b, s[:2], indexing='ij')", func(v in) []torch.Tensor { return torch.Meshgrid(v["b"], v["s"].Index(span(2))) }},
	{"torch.meshgrid(b, s[:2], indexing='xy')", func(v in) []torch.Tensor {
		return torch.MeshgridIndexing([]torch.Tensor{v["b"], v["s"].Index(span(2))}, "xy")
	}},
	{"torch.cartesian_prod(b, s[:2])", func(v in) []torch.Tensor { return single(torch.CartesianProd(v["b"], v["s"].Index(span(2)))) }},
	{"torch.combinations(b)", func(v in) []torch.Tensor { return single(torch.Combinations(v["b"])) }},
	{"torch.block_diag(x, b, torch.tensor(7.))",
		func(v in) []torch.Tensor { return single(torch.BlockDiag(v["x"], v["b"], torch.FromValue[float32](7))) }},
	{"torch.split(x, 4, dim=1)", func(v in) []torch.Tensor { return v["x"].Split(4, 1) }},
	{"torch.split(x, [1, 3], dim=0)", func(v in) []torch.Tensor { return v["x"].SplitSizes([]int{1, 3}) }},
	{"torch.chunk(x, 4, dim=1)", func(v in) []torch.Tensor { return v["x"].Chunk(4, 1) }},
	{"torch.tensor_split(x, 4, dim=1)", func(v in) []torch.Tensor { return v["x"].TensorSplit(4, 1) }},
	{"torch.unbind(x, 1)", func(v in) []torch.Tensor { return v["x"].Unbind(1) }},
	{"torch.unbind(x, -1)", func(v in) (list []torch.Tensor) {
		for _, column := range v["x"].Each(-1) {
			list = append(list, column)
		}
		return list
	}},
	{"torch.atleast_1d(torch.tensor(2.))", func(in) []torch.Tensor { return single(torch.AtLeast1d(torch.FromValue[float32](2))) }},
	{"torch.atleast_2d(b, torch.tensor(2.))",
		func(v in) []torch.Tensor { return torch.AtLeast2dTensors(v["b"], torch.FromValue[float32](2)) }},
	{"torch.atleast_3d(b)", func(v in) []torch.Tensor { return single(torch.AtLeast3d(v["b"])) }},
	{"torch.flatten(x.reshape(2, 2, 6), 1)", func(v in) []torch.Tensor { return single(v["x"].Reshape(2, 2, 6).Flatten(1)) }},
	{"[torch.stack([b, b], -1), torch.cat([b, b]), torch.hstack([b, b]), torch.vstack([b, b])]", func(v in) []torch.Tensor {
		pair := []torch.Tensor{v["b"], v["b"]}
		return []torch.Tensor{torch.Stack(pair, -1), torch.Cat(pair), torch.HStack(pair...), torch.VStack(pair...)}
	}},
}

var reductions = []composition{
	{"torch.norm(x)", func(v in) []torch.Tensor { return single(linalg.VectorNorm(v["x"])) }},
	{"torch.norm(x, p=1, dim=1)", func(v in) []torch.Tensor {
		return single(linalg.VectorNorm(v["x"], linalg.VectorNormOptions{Ord: 1, Dim: []int{1}}))
	}},
	{"torch.norm(x, p='nuc')", func(v in) []torch.Tensor {
		return single(linalg.MatrixNormStr(v["x"], linalg.MatrixNormStrOptions{Ord: "nuc"}))
	}},
	{"torch.linalg.lu_factor(x[:, :4])", func(v in) []torch.Tensor { return two(linalg.LUFactor(v["x"].Index(all, span(4)))) }},
	{"[x.sum(), x.mean(), x.std(), x.var(), x.prod()]", func(v in) []torch.Tensor {
		x := v["x"]
		return []torch.Tensor{x.Sum(), x.Mean(), x.Std(), x.Var(), x.Prod()}
	}},
	{"x.max(dim=1)", func(v in) []torch.Tensor { return two(v["x"].MaxDim(1)) }},
	{"x.softmax(-1)", func(v in) []torch.Tensor { return single(v["x"].Softmax(-1)) }},
	{"x.quantile(0.3, dim=1)", func(v in) []torch.Tensor {
		return single(v["x"].QuantileScalar(0.3, torch.QuantileOptions{Dim: new(1)}))
	}},
}

func TestBroadcastShapes(t *testing.T) {
	for python, shapes := range map[string][][]int{
		"": nil, "(),": {{}}, "(2,)": {{2}}, "(2,), (3, 1), (1, 1, 1)": {{2}, {3, 1}, {1, 1, 1}}, "(0,), (1,)": {{0}, {1}},
		"(5, 1, 4), (3, 1)": {{5, 1, 4}, {3, 1}},
	} {
		assert.Equal(t, ask(t, "y = list(torch.broadcast_shapes("+python+"))").Text,
			strings.ReplaceAll(fmt.Sprint(torch.BroadcastShapes(shapes...)), " ", ", "), python)
	}
	assert.ErrorContains(t, torch.Try(func() { torch.BroadcastShapes([]int{2}, []int{3}) }), "size 3 against 2")
	assert.ErrorIs(t, torch.Try(func() { torch.BroadcastShapes([]int{-1}) }), torch.ErrValue)
}

func TestCompositionsRefuse(t *testing.T) {
	torchtest.NoLeaks(t)
	cases := []struct {
		call func()
		kind error
		text string
	}{
		{func() { torch.TensorDotN(torch.Ones(2), torch.Ones(2), 2) }, torch.ErrIndex,
			"tensors of 1 and 1 dimensions cannot be contracted along 2"},
		{func() { torch.TensorDotN(torch.Ones(2), torch.Ones(2), -1) }, torch.ErrIndex, "along -1"},
		{func() { torch.UnravelIndex(torch.Ones(2), 2) }, torch.ErrType, "indices are integers, got float32"},
		{func() { torch.UnravelIndex(long(1), 2, -2) }, torch.ErrValue, "shape [2 -2] has a negative size"},
		{func() { torch.DivScalarTensor("3", torch.Ones(2)) }, torch.ErrType, "got string"},
		{func() { torch.Value[int](torch.Ones(2)) }, torch.ErrValue, "a tensor of 2 elements has no single value"},
		{func() { torch.Value[int](torch.Zeros(0)) }, torch.ErrValue, "a tensor of 0 elements has no single value"},
		{func() { torch.Value[float32](of(torch.Complex64, 1)) }, torch.ErrType, "cannot be read as float32"},
		{func() {
			for range torch.Ones(2).Each(1) {
				panic("there are none")
			}
		}, torch.ErrIndex, "dimension 1 is out of range"},
	}
	for _, c := range cases {
		err := torch.Try(c.call)
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.text)
	}
}

func TestValue(t *testing.T) {
	torchtest.NoLeaks(t)
	assert.Equal(t, float32(2.5), torch.Value[float32](torch.FromValue(2.5)))
	assert.Equal(t, 2, torch.Value[int](filled(2.5, 1, 1)))
	assert.Equal(t, true, torch.Value[bool](long(3)))
	assert.Equal(t, 1+2i, torch.Value[complex128](torch.FromValue(complex64(1+2i))))
}

// What PyTorch's users call without dimensions takes all of them.
func TestReductionsWithoutDimensions(t *testing.T) {
	torchtest.NoLeaks(t)
	x := torch.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	for name, y := range map[string]torch.Tensor{
		"LogSumExp": x.LogSumExp(), "Sum": x.Sum(), "Mean": x.Mean(), "AMax": x.AMax(), "AMin": x.AMin(), "Std": x.Std(), "Var": x.Var(),
		"All": x.All(), "Any": x.Any(), "Prod": x.Prod(), "NaNSum": x.NaNSum(), "NaNMean": x.NaNMean(), "CountNonzero": x.CountNonzero(),
		"ArgMax": x.ArgMax(), "ArgMin": x.ArgMin(), "Max": x.Max(), "Min": x.Min(), "Median": x.Median(), "Norm": x.Norm(),
	} {
		require.Empty(t, y.Shape(), name)
	}
	require.InDelta(t, 4.4402, x.LogSumExp().Float64(), 1e-4)
	require.Equal(t, torch.Values[float32](x.Reshape(-1).LogSumExp(0)), torch.Values[float32](x.LogSumExp()))
	require.InDelta(t, 1.5, torch.FromValue(1.5).LogSumExp().Float64(), 1e-12)
}
