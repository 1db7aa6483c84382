package phrasebook

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

var image, words, series, q, labels torch.Tensor

var layers = chapter{
	title: "Layers",
	python: `x = torch.randn(2, 4)
image = torch.randn(2, 4, 8, 8)
words = torch.tensor([[1, 2, 4], [5, 0, 3]])
series = torch.randn(5, 2, 4)`,
	setup: func() {
		x = torch.RandN(2, 4)
		image = torch.RandN(2, 4, 8, 8)
		words = torch.FromNested([][]int{{1, 2, 4}, {5, 0, 3}})
		series = torch.RandN(5, 2, 4)
	},
	phrases: []phrase{
		{"nn.Linear(4, 3)(x)", func() any { return nn.NewLinear(4, 3).Forward(x) }},
		{"nn.Linear(4, 3, bias=False)(x)", func() any { return nn.NewLinear(4, 3, nn.LinearOptions{NoBias: true}).Forward(x) }},
		{"nn.Linear(4, 3).weight", func() any { return nn.NewLinear(4, 3).Weight }},
		{"nn.Identity()(x)", func() any { return nn.Identity{}.Forward(x) }},
		{"nn.ReLU()(x)", func() any { return nn.ReLU{}.Forward(x) }},
		{"nn.LeakyReLU(0.2)(x)", func() any { return nn.LeakyReLU{NegativeSlope: new(0.2)}.Forward(x) }},
		{"nn.GELU()(x)", func() any { return nn.GELU{}.Forward(x) }},
		{"nn.SiLU()(x)", func() any { return nn.SiLU{}.Forward(x) }},
		{"nn.ELU()(x)", func() any { return nn.ELU{}.Forward(x) }},
		{"nn.PReLU()(x)", func() any { return nn.NewPReLU().Forward(x) }},
		{"nn.Sigmoid()(x)", func() any { return nn.Sigmoid{}.Forward(x) }},
		{"nn.Tanh()(x)", func() any { return nn.Tanh{}.Forward(x) }},
		{"nn.Hardswish()(x)", func() any { return nn.Hardswish{}.Forward(x) }},
		{"nn.Softplus()(x)", func() any { return nn.Softplus{}.Forward(x) }},
		{"nn.Softmax(dim=1)(x)", func() any { return nn.Softmax{Dim: 1}.Forward(x) }},
		{"nn.LogSoftmax(dim=1)(x)", func() any { return nn.LogSoftmax{Dim: 1}.Forward(x) }},
		{"nn.Dropout(0.5)(x)", func() any { return nn.NewDropout(0.5).Forward(x) }},
		{"nn.Dropout2d(0.2)(image)", func() any { return nn.NewDropout2d(0.2).Forward(image) }},
		{"nn.Conv1d(8, 2, 3)(image[0])", func() any { return nn.NewConv1d(8, 2, 3).Forward(image.Index(0)) }},
		{"nn.Conv2d(4, 6, 3)(image)", func() any { return nn.NewConv2d(4, 6, 3).Forward(image) }},
		{"nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False)(image)", func() any {
			return nn.NewConv2d(4, 6, 3, nn.ConvOptions{Stride: 2, Padding: 1, NoBias: true}).Forward(image)
		}},
		{"nn.Conv2d(4, 4, (1, 3), padding='same', groups=4)(image)", func() any {
			return nn.NewConv2d(4, 4, []int{1, 3}, nn.ConvOptions{Padding: "same", Groups: 4}).Forward(image)
		}},
		{"nn.ConvTranspose2d(4, 2, 2, stride=2)(image)", func() any {
			return nn.NewConvTranspose2d(4, 2, 2, nn.ConvTransposeOptions{Stride: 2}).Forward(image)
		}},
		{"nn.BatchNorm1d(4)(x)", func() any { return nn.NewBatchNorm1d(4).Forward(x) }},
		{"nn.BatchNorm2d(4)(image)", func() any { return nn.NewBatchNorm2d(4).Forward(image) }},
		{"nn.LayerNorm(4)(x)", func() any { return nn.NewLayerNorm([]int{4}).Forward(x) }},
		{"nn.RMSNorm(4)(x)", func() any { return nn.NewRMSNorm([]int{4}).Forward(x) }},
		{"nn.GroupNorm(2, 4)(image)", func() any { return nn.NewGroupNorm(2, 4).Forward(image) }},
		{"nn.InstanceNorm2d(4)(image)", func() any { return nn.NewInstanceNorm2d(4).Forward(image) }},
		{"nn.MaxPool2d(2)(image)", func() any { return nn.NewMaxPool2d(2).Forward(image) }},
		{"nn.MaxPool2d(3, stride=2, padding=1)(image)", func() any {
			return nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2, Padding: 1}).Forward(image)
		}},
		{"nn.AvgPool2d(2)(image)", func() any { return nn.NewAvgPool2d(2).Forward(image) }},
		{"nn.AdaptiveAvgPool2d((1, 1))(image)", func() any { return nn.NewAdaptiveAvgPool2d([]int{1, 1}).Forward(image) }},
		{"nn.Flatten()(image)", func() any { return nn.Flatten{}.Forward(image) }},
		{"nn.Upsample(scale_factor=2)(image)", func() any { return nn.Upsample{ScaleFactor: 2}.Forward(image) }},
		{"nn.PixelShuffle(2)(image)", func() any { return nn.PixelShuffle{UpscaleFactor: 2}.Forward(image) }},
		{"nn.ZeroPad2d(1)(image)", func() any { return nn.NewZeroPad2d(1).Forward(image) }},
		{"nn.Embedding(10, 4)(words)", func() any { return nn.NewEmbedding(10, 4).Forward(words) }},
		{"nn.Embedding(10, 4, padding_idx=0)(words)", func() any {
			return nn.NewEmbedding(10, 4, nn.EmbeddingOptions{PaddingIdx: new(0)}).Forward(words)
		}},
		{"out, (h, c) = nn.LSTM(4, 3)(series)", func() any {
			out, h, c := nn.NewLSTM(4, 3).Forward(series)
			return all(out, all(h, c))
		}},
		{"out, h = nn.GRU(4, 3, num_layers=2, batch_first=True)(series)", func() any {
			out, h := nn.NewGRU(4, 3, nn.RNNOptions{NumLayers: 2, BatchFirst: true}).Forward(series)
			return all(out, h)
		}},
		{"out, weights = nn.MultiheadAttention(4, 2)(series, series, series)", func() any {
			out, weights := nn.NewMultiheadAttention(4, 2).Forward(series, series, series)
			return all(out, weights)
		}},
		{"nn.TransformerEncoderLayer(4, 2, dim_feedforward=8)(series)", func() any {
			return nn.NewTransformerEncoderLayer(4, 2, nn.TransformerLayerOptions{DimFeedforward: 8}).Forward(series)
		}},
		{"nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))(x)", func() any {
			return nn.NewSequential(nn.NewLinear(4, 8), nn.ReLU{}, nn.NewLinear(8, 2)).Forward(x)
		}},
		{"nn.Parameter(torch.zeros(3))", func() any { return nn.NewParameter(torch.Zeros(3)) }},
		{`layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
for layer in layers:
    x = layer(x)`, func() any {
			layers := nn.ModuleList{nn.NewLinear(4, 4), nn.NewLinear(4, 4)}
			for _, layer := range layers {
				x = layer.Forward(x)
			}
			return x
		}},
	},
}

