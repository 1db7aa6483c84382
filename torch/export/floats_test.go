package export

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// lowered is a network in bfloat16, on processors where that is slower, too, but for layers that are left in float32.
func lowered(t *testing.T, p *Program, floats []string) (*engine, string) {
	r, err := rewritten(p, CompileOptions{DType: torch.BFloat16, Floats: floats})
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
		x := torch.RandN(2, 3, 8, 8)
		off := func(floats []string) (far float64, layers int) {
			e, _ := lowered(t, p, floats)
			torch.NoGrad(func() {
				want, err := p.Run(x)
				require.NoError(t, err)
				got, err := e.Run(x)
				require.NoError(t, err)
				far = got[0].Sub(want[0]).Square().Mean().Sqrt().Float64() / want[0].Std().Float64()
			})
			return far, len(floats)
		}
		found := func(most float64) []string {
			c := Calibration{}
			require.NoError(t, c.choose(p, samples, CalibrateOptions{DType: torch.BFloat16, Error: most}))
			return c.Floats()
		}
		plain, _ := off(nil)
		require.Greater(t, plain, 1e-3)
		require.Empty(t, found(3*plain))
		some := found(plain / 2)
		far, few := off(some)
		require.LessOrEqual(t, far, 0.8*plain)
		all := found(1e-5)
		farthest, many := off(all)
		require.LessOrEqual(t, farthest, 1e-4)
		require.Greater(t, few, 0)
		require.Less(t, few, many)
		_, text := lowered(t, p, all)
		require.NotContains(t, text, "bfloat16", "what is computed of such layers alone stays, too")
		require.Subset(t, slices.Collect(maps.Keys(p.Graph.Tensors)), all)
	})
}
