package torch_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// What cgo/gen/docs.txt says of the operators that people use most.

func TestDocumentedShapes(t *testing.T) {
	torchtest.NoLeaks(t)
	ones := torch.Ones
	cases := []struct {
		name string
		call func() torch.Tensor
		want []int
	}{
		{"Mul broadcasts", func() torch.Tensor { return ones(3, 1).Mul(ones(4)) }, []int{3, 4}},
		{"MatMul of vectors", func() torch.Tensor { return ones(3).MatMul(ones(3)) }, []int{}},
		{"MatMul of a matrix and a vector", func() torch.Tensor { return ones(2, 3).MatMul(ones(3)) }, []int{2}},
		{"MatMul of batches", func() torch.Tensor { return ones(5, 1, 2, 3).MatMul(ones(7, 3, 4)) }, []int{5, 7, 2, 4}},
		{"Sum", func() torch.Tensor { return ones(2, 3).Sum() }, []int{}},
		{"SumDim", func() torch.Tensor { return ones(2, 3).SumDim([]int{-1}) }, []int{2}},
		{"SumDim of all", func() torch.Tensor { return ones(2, 3).SumDim(nil) }, []int{}},
		{"SumDim with KeepDim", func() torch.Tensor { return ones(2, 3).SumDim([]int{-1}, torch.SumOptions{KeepDim: true}) }, []int{2, 1}},
		{"Mean", func() torch.Tensor { return ones(2, 3).Mean() }, []int{}},
		{"MeanDim", func() torch.Tensor { return ones(2, 3).MeanDim([]int{-1}) }, []int{2}},
		{"MeanDim of all with KeepDim", func() torch.Tensor { return ones(2, 3).MeanDim(nil, torch.MeanOptions{KeepDim: true}) }, []int{1, 1}},
		{"View", func() torch.Tensor { return ones(2, 3).View(-1, 2) }, []int{3, 2}},
		{"Reshape", func() torch.Tensor { return ones(2, 3).T().Reshape(2, -1) }, []int{2, 3}},
		{"Cat", func() torch.Tensor { return torch.Cat([]torch.Tensor{ones(2, 3), ones(2, 3)}) }, []int{4, 3}},
		{"Cat along 1", func() torch.Tensor { return torch.Cat([]torch.Tensor{ones(2, 3), ones(2, 3)}, 1) }, []int{2, 6}},
		{"Stack", func() torch.Tensor { return torch.Stack([]torch.Tensor{ones(3, 5), ones(3, 5)}) }, []int{2, 3, 5}},
		{"Stack along -1", func() torch.Tensor { return torch.Stack([]torch.Tensor{ones(3, 5), ones(3, 5)}, -1) }, []int{3, 5, 2}},
		{"Transpose", func() torch.Tensor { return ones(2, 3, 5).Transpose(-2, -1) }, []int{2, 5, 3}},
		{"Permute", func() torch.Tensor { return ones(4, 6, 3).Permute(2, 0, 1) }, []int{3, 4, 6}},
		{"Gather", func() torch.Tensor { return ones(4, 5).Gather(1, of(torch.Int64, 2, 7)) }, []int{2, 7}},
		{"Zeros", func() torch.Tensor { return torch.Zeros() }, []int{}},
		{"Linear", func() torch.Tensor {
			return aten.Linear(ones(2, 7, 3), ones(5, 3), ones(5))
		}, []int{2, 7, 5}},
		{"Einsum of traces", func() torch.Tensor { return torch.Einsum("bii->b", ones(2, 3, 3)) }, []int{2}},
		{"Conv2d", func() torch.Tensor {
			o := aten.Conv2dOptions{Bias: ones(4), Stride: []int{2}, Padding: []int{1, 0}, Dilation: []int{2, 1}, Groups: new(2)}
			return aten.Conv2d(ones(2, 6, 12, 9), ones(4, 3, 3, 2), o)
		}, []int{2, 4, (12+2*1-2*2-1)/2 + 1, (9-1-1)/2 + 1}},
		{"Conv2d of one image", func() torch.Tensor { return aten.Conv2d(ones(3, 5, 5), ones(4, 3, 3, 3)) }, []int{4, 3, 3}},
		{"MaxPool2d", func() torch.Tensor { return aten.MaxPool2d(ones(2, 3, 7, 7), []int{2}) }, []int{2, 3, 3, 3}},
		{"MaxPool2d that leaves nothing over", func() torch.Tensor {
			return aten.MaxPool2d(ones(3, 7, 7), []int{2}, aten.MaxPool2dOptions{CeilMode: true})
		}, []int{3, 4, 4}},
		{"CrossEntropyLoss", func() torch.Tensor { return aten.CrossEntropyLoss(ones(2, 3), long(0, 2)) }, []int{}},
		{"CrossEntropyLoss of each place", func() torch.Tensor {
			return aten.CrossEntropyLoss(ones(2, 3, 5), of(torch.Int64, 2, 5), aten.CrossEntropyLossOptions{Reduction: torch.ReductionNone})
		}, []int{2, 5}},
		{"CrossEntropyLoss of probabilities", func() torch.Tensor { return aten.CrossEntropyLoss(ones(2, 3), ones(2, 3)) }, []int{}},
	}
	for _, c := range cases {
		torch.Scope(func() { assert.Equal(t, c.want, c.call().Shape(), c.name) })
	}
}

