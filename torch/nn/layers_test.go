package nn_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

type layerCase struct {
	name  string
	make  func() nn.Layer
	shape []int
}

// layerCases has testdata/layers.py's layers in its order: the seed is the position.
var layerCases = []layerCase{
	{"linear", func() nn.Layer { return nn.NewLinear(7, 5) }, []int{3, 7}},
	{"linear without bias", func() nn.Layer { return nn.NewLinear(7, 5, nn.LinearOptions{NoBias: true}) }, []int{2, 3, 7}},
	{"linear without inputs", func() nn.Layer { return nn.NewLinear(0, 5) }, []int{3, 0}},
	{"conv1d", func() nn.Layer {
		return nn.NewConv1d(4, 6, 3, nn.ConvOptions{Stride: 2, Padding: 1, Dilation: 2})
	}, []int{2, 4, 11}},
	{"conv2d", func() nn.Layer { return nn.NewConv2d(4, 6, 3) }, image},
	{"conv2d stride groups", func() nn.Layer {
		return nn.NewConv2d(4, 6, []int{3, 2}, nn.ConvOptions{Stride: []int{2, 1}, Padding: []int{1, 0}, Groups: 2, NoBias: true})
	}, image},
	{"conv2d same", func() nn.Layer {
		return nn.NewConv2d(4, 6, []int{4, 3}, nn.ConvOptions{Padding: "same", Dilation: []int{1, 2}})
	}, image},
	{"conv2d valid", func() nn.Layer { return nn.NewConv2d(4, 6, 3, nn.ConvOptions{Padding: "valid"}) }, image},
	{"conv2d reflect", func() nn.Layer {
		return nn.NewConv2d(4, 6, 3, nn.ConvOptions{Padding: []int{1, 2}, PaddingMode: "reflect"})
	}, image},
	{"conv2d circular same", func() nn.Layer {
		return nn.NewConv2d(4, 6, []int{2, 3}, nn.ConvOptions{Padding: "same", PaddingMode: "circular"})
	}, image},
	{"conv2d replicate", func() nn.Layer {
		return nn.NewConv2d(4, 6, 3, nn.ConvOptions{Stride: 2, Padding: 2, PaddingMode: "replicate"})
	}, image},
	{"conv3d", func() nn.Layer { return nn.NewConv3d(2, 4, []int{1, 3, 2}, nn.ConvOptions{Padding: 1}) }, []int{2, 2, 3, 5, 4}},
	{"batchnorm1d", func() nn.Layer { return nn.NewBatchNorm1d(6) }, []int{4, 6}},
	{"batchnorm1d length", func() nn.Layer {
		return nn.NewBatchNorm1d(6, nn.BatchNormOptions{Eps: new(1e-3), Momentum: new(0.3)})
	}, []int{4, 6, 5}},
	{"batchnorm2d", func() nn.Layer { return nn.NewBatchNorm2d(4) }, image},
	{"batchnorm2d cumulative", func() nn.Layer { return nn.NewBatchNorm2d(4, nn.BatchNormOptions{Cumulative: true}) }, image},
	{"batchnorm2d bare", func() nn.Layer {
		return nn.NewBatchNorm2d(4, nn.BatchNormOptions{NoAffine: true, NoTrackRunningStats: true})
	}, image},
	{"batchnorm3d", func() nn.Layer { return nn.NewBatchNorm3d(2, nn.BatchNormOptions{Momentum: new(0.0)}) }, []int{2, 2, 3, 5, 4}},
	{"layernorm", func() nn.Layer { return nn.NewLayerNorm([]int{5, 7}) }, []int{2, 5, 7}},
	{"layernorm without bias", func() nn.Layer {
		return nn.NewLayerNorm([]int{7}, nn.LayerNormOptions{Eps: new(1e-2), NoBias: true})
	}, []int{2, 5, 7}},
	{"layernorm bare", func() nn.Layer { return nn.NewLayerNorm([]int{7}, nn.LayerNormOptions{NoElementwiseAffine: true}) }, []int{2, 5, 7}},
	{"groupnorm", func() nn.Layer { return nn.NewGroupNorm(2, 4) }, image},
	{"groupnorm bare", func() nn.Layer {
		return nn.NewGroupNorm(4, 4, nn.GroupNormOptions{Eps: new(1e-2), NoAffine: true})
	}, image},
	{"embedding", func() nn.Layer { return nn.NewEmbedding(10, 3) }, nil},
	{"embedding padding", func() nn.Layer {
		return nn.NewEmbedding(10, 3, nn.EmbeddingOptions{PaddingIdx: new(-4), ScaleGradByFreq: true})
	}, nil},
	{"relu", func() nn.Layer { return nn.ReLU{} }, image},
	{"relu in place", func() nn.Layer { return nn.Sequential{nn.NewLinear(7, 5), nn.ReLU{InPlace: true}} }, []int{3, 7}},
	{"gelu", func() nn.Layer { return nn.GELU{} }, image},
	{"gelu tanh", func() nn.Layer { return nn.GELU{Approximate: "tanh"} }, image},
	{"silu", func() nn.Layer { return nn.SiLU{} }, image},
	{"silu in place", func() nn.Layer { return nn.Sequential{nn.NewLinear(7, 5), nn.SiLU{InPlace: true}} }, []int{3, 7}},
	{"tanh", func() nn.Layer { return nn.Tanh{} }, image},
	{"sigmoid", func() nn.Layer { return nn.Sigmoid{} }, image},
	{"leaky relu", func() nn.Layer { return nn.LeakyReLU{NegativeSlope: new(0.2)} }, image},
	{"softmax", func() nn.Layer { return nn.Softmax{Dim: 1} }, image},
	{"maxpool2d", func() nn.Layer { return nn.NewMaxPool2d(2) }, image},
	{"maxpool2d options", func() nn.Layer {
		return nn.NewMaxPool2d([]int{3, 2}, nn.MaxPoolOptions{Stride: 2, Padding: []int{1, 0}, Dilation: 1, CeilMode: true})
	}, image},
	{"avgpool2d", func() nn.Layer { return nn.NewAvgPool2d(2) }, image},
	{"avgpool2d options", func() nn.Layer {
		return nn.NewAvgPool2d(3, nn.AvgPoolOptions{Stride: 2, Padding: 1, CeilMode: true, CountExcludePad: true})
	}, image},
	{"avgpool2d divisor", func() nn.Layer { return nn.NewAvgPool2d(3, nn.AvgPoolOptions{DivisorOverride: 5}) }, image},
	{"adaptive avgpool2d", func() nn.Layer { return nn.NewAdaptiveAvgPool2d([]int{3, 2}) }, image},
	{"flatten", func() nn.Layer { return nn.Flatten{} }, image},
	{"flatten middle", func() nn.Layer { return nn.Flatten{StartDim: new(2), EndDim: new(3)} }, image},
	{"identity", func() nn.Layer { return nn.Identity{} }, image},
	{"dropout", func() nn.Layer { return nn.NewDropout(0.3) }, image},
	{"sequential", func() nn.Layer {
		return nn.Sequential{nn.NewLinear(7, 9), nn.GELU{}, nn.Sequential{nn.NewDropout(0.5), nn.NewLinear(9, 5)}}
	}, []int{3, 7}},
}

