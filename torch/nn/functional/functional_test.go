package functional_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

type tensors = peer.Tensors

type function struct {
	name string
	call func(i tensors) torch.Tensor
}

// functions has testdata/functional.py's calls in its order: the seed is the position.
var functions = []function{
	{"linear", func(i tensors) torch.Tensor { return F.Linear(i["rows"], i["matrix"], i["five"]) }},
	{"conv1d", func(i tensors) torch.Tensor {
		return F.Conv1d(i["signal"], i["kernel1d"], i["six"], &F.ConvOptions{Stride: 2, Padding: 1})
	}},
	{"conv1d same", func(i tensors) torch.Tensor {
		return F.Conv1d(i["signal"], i["kernel1d"], none, &F.ConvOptions{Padding: "same"})
	}},
	{"conv2d", func(i tensors) torch.Tensor {
		return F.Conv2d(i["image"], i["kernel2d"], i["six"], &F.ConvOptions{Padding: []int{1, 0}, Dilation: 2, Groups: 2})
	}},
	{"conv2d valid", func(i tensors) torch.Tensor {
		return F.Conv2d(i["image"], i["kernel2d"], none, &F.ConvOptions{Groups: 2, Padding: "valid"})
	}},
	{"conv3d", func(i tensors) torch.Tensor {
		return F.Conv3d(i["volume"], i["kernel3d"], i["six"], &F.ConvOptions{Stride: []int{1, 2, 1}})
	}},
	{"conv3d same", func(i tensors) torch.Tensor {
		return F.Conv3d(i["volume"], i["kernel3d"], none, &F.ConvOptions{Padding: "same"})
	}},
	{"embedding", func(i tensors) torch.Tensor {
		return F.Embedding(i["classes"], i["matrix"], &F.EmbeddingOptions{PaddingIdx: new(-2)})
	}},
	{"batch_norm", func(i tensors) torch.Tensor {
		return F.BatchNorm(i["image"], &F.BatchNormOptions{Weight: i["four"], Bias: i["four2"], Training: true})
	}},
	{"batch_norm running", func(i tensors) torch.Tensor {
		return F.BatchNorm(i["image"], &F.BatchNormOptions{RunningMean: i["mean"], RunningVar: i["var"], Eps: new(1e-2)})
	}},
	{"layer_norm", func(i tensors) torch.Tensor {
		return F.LayerNorm(i["rows"], []int{7}, &F.LayerNormOptions{Weight: i["seven"]})
	}},
	{"group_norm", func(i tensors) torch.Tensor {
		return F.GroupNorm(i["image"], 2, &F.GroupNormOptions{Weight: i["four"], Bias: i["four2"], Eps: new(1e-2)})
	}},
	{"max_pool1d", func(i tensors) torch.Tensor {
		return F.MaxPool1d(i["signal"], 3, &F.MaxPoolOptions{Stride: 1, Padding: 1})
	}},
	{"max_pool2d", func(i tensors) torch.Tensor {
		return F.MaxPool2d(i["image"], []int{2, 3}, &F.MaxPoolOptions{Dilation: []int{1, 2}})
	}},
	{"max_pool3d", func(i tensors) torch.Tensor { return F.MaxPool3d(i["volume"], 2, &F.MaxPoolOptions{CeilMode: true}) }},
	{"avg_pool1d", func(i tensors) torch.Tensor {
		return F.AvgPool1d(i["signal"], 3, &F.AvgPoolOptions{Padding: 1, CountExcludePad: true})
	}},
	{"avg_pool2d", func(i tensors) torch.Tensor {
		return F.AvgPool2d(i["image"], 3, &F.AvgPoolOptions{Stride: []int{2, 1}, CeilMode: true})
	}},
	{"avg_pool3d", func(i tensors) torch.Tensor {
		return F.AvgPool3d(i["volume"], 2, &F.AvgPoolOptions{DivisorOverride: 3})
	}},
	{"adaptive_avg_pool1d", func(i tensors) torch.Tensor { return F.AdaptiveAvgPool1d(i["signal"], 4) }},
	{"adaptive_avg_pool2d", func(i tensors) torch.Tensor { return F.AdaptiveAvgPool2d(i["image"], 2) }},
	{"adaptive_avg_pool3d", func(i tensors) torch.Tensor { return F.AdaptiveAvgPool3d(i["volume"], []int{1, 2, 3}) }},
	{"relu", func(i tensors) torch.Tensor { return F.ReLU(i["rows"]) }},
	{"relu6", func(i tensors) torch.Tensor { return F.ReLU6(i["rows"].MulScalar(5)) }},
	{"leaky_relu", func(i tensors) torch.Tensor { return F.LeakyReLU(i["rows"], 0.3) }},
	{"elu", func(i tensors) torch.Tensor { return F.ELU(i["rows"], 0.7) }},
	{"gelu", func(i tensors) torch.Tensor { return F.GELU(i["rows"], "tanh") }},
	{"silu", func(i tensors) torch.Tensor { return F.SiLU(i["rows"]) }},
	{"mish", func(i tensors) torch.Tensor { return F.Mish(i["rows"]) }},
	{"hardswish", func(i tensors) torch.Tensor { return F.Hardswish(i["rows"]) }},
	{"hardsigmoid", func(i tensors) torch.Tensor { return F.Hardsigmoid(i["rows"]) }},
	{"softplus", func(i tensors) torch.Tensor { return F.Softplus(i["rows"]) }},
	{"logsigmoid", func(i tensors) torch.Tensor { return F.LogSigmoid(i["rows"]) }},
	{"softmax", func(i tensors) torch.Tensor { return F.Softmax(i["rows"], 0) }},
	{"log_softmax", func(i tensors) torch.Tensor { return F.LogSoftmax(i["rows"], 1) }},
	{"dropout", func(i tensors) torch.Tensor { return F.Dropout(i["rows"], 0.4, true) }},
	{"dropout off", func(i tensors) torch.Tensor { return F.Dropout(i["rows"], 0.4, false) }},
	{"dropout2d", func(i tensors) torch.Tensor { return F.Dropout2d(i["image"], 0.4, true) }},
	{"cross_entropy", func(i tensors) torch.Tensor { return F.CrossEntropy(i["rows"], i["classes"], nil) }},
	{"cross_entropy options", func(i tensors) torch.Tensor {
		return F.CrossEntropy(i["rows"], i["classes"], &F.CrossEntropyOptions{
			Weight: i["seven"].Detach().Abs(), IgnoreIndex: new(2), Reduction: torch.ReductionSum, LabelSmoothing: 0.1})
	}},
	{"cross_entropy pixels", func(i tensors) torch.Tensor {
		return F.CrossEntropy(i["image"], i["pixels"], &F.CrossEntropyOptions{Reduction: torch.ReductionNone})
	}},
	{"cross_entropy probabilities", func(i tensors) torch.Tensor { return F.CrossEntropy(i["rows"], i["rows2"].Softmax(1), nil) }},
	{"nll_loss", func(i tensors) torch.Tensor { return F.NLLLoss(i["rows"], i["classes"], nil) }},
	{"nll_loss options", func(i tensors) torch.Tensor {
		return F.NLLLoss(i["rows"], i["classes"], &F.NLLLossOptions{Weight: i["seven"].Detach().Abs(), IgnoreIndex: new(3), Reduction: torch.ReductionSum})
	}},
	{"mse_loss", func(i tensors) torch.Tensor { return F.MSELoss(i["rows"], i["rows2"], nil) }},
	{"mse_loss broadcast", func(i tensors) torch.Tensor {
		return F.MSELoss(i["rows"], i["seven"], &F.LossOptions{Reduction: torch.ReductionSum})
	}},
	{"l1_loss", func(i tensors) torch.Tensor {
		return F.L1Loss(i["rows"], i["rows2"], &F.LossOptions{Reduction: torch.ReductionNone})
	}},
	{"smooth_l1_loss", func(i tensors) torch.Tensor {
		return F.SmoothL1Loss(i["rows"], i["rows2"], &F.SmoothL1LossOptions{Beta: new(0.5)})
	}},
	{"smooth_l1_loss of beta 0", func(i tensors) torch.Tensor {
		return F.SmoothL1Loss(i["rows"], i["rows2"], &F.SmoothL1LossOptions{Beta: new(0.0)})
	}},
	{"huber_loss", func(i tensors) torch.Tensor {
		return F.HuberLoss(i["rows"], i["rows2"], &F.HuberLossOptions{Delta: new(0.5), Reduction: torch.ReductionSum})
	}},
	{"binary_cross_entropy", func(i tensors) torch.Tensor {
		return F.BinaryCrossEntropy(i["rows"].Sigmoid(), i["rows2"].Sigmoid(), &F.BCEOptions{Weight: i["seven"].Detach().Abs()})
	}},
	{"binary_cross_entropy_with_logits", func(i tensors) torch.Tensor {
		return F.BinaryCrossEntropyWithLogits(i["rows"], i["rows2"].Sigmoid(), &F.BCEWithLogitsOptions{PosWeight: i["seven"].Detach().Abs()})
	}},
	{"kl_div", func(i tensors) torch.Tensor {
		return F.KLDiv(i["rows"].LogSoftmax(1), i["rows2"].Softmax(1), &F.KLDivOptions{BatchMean: true})
	}},
	{"kl_div log", func(i tensors) torch.Tensor {
		return F.KLDiv(i["rows"].LogSoftmax(1), i["rows2"].LogSoftmax(1), &F.KLDivOptions{LogTarget: true})
	}},
}

