package torch_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// sumOfColumns calls the operator with vectors of so many numbers.
func sumOfColumns(x torch.Tensor, vector int) (out torch.Tensor, err error) {
	err = torch.Try(func() {
		torch.Unsafe(func() { out = torch.Call("libtorchgo::sum_of_columns", x, vector)[0].(torch.Tensor) })
	})
	return out, err
}

// Columns of small matrices are summed up by kernels of ours, with the bits of libtorch's, which sum up matrices of more dimensions.
func TestSumsOfColumns(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, rows := range []int{2, 3, 7, 15, 16, 17, 33, 64, 100, 255, 256, 257, 300, 5000} {
		for _, columns := range []int{2, 3, 4, 6, 8, 10, 24, 31, 33, 64, 99, 128, 256, 5000} {
			if rows*columns >= 1<<15 {
				continue
			}
			torch.Scope(func() {
				where := fmt.Sprint(rows, " x ", columns)
				x := torch.RandN(rows, columns)
				if columns%2 == 0 {
					x = oddRows(rows, columns)
				}
				want := oneNaN(x.View(rows, 1, columns).Sum(0).View(columns))
				for _, vector := range vectors() {
					got, err := sumOfColumns(x, vector)
					require.NoError(t, err, where)
					torchtest.Equal(t, oneNaN(got), want)
				}
				torchtest.Equal(t, oneNaN(x.Sum(0)), want)
				torchtest.Equal(t, oneNaN(x.SumDim([]int{-2}, torch.SumOptions{KeepDim: true}).View(columns)), want)
			})
		}
	}
}

func TestSumOfColumnsRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, vector := range vectors() {
		torch.Scope(func() {
			for _, x := range []torch.Tensor{
				torch.Zeros(3), torch.Zeros(4, 1), torch.Zeros(1, 4), torch.Zeros(0, 3), torch.Zeros(3, 4).T(), torch.Zeros(3, 4).To(torch.Float64),
				torch.Zeros(1<<8, 1<<7),
			} {
				_, err := sumOfColumns(x, vector)
				require.ErrorIs(t, err, torch.ErrValue, fmt.Sprint(x.Shape()))
			}
		})
	}
}
