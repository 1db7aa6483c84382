package torch_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// here is this line of the caller, as errors name it.
func here(offset int) string {
	_, _, line, _ := runtime.Caller(1)
	return fmt.Sprintf("anomaly_test.go:%d (", line+offset)
}

func TestDetectAnomalyNamesTheLine(t *testing.T) {
	torchtest.NoLeaks(t)
	cases := []struct {
		name, node, text string
		fn               func(x torch.Tensor) (loss torch.Tensor, line string)
	}{
		{"nan", "SqrtBackward0", "returned nan values in its 0th output", func(x torch.Tensor) (torch.Tensor, string) {
			y, line := x.Sqrt(), here(0)
			return y.Mul(torch.Zeros(2)).Sum(), line
		}},
		{"in place", "ExpBackward0", "modified by an inplace operation", func(x torch.Tensor) (torch.Tensor, string) {
			y, line := x.Exp(), here(0)
			loss := y.Sum()
			y.MulScalarInPlace(2)
			return loss.Add(y.Sum()), line
		}},
		{"custom", "customBackward", "expected 1, got 0", func(x torch.Tensor) (torch.Tensor, string) {
			none := custom{backward: func(*torch.FunctionCtx, []torch.Tensor) []torch.Tensor { return nil }}
			y, line := torch.Apply1(none, x), here(0)
			return y.Sum(), line
		}},
		{"hook", "TanhBackward0", "no more", func(x torch.Tensor) (torch.Tensor, string) {
			y, line := x.Tanh(), here(0)
			y.RegisterHook(func(torch.Tensor) torch.Tensor { panic("no more") })
			return y.Sum(), line
		}},
	}
	for _, c := range cases {
		torch.Scope(func() {
			torch.DetectAnomaly(func() {
				assert.True(t, torch.IsAnomalyEnabled())
				loss, line := c.fn(leaf(0, 1))
				err := torch.Try(func() { loss.Backward() })
				assert.ErrorContains(t, err, c.text, c.name)
				assert.ErrorContains(t, err, c.node+" was recorded at ", c.name)
				assert.ErrorContains(t, err, line, c.name)
				var e *torch.Error
				require.ErrorAs(t, err, &e)
				assert.Equal(t, c.node, e.Trail[0].Node)
				assert.NotEmpty(t, e.Trail[0].Callers)
			})
		})
		assert.False(t, torch.IsAnomalyEnabled())
	}
}

// A node of a second derivative came about in the backward pass of another.
func TestDetectAnomalyInDoubleBackward(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.DetectAnomaly(func() {
			x := leaf(0)
			y, line := x.PowScalar(1.5), here(0)
			g := torch.Grad([]torch.Tensor{y}, []torch.Tensor{x}, torch.GradOptions{CreateGraph: true})[0]
			second := here(-1)
			err := torch.Try(func() { g.Mul(g).Mul(torch.FromSlice([]float64{0})).Backward() })
			assert.ErrorContains(t, err, "nan values")
			assert.ErrorContains(t, err, second)
			assert.ErrorContains(t, err, "in the backward pass of PowBackward0, recorded at")
			assert.ErrorContains(t, err, line)
		})
	})
}

func TestDetectAnomalyRegions(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		nan := func(x torch.Tensor) error {
			return torch.Try(func() { x.Sqrt().Mul(torch.Zeros(1)).Sum().Backward() })
		}
		x := leaf(0)
		assert.NoError(t, nan(x))
		torch.DetectAnomaly(func() {
			assert.False(t, torch.IsAnomalyCheckNaNEnabled())
			assert.NoError(t, nan(x))
			torch.DetectAnomaly(func() { assert.Error(t, nan(x)) })
			assert.NoError(t, nan(x))
		}, torch.AnomalyOptions{NoNaNCheck: true})

		early := x.Exp()
		y := early.Sum()
		torch.NoGrad(func() { early.ZeroInPlace() })
		var err error
		torch.DetectAnomaly(func() { err = torch.Try(func() { y.Backward() }) })
		assert.ErrorContains(t, err, "ExpBackward0 was recorded outside of DetectAnomaly")

		assert.Panics(t, func() { torch.DetectAnomaly(func() { panic("fn") }) })
		assert.False(t, torch.IsAnomalyEnabled())
	})
}

func TestDetectAnomalyOnManyGoroutines(t *testing.T) {
	torchtest.NoLeaks(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			torch.Scope(func() {
				torch.DetectAnomaly(func() {
					for range 10 {
						x := leaf(0, float64(i))
						err := torch.Try(func() { x.Sqrt().Mul(torch.Zeros(2)).Sum().Backward() })
						if assert.ErrorContains(t, err, "SqrtBackward0 was recorded at") {
							assert.Equal(t, 1, strings.Count(err.Error(), "recorded"))
						}
					}
				})
			})
		})
	}
	all.Wait()
}
