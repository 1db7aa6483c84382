package torch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

type celsius float32

func TestFromNested(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.FromNested([][]float32{{1, 2, 3}, {4, 5, 6}})
		require.Equal(t, []int{2, 3}, x.Shape())
		require.Equal(t, [][]float32{{1, 2, 3}, {4, 5, 6}}, torch.Matrix[float32](x))
		for _, c := range []struct {
			values any
			shape  []int
			dtype  torch.DType
		}{
			{[2][1][2]int{{{1, 2}}, {{3, 4}}}, []int{2, 1, 2}, torch.Int64},
			{[][]bool{{true}, {false}}, []int{2, 1}, torch.Bool},
			{[]celsius{21.5}, []int{1}, torch.Float32},
			{[][]torch.BF16{{1}}, []int{1, 1}, torch.BFloat16},
			{[][]float64{}, []int{0, 0}, torch.Float64},
			{3.5, []int{}, torch.Float64},
		} {
			x := torch.FromNested(c.values)
			require.Equal(t, c.shape, x.Shape(), "%v", c.values)
			require.Equal(t, c.dtype, x.DType(), "%v", c.values)
		}
	})
	require.EqualError(t, torch.Try(func() { torch.FromNested([][]int{{1, 2}, {3}}) }),
		"torch: from_nested: lists of one depth have 2 and 1 elements, expected the same number in each")
	require.ErrorContains(t, torch.Try(func() { torch.FromNested([]string{"a"}) }), "got elements of type string")
	require.ErrorContains(t, torch.Try(func() { torch.FromNested(nil) }), "got nil")
	require.ErrorContains(t, torch.Try(func() { torch.Scope(func() { torch.Matrix[int](torch.Ones(2)) }) }), "expected a matrix")
}

// A part is written from left to right, as Python has it.
func TestAt(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Zeros(2, 3)
		x.At(0, torch.Slice(2)).Set(5)
		x.At(0, []int{0, 0, 2}).Add(1)
		require.Equal(t, []float32{7, 5, 1, 0, 0, 0}, torch.Values[float32](x))
		require.Equal(t, []float32{7, 5, 1, -1, -1, -1}, torch.Values[float32](x.Where(x.GtScalar(0), torch.Full([]int{}, -1.0))))
	})
}