var functions = chapter{
	title: "Functions of torch.nn.functional",
	python: `x = torch.randn(2, 4)
image = torch.randn(2, 4, 8, 8)
w = torch.randn(4, 4)
q = torch.randn(2, 3, 4)`,
	setup: func() {
		x = torch.RandN(2, 4)
		image = torch.RandN(2, 4, 8, 8)
		w = torch.RandN(4, 4)
		q = torch.RandN(2, 3, 4)
	},
	phrases: []phrase{
		{"F.relu(x)", func() any { return F.ReLU(x) }},
		{"F.leaky_relu(x, 0.2)", func() any { return F.LeakyReLU(x, F.LeakyReLUOptions{NegativeSlope: new(0.2)}) }},
		{"F.gelu(x)", func() any { return F.GELU(x) }},
		{"F.gelu(x, approximate='tanh')", func() any { return F.GELU(x, F.GELUOptions{Approximate: "tanh"}) }},
		{"F.silu(x)", func() any { return F.SiLU(x) }},
		{"F.elu(x)", func() any { return F.ELU(x) }},
		{"F.softplus(x)", func() any { return F.Softplus(x) }},
		{"F.logsigmoid(x)", func() any { return F.LogSigmoid(x) }},
		{"F.hardtanh(x)", func() any { return F.Hardtanh(x) }},
		{"F.glu(x)", func() any { return F.GLU(x) }},
		{"F.softmax(x, dim=1)", func() any { return F.Softmax(x, 1) }},
		{"F.log_softmax(x, dim=-1)", func() any { return F.LogSoftmax(x, -1) }},
		{"F.gumbel_softmax(x, tau=0.5)", func() any { return F.GumbelSoftmax(x, F.GumbelSoftmaxOptions{Tau: new(0.5)}) }},
		{"F.linear(x, w)", func() any { return F.Linear(x, w) }},
		{"F.dropout(x, p=0.5, training=True)", func() any { return F.Dropout(x, 0.5, true) }},
		{"F.conv2d(image, torch.ones(2, 4, 3, 3), padding=1)", func() any {
			return F.Conv2d(image, torch.Ones(2, 4, 3, 3), torch.Tensor{}, F.ConvOptions{Padding: 1})
		}},
		{"F.max_pool2d(image, 2)", func() any { return F.MaxPool2d(image, 2) }},
		{"F.avg_pool2d(image, 2, stride=1)", func() any { return F.AvgPool2d(image, 2, F.AvgPoolOptions{Stride: 1}) }},
		{"F.adaptive_avg_pool2d(image, 1)", func() any { return F.AdaptiveAvgPool2d(image, 1) }},
		{"F.interpolate(image, scale_factor=2, mode='nearest')", func() any {
			return F.Interpolate(image, F.InterpolateOptions{ScaleFactor: 2, Mode: "nearest"})
		}},
		{"F.interpolate(image, size=(4, 4), mode='bilinear', align_corners=False)", func() any {
			return F.Interpolate(image, F.InterpolateOptions{Size: []int{4, 4}, Mode: "bilinear", AlignCorners: new(false)})
		}},
		{"F.pad(image, (1, 1, 2, 2))", func() any { return F.Pad(image, []int{1, 1, 2, 2}) }},
		{"F.pad(image, (1, 1, 1, 1), mode='replicate')", func() any {
			return F.Pad(image, []int{1, 1, 1, 1}, F.PadOptions{Mode: "replicate"})
		}},
		{"F.one_hot(torch.tensor([0, 2]), num_classes=3)", func() any { return F.OneHot(torch.FromSlice([]int{0, 2}), 3) }},
		{"F.embedding(torch.tensor([3, 1]), w)", func() any { return F.Embedding(torch.FromSlice([]int{3, 1}), w) }},
		{"F.normalize(x, dim=1)", func() any { return F.Normalize(x) }},
		{"F.layer_norm(x, (4,))", func() any { return F.LayerNorm(x, []int{4}) }},
		{"F.cosine_similarity(x, x + 1)", func() any { return F.CosineSimilarity(x, x.AddScalar(1)) }},
		{"F.scaled_dot_product_attention(q, q, q)", func() any { return F.ScaledDotProductAttention(q, q, q) }},
		{"F.scaled_dot_product_attention(q, q, q, is_causal=True)", func() any {
			return F.ScaledDotProductAttention(q, q, q, F.ScaledDotProductAttentionOptions{IsCausal: true})
		}},
		{"F.unfold(image, 3)", func() any { return F.Unfold(image, 3) }},
		{"F.grid_sample(image, torch.zeros(2, 4, 4, 2), align_corners=False)", func() any {
			return F.GridSample(image, torch.Zeros(2, 4, 4, 2))
		}},
	},
}

