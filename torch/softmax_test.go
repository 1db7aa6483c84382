package torch_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// logSoftmaxOfRows calls the operator with vectors of so many numbers; y is null but for the derivative.
func logSoftmaxOfRows(x torch.Tensor, y any, vector int) (out torch.Tensor, err error) {
	err = torch.Try(func() {
		torch.Unsafe(func() { out = torch.Call("libtorchgo::log_softmax_of_rows", x, y, vector)[0].(torch.Tensor) })
	})
	return out, err
}

// oddRows are rows of numbers, some of which have none, no bound, or a sign alone.
func oddRows(size ...int) torch.Tensor {
	x := torch.RandN(size...).MulScalar(3)
	flat := x.View(-1)
	odd := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), -200, 1e-40, math.MaxFloat32}
	for i, v := range odd {
		flat.Index(i * 7 % flat.Size(0)).FillInPlace(v)
	}
	return x
}

// oneNaN is x with the same bits in all that is no number: they may be another's where vectors are of another width.
func oneNaN(x torch.Tensor) torch.Tensor { return x.MaskedFill(x.IsNaN(), math.NaN()).Contiguous() }

// Short rows are computed a vector of them at once, with the bits that libtorch's kernels make of each by itself: those take rows that lie
// apart.
func TestLogSoftmaxOfShortRows(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, vector := range vectors() {
		if vector > 8 && os.Getenv("ATEN_CPU_CAPABILITY") == "avx2" {
			continue // libtorch has been told to use shorter ones, in which it adds otherwise
		}
		for columns := 2; columns < vector; columns++ {
			for _, rows := range []int{1, 5, 15, 16, 17, 64, 5000} {
				torch.Scope(func() {
					where := fmt.Sprint(vector, " ", columns, " ", rows)
					apart := func(x torch.Tensor) torch.Tensor { return x.T().Contiguous().T() }
					x, gradient := oddRows(rows, columns), oddRows(rows, columns)
					leaf := apart(x).SetRequiresGrad(true)
					want := leaf.LogSoftmax(-1)
					want.Backward(torch.BackwardOptions{Gradient: apart(gradient)})

					got, err := logSoftmaxOfRows(x, nil, vector)
					require.NoError(t, err, where)
					torchtest.Equal(t, oneNaN(got), oneNaN(want.Detach()))
					torchtest.Equal(t, oneNaN(x.LogSoftmax(1)), oneNaN(got))
					got, err = logSoftmaxOfRows(gradient, want.Detach().Contiguous(), vector)
					require.NoError(t, err, where)
					torchtest.Equal(t, oneNaN(got), oneNaN(leaf.Grad()))

					near := x.View(1, rows, columns).Detach().SetRequiresGrad(true)
					near.LogSoftmax(2).Backward(torch.BackwardOptions{Gradient: gradient.View(1, rows, columns)})
					torchtest.Equal(t, oneNaN(near.Grad().View(rows, columns)), oneNaN(got))
				})
			}
		}
	}
}

func TestLogSoftmaxOfRowsRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, vector := range vectors() {
		for _, size := range [][]int{{}, {3}, {4, 1}, {4, vector}, {0, 3}} {
			torch.Scope(func() {
				x := torch.Zeros(size...)
				if len(size) == 1 {
					x = x.To(torch.Float64)
				}
				_, err := logSoftmaxOfRows(x, nil, vector)
				require.ErrorIs(t, err, torch.ErrValue, fmt.Sprint(size))
			})
		}
		torch.Scope(func() {
			_, err := logSoftmaxOfRows(torch.Zeros(3, 4), torch.Zeros(4, 3), vector)
			require.ErrorIs(t, err, torch.ErrValue)
		})
	}
}
