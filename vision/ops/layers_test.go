package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/ops"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// layers are those of testdata/layers.py, by the same names.
var layers = map[string]func() nn.Layer{
	"conv": func() nn.Layer {
		return ops.NewConv2dNormActivation(3, 4, ops.Conv2dNormActivationOptions{KernelSize: 5, Stride: 2, Dilation: 2, Activation: nn.SiLU{}})
	},
	"conv alone": func() nn.Layer {
		return ops.NewConv2dNormActivation(3, 6, ops.Conv2dNormActivationOptions{Padding: new(2), Groups: 3, NoNorm: true, NoActivation: true})
	},
	"conv frozen": func() nn.Layer {
		return ops.NewConv2dNormActivation(3, 6, ops.Conv2dNormActivationOptions{Bias: new(true),
			NormLayer: func(n int) nn.Layer {
				return ops.NewFrozenBatchNorm2d(n, ops.FrozenBatchNorm2dOptions{Eps: new(1e-3)})
			}})
	},
	"squeeze": func() nn.Layer { return ops.NewSqueezeExcitation(3, 2) },
	"squeeze hard": func() nn.Layer {
		return ops.NewSqueezeExcitation(3, 2, ops.SqueezeExcitationOptions{Activation: nn.SiLU{InPlace: true}, ScaleActivation: nn.Hardsigmoid{}})
	},
	"mlp": func() nn.Layer {
		return ops.NewMLP(7, []int{5, 4, 3}, ops.MLPOptions{Activation: nn.GELU{}, Dropout: 0.3, InPlace: true,
			NormLayer: func(n int) nn.Layer { return nn.NewLayerNorm(n) }})
	},
	"mlp bare":    func() nn.Layer { return ops.NewMLP(7, []int{3}, ops.MLPOptions{NoBias: true}) },
	"permute":     func() nn.Layer { return ops.Permute{Dims: []int{0, 2, 3, 1}} },
	"depth row":   func() nn.Layer { return ops.NewStochasticDepth(0.4, ops.DropRow) },
	"depth batch": func() nn.Layer { return ops.NewStochasticDepth(0.4, ops.DropBatch) },
	"depth all":   func() nn.Layer { return ops.NewStochasticDepth(1, ops.DropRow) },
}

// Layers have torchvision's initial values, results, gradients and descriptions.
func TestLayersAreTorchvisions(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	x := torch.RandN(4, 3, 6, 7)
	defer x.Close()
	want := peer.Run(t, "testdata/layers.py", peer.Tensors{"x": x})
	for name, build := range layers {
		torch.Scope(func() {
			torch.ManualSeed(2)
			layer := build()
			defer nn.Close(layer)
			for key, value := range nn.StateDict(layer) {
				torchtest.Equal(t, value, want[name+" state "+key])
			}
			require.Equal(t, string(want[name+" text"].Bytes()), nn.String(layer))
			x := x.Detach().SetRequiresGrad(true)
			y := layer.Forward(x.MulScalar(1))
			y.Mul(y).Sum().Backward()
			torchtest.Equal(t, y, want[name+" y"])
			torchtest.Equal(t, x.Grad(), want[name+" grad"])
			nn.Eval(layer)
			torchtest.Equal(t, layer.Forward(x.MulScalar(1)), want[name+" eval"])
		})
	}
}

func TestLayersRefuse(t *testing.T) {
	torchtest.NoLeaks(t)
	require.ErrorContains(t, torch.Try(func() { ops.NewStochasticDepth(1.5, ops.DropRow) }),
		"drop probability has to be between 0 and 1, but got 1.5")
	require.ErrorContains(t, torch.Try(func() { ops.NewMLP(3, nil) }), "expected one number of features at least")
}
