package export_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// classLoss is a loss of classes with its gradient, for the gradient of its results.
func classLoss(reduction torch.Reduction, leftOut int) func(x, classes, gradient torch.Tensor) []torch.Tensor {
	return func(x, classes, gradient torch.Tensor) []torch.Tensor {
		loss, count := aten.NLLLossForward(x, classes, torch.Tensor{}, reduction, leftOut)
		back := func(count torch.Tensor) torch.Tensor {
			return aten.NLLLossBackward(gradient, x, classes, torch.Tensor{}, reduction, leftOut, count)
		}
		return []torch.Tensor{loss, count, back(count), back(count.AddScalar(1))}
	}
}

// A compiled program computes the loss of few rows and its gradient by itself, with the bits of libtorch's kernels, however many rows there
// are; a class that there is not is the same error, and what is left out is left out.
func TestLossesOfClasses(t *testing.T) {
	torchtest.NoLeaks(t)
	const columns = 3
	within := func(fn func()) { torch.Scope(func() { torch.Unsafe(fn) }) } // they are inner operators
	run := func(t *testing.T, reduction torch.Reduction, rows, leftOut int, change func(classes torch.Tensor)) (err error) {
		within(func() {
			fn := classLoss(reduction, leftOut)
			x, classes, gradient := torch.RandN(rows, columns), torch.RandInt(0, columns, []int{rows}), torch.RandN()
			if reduction == torch.ReductionNone {
				gradient = torch.RandN(rows)
			}
			p, failed := export.Export(fn, []any{x, classes, gradient})
			require.NoError(t, failed)
			defer p.Close()
			program := compiled(t, p, export.CompileOptions{Exact: true})
			change(classes)
			want, wrong := torch.Try1(func() []torch.Tensor { return fn(x, classes, gradient) })
			got, own := program.Run(x, classes, gradient)
			if err = own; err != nil {
				require.ErrorContains(t, wrong, "out of bounds")
				return
			}
			require.NoError(t, wrong)
			for i := range want {
				torchtest.Equal(t, got[i], want[i])
			}
		})
		return err
	}
	same := func(torch.Tensor) {}
	for _, reduction := range []torch.Reduction{torch.ReductionNone, torch.ReductionMean, torch.ReductionSum} {
		for _, rows := range []int{1, 2, 15, 16, 17, 64, 255, 256, 257, 1300, 1400} {
			t.Run(fmt.Sprint(reduction, " of ", rows), func(t *testing.T) {
				require.NoError(t, run(t, reduction, rows, -100, same))
				require.NoError(t, run(t, reduction, rows, 1, same))
				require.NoError(t, run(t, reduction, rows, -1, func(classes torch.Tensor) { classes.Index(rows / 2).FillInPlace(-1) }))
				for _, none := range []int{-1, columns} {
					err := run(t, reduction, rows, -100, func(classes torch.Tensor) { classes.Index(rows - 1).FillInPlace(float64(none)) })
					require.ErrorContains(t, err, "out of bounds")
				}
			})
		}
	}
}

// A tensor that a program joins with others in a list is known to learn, as one that an operator takes by itself is.
func TestListsLearn(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		weight := torch.Ones(2).SetRequiresGrad(true)
		p, err := export.Export(func(x torch.Tensor) torch.Tensor { return torch.Cat([]torch.Tensor{x, weight}, 0) }, []any{torch.Ones(3)})
		require.NoError(t, err)
		defer p.Close()
		out, err := compiled(t, p, export.CompileOptions{Exact: true}).Run(torch.Ones(3))
		require.NoError(t, err)
		require.True(t, out[0].RequiresGrad())
	})
}
