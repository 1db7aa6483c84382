package export_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A deep is a network of as many layers as are asked for, of which each gives the passes something to do.
type deep struct {
	x     torch.Tensor
	layer func(x, first torch.Tensor) torch.Tensor
}

func deeps() map[string]deep {
	x, image := torch.RandN(4, 16), torch.RandN(1, 16, 8, 8)
	w, b, k, slopes := torch.RandN(16, 16), torch.RandN(16), torch.RandN(16, 16, 3, 3), torch.Rand(16)
	norm := func(x torch.Tensor) torch.Tensor {
		return F.BatchNorm(x, F.BatchNormOptions{RunningMean: b, RunningVar: slopes, Weight: slopes, Bias: b})
	}
	return map[string]deep{
		"in place":     {x, func(x, _ torch.Tensor) torch.Tensor { return x.Add(b).SigmoidInPlace() }},
		"one memory":   {x.Neg(), func(x, _ torch.Tensor) torch.Tensor { return x.FillInPlace(3).NegInPlace() }},
		"linear":       {x, func(x, _ torch.Tensor) torch.Tensor { return F.ReLU(F.Linear(x, w, b)) }},
		"convolution":  {image, func(x, _ torch.Tensor) torch.Tensor { return F.ReLU(norm(conv(x, k, 1)).Add(x)) }},
		"norm":         {image, func(x, _ torch.Tensor) torch.Tensor { return F.ReLU(norm(x.Sin())) }},
		"views":        {x, func(x, _ torch.Tensor) torch.Tensor { return x.View(16, 4).Softmax(1).View(4, 16).Cos() }},
		"attention":    {x, func(x, _ torch.Tensor) torch.Tensor { return x.MM(x.T()).Softmax(1).MM(x) }},
		"all of one":   {x, func(x, first torch.Tensor) torch.Tensor { return x.Add(first.Cos()) }},
		"of constants": {b, func(x, first torch.Tensor) torch.Tensor { return x.Add(torch.Ones(16).Add(b)) }},
	}
}

// program is a network of so many layers.
func (d deep) program(t *testing.T, layers int) *export.Program {
	p, err := export.Export(func(first torch.Tensor) torch.Tensor {
		x := first.Abs()
		for range layers {
			x = d.layer(x, first)
		}
		return x
	}, []any{d.x})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// allocated is how much memory of Go's a function allocates, in bytes.
func allocated(fn func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// Four times as many layers take about four times as much to compile: what a pass knows of a graph it does not find out anew for each node.
// Memory that is allocated is counted, which nothing else on the machine changes.
func TestCompileScales(t *testing.T) {
	torchtest.NoLeaks(t)
	const layers, times, most = 100, 4, 6 // 16 times as much if it were the square
	torch.Scope(func() {
		for name, d := range deeps() {
			t.Run(name, func(t *testing.T) {
				few, many := d.program(t, layers), d.program(t, times*layers)
				ranges, err := export.Calibrate(few, slices.Values([][]any{{d.x}}), export.CalibrateOptions{Error: 1})
				require.NoError(t, err)
				for _, o := range []export.CompileOptions{{Exact: true}, {}, {Weights: torch.Int8}, {Int8: ranges}} {
					compiled(t, few, o) // what is made once
					least := allocated(func() { compiled(t, few, o) })
					took := allocated(func() { compiled(t, many, o) })
					t.Logf("%.2g bytes for %d nodes, %.1f times as many for %d", least, len(few.Graph.Nodes), took/least, len(many.Graph.Nodes))
					require.LessOrEqual(t, took, most*least)
				}
			})
		}
	})
}