var image = []int{3, 4, 9, 7}

func TestLayersEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	inputs := peer.Tensors{}
	torch.ManualSeed(1000)
	for _, c := range layerCases {
		inputs[c.name] = torch.FromSlice([]int{1, 2, 2, 6, 9, 0}, 2, 3)
		if c.shape != nil {
			inputs[c.name] = torch.RandN(c.shape...)
		}
	}
	want := peer.Run(t, "testdata/layers.py", inputs)
	for _, mode := range []string{"train", "eval"} {
		for seed, c := range layerCases {
			t.Run(mode+"/"+c.name, func(t *testing.T) {
				torch.Scope(func() {
					torch.ManualSeed(uint64(seed))
					layer := c.make()
					if mode == "eval" {
						nn.Eval(layer)
					}
					for name, got := range runLayer(layer, inputs[c.name].Clone()) {
						name = mode + "/" + c.name + "/" + name
						require.Contains(t, want, name)
						torchtest.Equal(t, got, want[name])
						want[name].Close()
						delete(want, name)
					}
				})
			})
		}
	}
	require.Empty(t, slices.Collect(maps.Keys(want)), "results that Python alone has")
}

// runLayer does what run does in testdata/layers.py.
func runLayer(layer nn.Layer, x torch.Tensor) peer.Tensors {
	got := peer.Tensors{}
	for name, value := range nn.StateDict(layer) {
		got["initial "+name] = value.Clone()
	}
	if x.IsFloatingPoint() {
		x.SetRequiresGrad(true)
	}
	y := layer.Forward(x)
	got["y"] = y.Clone()
	if y.RequiresGrad() {
		y.Mul(y).Sum().Backward()
	}
	if grad := x.Grad(); grad.Defined() {
		got["dx"] = grad
	}
	for name, value := range nn.NamedParameters(layer) {
		if grad := value.Grad(); grad.Defined() {
			got["grad "+name] = grad
		}
	}
	for name, value := range nn.StateDict(layer) {
		got["final "+name] = value
	}
	return got
}
