package functional_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// functions has testdata/functional.py's calls in its order: the seed is the position.
var functions = []function{
	{"linear", func(i tensors) torch.Tensor { return F.Linear(i["rows"], i["matrix"], i["five"]) }},
	{"conv1d", func(i tensors) torch.Tensor {
		return F.Conv1d(i["signal"], i["kernel1d"], i["six"], F.ConvOptions{Stride: 2, Padding: 1})
	}},
	{"conv1d same", func(i tensors) torch.Tensor {
		return F.Conv1d(i["signal"], i["kernel1d"], none, F.ConvOptions{Padding: "same"})
	}},
	{"conv2d", func(i tensors) torch.Tensor {
		return F.Conv2d(i["image"], i["kernel2d"], i["six"], F.ConvOptions{Padding: []int{1, 0}, Dilation: 2, Groups: 2})
	}},
	{"conv2d valid", func(i tensors) torch.Tensor {
		return F.Conv2d(i["image"], i["kernel2d"], none, F.ConvOptions{Groups: 2, Padding: "valid"})
	}},
	{"conv3d", func(i tensors) torch.Tensor {
		return F.Conv3d(i["volume"], i["kernel3d"], i["six"], F.ConvOptions{Stride: []int{1, 2, 1}})
	}},
	{"conv3d same", func(i tensors) torch.Tensor {
		return F.Conv3d(i["volume"], i["kernel3d"], none, F.ConvOptions{Padding: "same"})
	}},
	{"embedding", func(i tensors) torch.Tensor {
		return F.Embedding(i["classes"], i["matrix"], F.EmbeddingOptions{PaddingIdx: new(-2)})
	}},
	{"batch_norm", func(i tensors) torch.Tensor {
		return F.BatchNorm(i["image"], F.BatchNormOptions{Weight: i["four"], Bias: i["four2"], Training: true})
	}},
	{"batch_norm running", func(i tensors) torch.Tensor {
		return F.BatchNorm(i["image"], F.BatchNormOptions{RunningMean: i["const_mean"], RunningVar: i["const_var"], Eps: new(1e-2)})
	}},
	{"layer_norm", func(i tensors) torch.Tensor {
		return F.LayerNorm(i["rows"], []int{7}, F.LayerNormOptions{Weight: i["seven"]})
	}},
	{"group_norm", func(i tensors) torch.Tensor {
		return F.GroupNorm(i["image"], 2, F.GroupNormOptions{Weight: i["four"], Bias: i["four2"], Eps: new(1e-2)})
	}},
	{"max_pool1d", func(i tensors) torch.Tensor {
		return F.MaxPool1d(i["signal"], 3, F.MaxPoolOptions{Stride: 1, Padding: 1})
	}},
	{"max_pool2d", func(i tensors) torch.Tensor {
		return F.MaxPool2d(i["image"], []int{2, 3}, F.MaxPoolOptions{Dilation: []int{1, 2}})
	}},
	{"max_pool3d", func(i tensors) torch.Tensor { return F.MaxPool3d(i["volume"], 2, F.MaxPoolOptions{CeilMode: true}) }},
	{"avg_pool1d", func(i tensors) torch.Tensor {
		return F.AvgPool1d(i["signal"], 3, F.AvgPoolOptions{Padding: 1, CountExcludePad: true})
	}},
	{"avg_pool2d", func(i tensors) torch.Tensor {
		return F.AvgPool2d(i["image"], 3, F.AvgPoolOptions{Stride: []int{2, 1}, CeilMode: true})
	}},
	{"avg_pool3d", func(i tensors) torch.Tensor {
		return F.AvgPool3d(i["volume"], 2, F.AvgPoolOptions{DivisorOverride: 3})
	}},
	{"adaptive_avg_pool1d", func(i tensors) torch.Tensor { return F.AdaptiveAvgPool1d(i["signal"], 4) }},
	{"adaptive_avg_pool2d", func(i tensors) torch.Tensor { return F.AdaptiveAvgPool2d(i["image"], 2) }},
	{"adaptive_avg_pool3d", func(i tensors) torch.Tensor { return F.AdaptiveAvgPool3d(i["volume"], []int{1, 2, 3}) }},
	{"relu", func(i tensors) torch.Tensor { return F.ReLU(i["rows"]) }},
	{"relu6", func(i tensors) torch.Tensor { return F.ReLU6(i["rows"].MulScalar(5)) }},
	{"leaky_relu", func(i tensors) torch.Tensor {
		return F.LeakyReLU(i["rows"], F.LeakyReLUOptions{NegativeSlope: new(0.3)})
	}},
	{"elu", func(i tensors) torch.Tensor { return F.ELU(i["rows"], F.ELUOptions{Alpha: new(0.7)}) }},
	{"gelu", func(i tensors) torch.Tensor { return F.GELU(i["rows"], F.GELUOptions{Approximate: "tanh"}) }},
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
	{"sigmoid", func(i tensors) torch.Tensor { return F.Sigmoid(i["rows"]) }},
	{"tanh", func(i tensors) torch.Tensor { return F.Tanh(i["rows"]) }},
	{"softplus options", func(i tensors) torch.Tensor {
		return F.Softplus(i["rows"], F.SoftplusOptions{Beta: 2.5, Threshold: 1.0})
	}},
	{"selu", func(i tensors) torch.Tensor { return F.SELU(i["rows"]) }},
	{"celu", func(i tensors) torch.Tensor { return F.CELU(i["rows"], F.CELUOptions{Alpha: new(0.7)}) }},
	{"prelu", func(i tensors) torch.Tensor { return F.PReLU(i["image"], i["four"]) }},
	{"rrelu", func(i tensors) torch.Tensor { return F.RReLU(i["rows"]) }},
	{"rrelu training", func(i tensors) torch.Tensor {
		return F.RReLU(i["rows"], F.RReLUOptions{Lower: 0.2, Upper: 0.9, Training: true})
	}},
	{"glu", func(i tensors) torch.Tensor { return F.GLU(i["image"], 1) }},
	{"hardtanh", func(i tensors) torch.Tensor {
		return F.Hardtanh(i["rows"], F.HardtanhOptions{MinVal: new(-0.5), MaxVal: new(1.0)})
	}},
	{"threshold", func(i tensors) torch.Tensor { return F.Threshold(i["rows"], 0.1, 20) }},
	{"hardshrink", func(i tensors) torch.Tensor {
		return F.Hardshrink(i["rows"], F.ShrinkOptions{Lambda: new(0.6)})
	}},
	{"softshrink", func(i tensors) torch.Tensor {
		return F.Softshrink(i["rows"], F.ShrinkOptions{Lambda: new(0.6)})
	}},
	{"tanhshrink", func(i tensors) torch.Tensor { return F.Tanhshrink(i["rows"]) }},
	{"softsign", func(i tensors) torch.Tensor { return F.Softsign(i["rows"]) }},
	{"softmin", func(i tensors) torch.Tensor { return F.Softmin(i["rows"], 0) }},
	{"softmin float64", func(i tensors) torch.Tensor {
		return F.Softmin(i["rows"], 1, F.SoftmaxOptions{DType: torch.Float64})
	}},
	{"softmax float64", func(i tensors) torch.Tensor {
		return F.Softmax(i["rows"], 1, F.SoftmaxOptions{DType: torch.Float64})
	}},
	{"log_softmax float64", func(i tensors) torch.Tensor {
		return F.LogSoftmax(i["rows"], 1, F.SoftmaxOptions{DType: torch.Float64})
	}},
	{"gumbel_softmax", func(i tensors) torch.Tensor { return F.GumbelSoftmax(i["rows"]) }},
	{"gumbel_softmax hard", func(i tensors) torch.Tensor {
		return F.GumbelSoftmax(i["rows"], F.GumbelSoftmaxOptions{Tau: new(0.5), Hard: true, Dim: new(0)})
	}},
	{"alpha_dropout", func(i tensors) torch.Tensor { return F.AlphaDropout(i["rows"], 0.4, true) }},
	{"dropout1d", func(i tensors) torch.Tensor { return F.Dropout1d(i["signal"], 0.4, true) }},
	{"dropout1d single", func(i tensors) torch.Tensor { return F.Dropout1d(i["rows"], 0.4, true) }},
	{"dropout3d", func(i tensors) torch.Tensor { return F.Dropout3d(i["volume"], 0.4, true) }},
	{"dropout3d single", func(i tensors) torch.Tensor { return F.Dropout3d(i["image"], 0.4, true) }},
	{"feature_alpha_dropout", func(i tensors) torch.Tensor { return F.FeatureAlphaDropout(i["image"], 0.4, true) }},
	{"instance_norm", func(i tensors) torch.Tensor {
		return F.InstanceNorm(i["image"], F.InstanceNormOptions{Weight: i["four"], Bias: i["four2"], Eps: new(1e-2)})
	}},
	{"instance_norm running", func(i tensors) torch.Tensor {
		return F.InstanceNorm(i["image"], F.InstanceNormOptions{RunningMean: i["const_mean"], RunningVar: i["const_var"], UseRunning: true})
	}},
	{"rms_norm", func(i tensors) torch.Tensor {
		return F.RMSNorm(i["rows"], []int{7}, F.RMSNormOptions{Weight: i["seven"], Eps: new(1e-2)})
	}},
	{"rms_norm plain", func(i tensors) torch.Tensor { return F.RMSNorm(i["rows"], []int{4, 7}) }},
	{"local_response_norm", func(i tensors) torch.Tensor { return F.LocalResponseNorm(i["image"], 3) }},
	{"local_response_norm 3d", func(i tensors) torch.Tensor {
		return F.LocalResponseNorm(i["signal"], 2, F.LocalResponseNormOptions{Alpha: new(0.3), Beta: new(0.5), K: new(2.0)})
	}},
	{"normalize", func(i tensors) torch.Tensor { return F.Normalize(i["image"]) }},
	{"normalize options", func(i tensors) torch.Tensor {
		return F.Normalize(i["rows"], F.NormalizeOptions{P: new(3.0), Dim: new(-2), Eps: new(1.5)})
	}},
	{"bilinear", func(i tensors) torch.Tensor { return F.Bilinear(i["rows"], i["rows2"], i["bilinear"], i["five"]) }},
	{"cosine_similarity", func(i tensors) torch.Tensor { return F.CosineSimilarity(i["image"], i["image"].Flip(2)) }},
	{"cosine_similarity options", func(i tensors) torch.Tensor {
		return F.CosineSimilarity(i["rows"], i["rows2"], F.CosineSimilarityOptions{Dim: new(0), Eps: new(2.0)})
	}},
	{"pairwise_distance", func(i tensors) torch.Tensor { return F.PairwiseDistance(i["rows"], i["rows2"]) }},
	{"pairwise_distance options", func(i tensors) torch.Tensor {
		return F.PairwiseDistance(i["rows"], i["rows2"], F.PairwiseDistanceOptions{P: new(1.0), Eps: new(0.1), KeepDim: true})
	}},
	{"pdist", func(i tensors) torch.Tensor { return F.PDist(i["rows"], 1.5) }},
	{"embedding renorm", func(i tensors) torch.Tensor {
		return F.Embedding(i["classes"], i["matrix"], F.EmbeddingOptions{MaxNorm: new(1.0), NormType: new(1.0), ScaleGradByFreq: true})
	}},
	{"embedding_bag", func(i tensors) torch.Tensor { return F.EmbeddingBag(i["words"], i["matrix"]) }},
	{"embedding_bag max", func(i tensors) torch.Tensor {
		return F.EmbeddingBag(i["classes"], i["matrix"], F.EmbeddingBagOptions{Offsets: i["offsets"], Mode: "max", PaddingIdx: new(-2)})
	}},
	{"embedding_bag weighted", func(i tensors) torch.Tensor {
		return F.EmbeddingBag(i["classes"], i["matrix"],
			F.EmbeddingBagOptions{Offsets: i["ends"], Mode: "sum", PerSampleWeights: i["four"], IncludeLastOffset: true})
	}},
	{"embedding_bag of one length", func(i tensors) torch.Tensor {
		return F.EmbeddingBag(i["words"], i["matrix"],
			F.EmbeddingBagOptions{Mode: "sum", PerSampleWeights: i["up1d"].Select(0, 0).Narrow(1, 0, 2)})
	}},
	{"embedding_bag renorm", func(i tensors) torch.Tensor {
		return F.EmbeddingBag(i["classes"], i["matrix"],
			F.EmbeddingBagOptions{Offsets: i["offsets"].To(torch.Int32).To(torch.Int64), MaxNorm: new(0.5), ScaleGradByFreq: true, Mode: "sum"})
	}},
	{"one_hot", func(i tensors) torch.Tensor { return F.OneHot(i["classes"], -1) }},
	{"one_hot of six", func(i tensors) torch.Tensor { return F.OneHot(i["words"], 6) }},
	{"conv_transpose1d", func(i tensors) torch.Tensor {
		return F.ConvTranspose1d(i["signal"], i["up1d"], i["six"].Narrow(0, 0, 3), F.ConvTransposeOptions{Stride: 2, OutputPadding: 1})
	}},
	{"conv_transpose2d", func(i tensors) torch.Tensor {
		return F.ConvTranspose2d(i["image"], i["up2d"], none, F.ConvTransposeOptions{Padding: []int{1, 0}, Groups: 2, Dilation: 2})
	}},
	{"conv_transpose3d", func(i tensors) torch.Tensor { return F.ConvTranspose3d(i["volume"], i["up3d"], none) }},
	{"conv_tbc", func(i tensors) torch.Tensor { return F.ConvTBC(i["time"], i["tbc"], i["five"], 1) }},
}

