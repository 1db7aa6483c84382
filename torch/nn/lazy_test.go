package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// All lazy layers are compared in internal/modparity.
func TestLazyLayersTakeTheirInputFromTheFirstTensor(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		m := nn.Sequential{nn.NewLazyConv2d(4, 3), nn.NewLazyBatchNorm2d(), nn.Flatten{}, nn.NewLazyLinear(5)}
		defer nn.Close(m)
		nn.Eval(m)
		require.Empty(t, nn.Parameters(m))
		x := torch.Ones(2, 3, 6, 5)
		first, second := m.Forward(x), m.Forward(x)
		torchtest.Equal(t, second, first)
		require.Equal(t, []int{2, 5}, first.Shape())
		require.Equal(t, 4*3*3*3+4+8+4*4*3*5+5, nn.NumParameters(m))
		require.False(t, m[1].(*nn.LazyBatchNorm2d).Layer.Mode.Training(), "the mode stays")
		require.Error(t, torch.Try(func() { m.Forward(torch.Ones(2, 4, 6, 5)) }), "of other channels")
	})
}

func TestLazyLayersOutliveTheScopeOfTheFirstTensor(t *testing.T) {
	torchtest.NoLeaks(t)
	m := nn.NewLazyConvTranspose1d(2, 3)
	defer nn.Close(m)
	torch.Scope(func() { m.Forward(torch.Ones(3, 4)) })
	require.Equal(t, []int{3, 2, 3}, m.Layer.Weight.Shape())
}