func TestDocumentedDTypes(t *testing.T) {
	torchtest.NoLeaks(t)
	whole := long(1, 2)
	cases := []struct {
		name string
		call func() torch.Tensor
		want torch.DType
	}{
		{"Add", func() torch.Tensor { return whole.Add(torch.Ones(2)) }, torch.Float32},
		{"Cat", func() torch.Tensor { return torch.Cat([]torch.Tensor{whole, torch.Ones(2)}) }, torch.Float32},
		{"Where", func() torch.Tensor { return torch.Where(whole.GtScalar(1), whole, torch.Ones(2)) }, torch.Float32},
		{"Sum of bools", func() torch.Tensor { return of(torch.Bool, 2).Sum() }, torch.Int64},
		{"Sum of small integers", func() torch.Tensor { return of(torch.Int8, 2).Sum() }, torch.Int64},
		{"Sum as", func() torch.Tensor { return whole.SumAll(torch.SumAllOptions{DType: torch.Float64}) }, torch.Float64},
		{"Mean as", func() torch.Tensor { return whole.MeanAll(torch.MeanAllOptions{DType: torch.Float32}) }, torch.Float32},
		{"MeanDim as", func() torch.Tensor { return whole.MeanDim([]int{0}, torch.MeanOptions{DType: torch.Float16}) }, torch.Float16},
		{"Softmax as", func() torch.Tensor { return whole.Softmax(-1, torch.SoftmaxOptions{DType: torch.Float32}) }, torch.Float32},
		{"Arange of an int", func() torch.Tensor { return torch.Arange(3) }, torch.Int64},
		{"Arange of a float", func() torch.Tensor { return torch.Arange(3.0) }, torch.Float32},
		{"Arange as", func() torch.Tensor { return torch.TensorOptions{DType: torch.Int8}.Arange(3.0) }, torch.Int8},
	}
	for _, c := range cases {
		torch.Scope(func() { assert.Equal(t, c.want, c.call().DType(), c.name) })
	}
}