var none torch.Tensor

func newInputs() tensors {
	torch.ManualSeed(99)
	inputs := tensors{
		"classes": torch.FromSlice([]int{1, 3, 2, 0}),
		"pixels":  torch.RandIntN(4, 3, 9, 7),
		"var":     torch.Rand(4).AddScalarInPlace(0.1),
	}
	for name, shape := range map[string][]int{
		"rows": {4, 7}, "rows2": {4, 7}, "matrix": {5, 7}, "image": {3, 4, 9, 7}, "signal": {2, 4, 11}, "volume": {2, 2, 4, 5, 6},
		"kernel1d": {6, 4, 3}, "kernel2d": {6, 2, 3, 2}, "kernel3d": {6, 2, 2, 3, 2}, "four": {4}, "four2": {4}, "mean": {4}, "five": {5}, "six": {6}, "seven": {7},
	} {
		inputs[name] = torch.RandN(shape...)
	}
	return inputs
}

func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := newInputs()
		want := peer.Run(t, "testdata/functional.py", inputs)
		for seed, f := range functions {
			t.Run(f.name, func(t *testing.T) {
				torch.Scope(func() {
					leaves := tensors{}
					for name, value := range inputs {
						leaves[name] = value.Clone().SetRequiresGrad(value.IsFloatingPoint() && name != "mean" && name != "var")
					}
					torch.ManualSeed(uint64(seed))
					y := f.call(leaves)
					y.Mul(y).Sum().Backward()
					got := tensors{"y": y}
					for name, value := range leaves {
						if grad := value.Grad(); grad.Defined() {
							got[name] = grad
						}
					}
					for name, value := range got {
						require.Contains(t, want, f.name+"/"+name)
						torchtest.Equal(t, value, want[f.name+"/"+name])
						delete(want, f.name+"/"+name)
					}
				})
			})
		}
		require.Empty(t, slices.Collect(maps.Keys(want)), "results that Python alone has")
	})
}