var losses = chapter{
	title: "Losses",
	python: `x = torch.randn(3, 5)
y = torch.randn(3, 5)
labels = torch.tensor([1, 0, 4])
p = torch.rand(3, 5)`,
	setup: func() {
		x = torch.RandN(3, 5)
		y = torch.RandN(3, 5)
		labels = torch.FromSlice([]int{1, 0, 4})
		p = torch.Rand(3, 5)
	},
	phrases: []phrase{
		{"F.cross_entropy(x, labels)", func() any { return F.CrossEntropy(x, labels) }},
		{"nn.CrossEntropyLoss()(x, labels)", func() any { return nn.CrossEntropyLoss{}.Forward(x, labels) }},
		{"F.cross_entropy(x, labels, label_smoothing=0.1)", func() any {
			return F.CrossEntropy(x, labels, F.CrossEntropyOptions{LabelSmoothing: 0.1})
		}},
		{"F.cross_entropy(x, labels, weight=p[0], reduction='sum')", func() any {
			return F.CrossEntropy(x, labels, F.CrossEntropyOptions{Weight: p.Index(0), Reduction: torch.ReductionSum})
		}},
		{"nn.CrossEntropyLoss(ignore_index=0)(x, labels)", func() any {
			return nn.CrossEntropyLoss{IgnoreIndex: new(0)}.Forward(x, labels)
		}},
		{"F.nll_loss(F.log_softmax(x, dim=1), labels)", func() any { return F.NLLLoss(F.LogSoftmax(x, 1), labels) }},
		{"F.mse_loss(x, y)", func() any { return F.MSELoss(x, y) }},
		{"nn.MSELoss()(x, y)", func() any { return nn.MSELoss{}.Forward(x, y) }},
		{"nn.MSELoss(reduction='none')(x, y)", func() any { return nn.MSELoss{Reduction: torch.ReductionNone}.Forward(x, y) }},
		{"F.l1_loss(x, y)", func() any { return F.L1Loss(x, y) }},
		{"F.smooth_l1_loss(x, y)", func() any { return F.SmoothL1Loss(x, y) }},
		{"F.huber_loss(x, y, delta=0.5)", func() any { return F.HuberLoss(x, y, F.HuberLossOptions{Delta: new(0.5)}) }},
		{"F.binary_cross_entropy(p, p)", func() any { return F.BinaryCrossEntropy(p, p) }},
		{"F.binary_cross_entropy_with_logits(x, p)", func() any { return F.BinaryCrossEntropyWithLogits(x, p) }},
		{"nn.BCEWithLogitsLoss(pos_weight=p[0])(x, p)", func() any { return nn.BCEWithLogitsLoss{PosWeight: p.Index(0)}.Forward(x, p) }},
		{"F.kl_div(F.log_softmax(x, dim=1), p, reduction='batchmean')", func() any {
			return F.KLDiv(F.LogSoftmax(x, 1), p, F.KLDivOptions{BatchMean: true})
		}},
		{"F.cosine_embedding_loss(x, y, torch.ones(3))", func() any { return F.CosineEmbeddingLoss(x, y, torch.Ones(3)) }},
		{"F.triplet_margin_loss(x, y, p)", func() any { return F.TripletMarginLoss(x, y, p) }},
		{"F.ctc_loss(F.log_softmax(x, dim=1), labels[:1], [3], [1])", func() any {
			return F.CTCLoss(F.LogSoftmax(x, 1), labels.Index(torch.Slice(1)), []int{3}, []int{1})
		}},
	},
}
