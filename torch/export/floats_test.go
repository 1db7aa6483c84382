package export

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// lowered is a network in bfloat16, on processors where that is slower, too, but for layers that are left in float32.
func lowered(t *testing.T, p *Program, floats []string) (*engine, string) {
	r, err := rewritten(context.Background(), p, CompileOptions{DType: torch.BFloat16, Floats: floats})
	require.NoError(t, err)
	defer r.close()
	var e *engine
	torch.Unsafe(func() { e, err = newEngine(r.p) })
	require.NoError(t, err)
	t.Cleanup(e.h.Close)
	return e, brief(&r.p.Graph)
}

// As few layers are left in float32 as it takes for results within a bound: the smaller that is, the more. With all of them left results
// are those of float32.
func TestLayersInFloat32(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.ManualSeed(3)
	torch.Scope(func() {
		net := nn.NewSequential(nn.NewConv2d(3, 8, 3), nn.ReLU{}, nn.NewConv2d(8, 16, 3), nn.ReLU{}, nn.NewConv2d(16, 16, 1), nn.ReLU{},
			nn.Flatten{}, nn.NewLinear(16*4*4, 32), nn.ReLU{}, nn.NewLinear(32, 10))
		samples := [][]any{{torch.RandN(2, 3, 8, 8)}, {torch.RandN(2, 3, 8, 8)}}
		p, err := Export(net, samples[0])
		require.NoError(t, err)
		defer p.Close()
		off := func(floats []string, calls ...[]any) float64 {
			e, _ := lowered(t, p, floats)
			far, spread := 0.0, 0.0
			torch.NoGrad(func() {
				for _, call := range calls {
					want, err := p.Run(call...)
					require.NoError(t, err)
					got, err := e.Run(call...)
					require.NoError(t, err)
					far += got[0].Sub(want[0]).Square().Sum().Float64()
					spread += want[0].Sub(want[0].Mean()).Square().Sum().Float64()
				}
			})
			return math.Sqrt(far / spread)
		}
		found := func(most float64) []string {
			c := Calibration{}
			require.NoError(t, c.choose(t.Context(), p, samples, CalibrateOptions{DType: torch.BFloat16, Error: most}))
			return c.Floats()
		}
		x := []any{torch.RandN(2, 3, 8, 8)}
		plain := off(nil, x)
		require.Greater(t, plain, 1e-3)
		require.Empty(t, found(3*plain))
		some := found(plain / 2)
		require.NotEmpty(t, some)
		require.LessOrEqual(t, off(some, x), 0.8*plain)
		require.LessOrEqual(t, off(some, samples...), plain/2)
		for i := range some {
			require.Greater(t, off(slices.Delete(slices.Clone(some), i, i+1), samples...), plain/2, "%s of %v need not be left", some[i], some)
		}
		all := found(1e-5)
		require.LessOrEqual(t, off(all, x), 1e-4)
		require.Less(t, len(some), len(all))
		_, text := lowered(t, p, all)
		require.NotContains(t, text, "bfloat16", "what is computed of such layers alone stays, too")
		require.Subset(t, slices.Collect(maps.Keys(p.Graph.Tensors)), all)
	})
}

// The first layer of a ResNet takes hardly more in float32 than in bfloat16 where vectors of 512 bits are multiplied in two halves, since
// Winograd's form for its kernel is one of float32; elsewhere it counts as any other.
func TestFirstLayerInFloat32(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Zeros(1, 3, 224, 224)
		p, err := Export(nn.NewConv2d(3, 64, 7, nn.ConvOptions{Stride: 2, Padding: 3}), []any{x})
		require.NoError(t, err)
		defer p.Close()
		r := newRewriter(p, CompileOptions{DType: torch.BFloat16})
		defer r.close()
		f, n := r.flow(), &r.p.Graph.Nodes[0]
		c := r.cost(f, n)
		require.Equal(t, 7*7*3*64*112*112.0, c.multiplications)
		if more := r.more(f, n, c); hasKernels(r.dtype) && !multipliesWide() {
			require.Less(t, more, 0.45*c.multiplications)
		} else {
			require.Equal(t, c.multiplications, more)
		}
	})
}