// Functions leave nothing open but their results, outside of scopes too.
func TestIntermediatesAreClosed(t *testing.T) {
	torchtest.NoLeaks(t)
	x, row := torch.Ones(4, 7), torch.Ones(7)
	for name, f := range map[string]func() torch.Tensor{
		"broadcast": func() torch.Tensor { return F.MSELoss(x, row, nil) },
		"batchmean": func() torch.Tensor { return F.KLDiv(x, x, &F.KLDivOptions{BatchMean: true}) },
	} {
		before := torch.Stats().Live()
		y := f()
		require.Equal(t, before+1, torch.Stats().Live(), name)
		y.Close()
	}
}

func TestComplaints(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, row := torch.Ones(4, 7), torch.Ones(7)
		for want, f := range map[string]func(){
			"torch: binary_cross_entropy: input and target differ in shape: [4 7] and [7]":                 func() { F.BinaryCrossEntropy(x, row, nil) },
			"torch: batch_norm: training needs more than 1 value per channel, got an input of shape [1 7]": func() { F.BatchNorm(torch.Ones(1, 7), &F.BatchNormOptions{Training: true}) },
			"torch: embedding: PaddingIdx 4 is not a row of a weight of 4":                                 func() { F.Embedding(torch.Zeros(1).To(torch.Int64), x, &F.EmbeddingOptions{PaddingIdx: new(4)}) },
			"torch: max_pool2d window: expected an int or a []int of length 2, got string(2)":              func() { F.MaxPool2d(torch.Ones(1, 1, 4, 4), "2", nil) },
			"torch: avg_pool2d stride: expected an int or a []int of length 2, got []int([1])":             func() { F.AvgPool2d(torch.Ones(1, 1, 4, 4), 2, &F.AvgPoolOptions{Stride: []int{1}}) },
		} {
			require.EqualError(t, torch.Try(f), want)
		}
	})
}