func TestDocumentedValues(t *testing.T) {
	torchtest.NoLeaks(t)
	nan := math.NaN()
	x := torch.FromSlice([]float32{3, float32(nan), -1, 3})
	matrix, picks := torch.Arange(6).Reshape(2, 3), torch.FromSlice([]int{1, 0, 1}, 1, 3)
	torch.Scope(func() {
		relu := torch.Values[float32](x.ReLU())
		assert.True(t, math.IsNaN(float64(relu[1])), "ReLU keeps NaN")
		assert.Equal(t, []float32{3, 0, 3}, []float32{relu[0], relu[2], relu[3]})

		sorted, from := x.Sort()
		assert.True(t, math.IsNaN(float64(torch.Values[float32](sorted)[3])), "Sort: NaN is the largest")
		assert.True(t, sorted.AllClose(x.Gather(0, from), torch.AllCloseOptions{EqualNaN: true}))
		_, order := x.SortStable()
		assert.Equal(t, []int{2, 0, 3, 1}, torch.Values[int](order))
		_, largest := x.TopK(1)
		assert.Equal(t, 1, largest.Index(0).Int(), "TopK: NaN is the largest")
		least, _ := x.TopK(2, torch.TopKOptions{Smallest: true})
		assert.Equal(t, []float32{-1, 3}, torch.Values[float32](least))

		assert.Equal(t, []int{3, 1, 5}, torch.Values[int](matrix.Gather(0, picks)), "y[i][j] is x[index[i][j]][j]")
		assert.Equal(t, []int{1, 0, 1}, torch.Values[int](matrix.Gather(1, picks)), "y[i][j] is x[i][index[i][j]]")

		view := matrix.View(3, 2)
		view.At(0, 0).Set(9)
		assert.Equal(t, 9, matrix.Index(0, 0).Int(), "what is written to a view shows")
		big := torch.FromSlice([]float32{1000, 1000})
		assert.Equal(t, []float32{0.5, 0.5}, torch.Values[float32](big.Softmax(0)), "Softmax does not overflow")
		padded := aten.MaxPool2d(filled(-5, 1, 2, 2), []int{2}, aten.MaxPool2dOptions{Padding: []int{1}})
		assert.Equal(t, []float32{-5, -5, -5, -5}, torch.Values[float32](padded), "the padding is -∞")
		assert.Equal(t, []float32{-1, -1}, torch.Values[float32](torch.Ones(2).Add(torch.Ones(2), torch.AddOptions{Alpha: -2})))
	})
}

func TestDocumentedBags(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		table, rows, begin := torch.Arange(8).To(torch.Float32).Reshape(4, 2), long(0, 3, 1), long(0, 2)
		for mode, want := range [][]float32{{6, 8, 2, 3}, {3, 4, 2, 3}, {6, 7, 2, 3}} {
			bags, _, _, _ := aten.EmbeddingBag(table, rows, begin, aten.EmbeddingBagOptions{Mode: mode})
			assert.Equal(t, want, torch.Values[float32](bags), "mode %d", mode)
		}
		sparse := torch.SparseCOOTensor(long(0, 2, 1, 4).Reshape(2, 2), torch.Ones(2))
		assert.Equal(t, []int{3, 5}, sparse.Shape(), "the smallest sizes that hold the indices")
	})
}

func TestDocumentedLoss(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.FromSlice([]float64{1, 2, 0.5, -1, 0, 2}, 2, 3)
		byHand := x.LogSoftmax(1).Neg()
		loss := func(o aten.CrossEntropyLossOptions) float64 {
			return aten.CrossEntropyLoss(x, long(1, 0), o).Float64()
		}
		a, b := byHand.Index(0, 1).Float64(), byHand.Index(1, 0).Float64()
		assert.InDelta(t, (a+b)/2, loss(aten.CrossEntropyLossOptions{}), 1e-12)
		assert.InDelta(t, a, loss(aten.CrossEntropyLossOptions{IgnoreIndex: new(0)}), 1e-12)
		weights := torch.FromSlice([]float64{3, 1, 1})
		assert.InDelta(t, (a+3*b)/4, loss(aten.CrossEntropyLossOptions{Weight: weights}), 1e-12)
		smooth := 0.8*(a+b)/2 + 0.2*byHand.Mean().Float64()
		assert.InDelta(t, smooth, loss(aten.CrossEntropyLossOptions{LabelSmoothing: 0.2}), 1e-12)
	})
}