func TestEqualsPython(t *testing.T) { equalsPython(t, "testdata/functional.py", functions) }

// Functions leave nothing open but their results, outside of scopes too.
func TestIntermediatesAreClosed(t *testing.T) {
	torchtest.NoLeaks(t)
	x, row, image := torch.Ones(4, 7), torch.Ones(7), torch.Ones(2, 4, 6, 6)
	classes, offsets := torch.FromSlice([]int{1, 3, 2, 0}), torch.FromSlice([]int{0, 2})
	for name, f := range map[string]func() torch.Tensor{
		"broadcast":     func() torch.Tensor { return F.MSELoss(x, row) },
		"batchmean":     func() torch.Tensor { return F.KLDiv(x, x, F.KLDivOptions{BatchMean: true}) },
		"weighted":      func() torch.Tensor { return F.L1Loss(x, row, F.WeightedLossOptions{Weight: x}) },
		"bce":           func() torch.Tensor { return F.BinaryCrossEntropy(x, x, F.BCEOptions{Weight: row}) },
		"embedding":     func() torch.Tensor { return F.Embedding(classes, x, F.EmbeddingOptions{MaxNorm: new(1.0)}) },
		"embedding_bag": func() torch.Tensor { return F.EmbeddingBag(classes, x, F.EmbeddingBagOptions{Offsets: offsets}) },
		"gaussian":      func() torch.Tensor { return F.GaussianNLLLoss(x, x, x) },
		"fractional": func() torch.Tensor {
			return F.FractionalMaxPool2d(image, 2, F.FractionalMaxPoolOptions{OutputSize: 3})
		},
		"adaptive":         func() torch.Tensor { return F.AdaptiveMaxPool2d(image, 3) },
		"dropout1d":        func() torch.Tensor { return F.Dropout1d(x, 0.5, true) },
		"local response":   func() torch.Tensor { return F.LocalResponseNorm(image, 3) },
		"gumbel":           func() torch.Tensor { return F.GumbelSoftmax(x, F.GumbelSoftmaxOptions{Hard: true}) },
		"softmin":          func() torch.Tensor { return F.Softmin(x, 0) },
		"lp_pool infinite": func() torch.Tensor { return F.LPPool2d(image, math.Inf(-1), 2) },
		"empty": func() torch.Tensor {
			empty := torch.Empty(0, 2, 3)
			defer empty.Close()
			return F.LocalResponseNorm(empty, 3)
		},
		"attention": func() torch.Tensor {
			w, q, m := torch.Ones(18, 6), torch.Ones(4, 2, 6), torch.Ones(6, 6)
			defer torch.Close(w, q, m)
			output, weights := F.MultiHeadAttentionForward(q, q, q, 6, 2, F.MultiHeadAttentionOptions{InProjWeight: w, OutProjWeight: m})
			weights.Close()
			return output
		},
	} {
		before := torch.Stats().Live()
		y := f()
		require.Equal(t, before+1, torch.Stats().Live(), name)
		y.Close()
	}
	torch.Close(x, row, image, classes, offsets)
}

// An infinite power-average pooling is a maximum, whatever libtorch's version.
func TestInfiniteLPPool(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.FromSlice([]float32{-3, 1, 2, -0.5}, 1, 1, 4)
		torchtest.Equal(t, F.LPPool1d(x, math.Inf(1), 2), torch.FromSlice([]float32{3, 2}, 1, 1, 2))
		torchtest.Equal(t, F.LPPool1d(x, math.Inf(-1), 2), torch.FromSlice([]float32{1, 0.5}, 1, 1, 2))
	})
}
