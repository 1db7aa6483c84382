package leaks

import (
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// image is a batch of images in that many dimensions.
func image(dims int) torch.Tensor {
	return random([]int{2, 3, 8, 8, 8}[:2+dims]...)
}

var functionalCases = cases{
	"adaptive poolings": func() {
		F.AdaptiveAvgPool1d(image(1), 2)
		F.AdaptiveAvgPool2d(image(2), 2)
		F.AdaptiveAvgPool3d(image(3), 2)
		F.AdaptiveMaxPool1d(image(1), 2)
		F.AdaptiveMaxPool2d(image(2), 2)
		F.AdaptiveMaxPool3d(image(3), 2)
		F.AdaptiveMaxPool1dWithIndices(image(1), 2)
		F.AdaptiveMaxPool2dWithIndices(image(2), 2)
		F.AdaptiveMaxPool3dWithIndices(image(3), 2)
	},
	"average poolings": func() {
		F.AvgPool1d(image(1), 2, nil)
		F.AvgPool2d(image(2), 2, nil)
		F.AvgPool3d(image(3), 2, nil)
		F.LPPool1d(image(1), 2, 2, nil)
		F.LPPool2d(image(2), 2, 2, nil)
		F.LPPool3d(image(3), 2, 2, nil)
	},
	"max poolings": func() {
		F.MaxPool1d(image(1), 2, nil)
		F.MaxPool2d(image(2), 2, nil)
		F.MaxPool3d(image(3), 2, nil)
		values, indices := F.MaxPool1dWithIndices(image(1), 2, nil)
		F.MaxUnpool1d(values, indices, 2, nil)
		values, indices = F.MaxPool2dWithIndices(image(2), 2, nil)
		F.MaxUnpool2d(values, indices, 2, nil)
		values, indices = F.MaxPool3dWithIndices(image(3), 2, nil)
		F.MaxUnpool3d(values, indices, 2, nil)
	},
	"fractional max poolings": func() {
		o := F.FractionalMaxPoolOptions{OutputSize: 3}
		F.FractionalMaxPool2d(image(2), 2, &o)
		F.FractionalMaxPool3d(image(3), 2, &o)
		F.FractionalMaxPool2dWithIndices(image(2), 2, &o)
		F.FractionalMaxPool3dWithIndices(image(3), 2, &o)
	},
	"convolutions": func() {
		F.Conv1d(image(1), random(4, 3, 3), random(4), nil)
		F.Conv2d(image(2), random(4, 3, 3, 3), random(4), nil)
		F.Conv3d(image(3), random(4, 3, 3, 3, 3), random(4), nil)
		F.ConvTranspose1d(image(1), random(3, 4, 3), random(4), nil)
		F.ConvTranspose2d(image(2), random(3, 4, 3, 3), random(4), nil)
		F.ConvTranspose3d(image(3), random(3, 4, 3, 3, 3), random(4), nil)
		F.ConvTBC(random(8, 2, 3), random(3, 3, 4), random(4), 1)
	},
	"linear": func() {
		F.Linear(random(2, 3), random(4, 3), random(4))
		F.Bilinear(random(2, 3), random(2, 4), random(5, 3, 4), random(5))
	},
	"activations": func() {
		x := random(2, 4)
		for _, fn := range []func(torch.Tensor) torch.Tensor{
			F.Hardsigmoid, F.Hardswish, F.LogSigmoid, F.Mish, F.ReLU, F.ReLU6, F.SELU, F.SiLU, F.Sigmoid, F.Softsign, F.Tanh, F.Tanhshrink,
		} {
			fn(x)
		}
		F.CELU(x, 1)
		F.ELU(x, 1)
		F.GELU(x, "tanh")
		F.GLU(x, 1)
		F.Hardshrink(x, 0.5)
		F.Hardtanh(x, -1, 1)
		F.LeakyReLU(x, 0.01)
		F.PReLU(x, random(1))
		F.RReLU(x, nil)
		F.Softplus(x, nil)
		F.Softshrink(x, 0.5)
		F.Threshold(x, 0, 1)
	},
	"softmaxes": func() {
		x := random(2, 4)
		F.Softmax(x, 1)
		F.Softmin(x, 1)
		F.LogSoftmax(x, 1)
		F.GumbelSoftmax(x, nil)
	},
	"dropouts": func() {
		for _, fn := range []func(torch.Tensor, float64, bool) torch.Tensor{F.Dropout, F.AlphaDropout, F.FeatureAlphaDropout} {
			fn(image(2), 0.5, true)
		}
		F.Dropout1d(image(1), 0.5, true)
		F.Dropout2d(image(2), 0.5, true)
		F.Dropout3d(image(3), 0.5, true)
	},
	"normalizations": func() {
		F.BatchNorm(image(2), &F.BatchNormOptions{Training: true})
		F.GroupNorm(image(2), 3, nil)
		F.InstanceNorm(image(2), nil)
		F.LayerNorm(image(2), []int{8, 8}, nil)
		F.LocalResponseNorm(image(2), 2, nil)
		F.Normalize(image(2), nil)
		F.RMSNorm(image(2), []int{8}, nil)
	},
	"embeddings": func() {
		F.Embedding(zeros(2, 3), random(5, 4), nil)
		F.EmbeddingBag(zeros(2, 3), random(5, 4), nil)
		F.OneHot(zeros(3), 4)
	},
	"images": func() {
		theta := random(2, 2, 3)
		F.GridSample(image(2), F.AffineGrid(theta, []int{2, 3, 4, 4}, nil), nil)
		F.ChannelShuffle(random(1, 4, 2, 2), 2)
		F.PixelUnshuffle(F.PixelShuffle(random(1, 4, 2, 2), 2), 2)
		F.Interpolate(image(2), &F.InterpolateOptions{Size: 4})
		F.Upsample(image(2), &F.InterpolateOptions{Size: 4})
		F.UpsampleBilinear(image(2), &F.UpsampleOptions{Size: 4})
		F.UpsampleNearest(image(2), &F.UpsampleOptions{Size: 4})
		F.Fold(F.Unfold(image(2), 2, nil), 8, 2, nil)
		F.Pad(image(2), []int{1, 1}, nil)
	},
	"distances": func() {
		F.CosineSimilarity(random(2, 3), random(2, 3), nil)
		F.PairwiseDistance(random(2, 3), random(2, 3), nil)
		F.PDist(random(3, 4), 2)
	},
	"attention": func() {
		q := random(2, 3, 4)
		F.ScaledDotProductAttention(q, q, q, nil)
		F.MultiHeadAttentionForward(q, q, q, 4, 2, &F.MultiHeadAttentionOptions{
			InProjWeight: random(12, 4), OutProjWeight: random(4, 4), OutProjBias: random(4),
		})
	},
	"Spread": func() { F.Spread("kernel", 2, 3) },
}

var lossCases = cases{
	"likelihoods": func() {
		x, class := random(2, 3), zeros(2)
		F.CrossEntropy(x, class, nil)
		F.NLLLoss(x, class, nil)
		F.GaussianNLLLoss(x, x, positive(2, 3), nil)
		F.PoissonNLLLoss(x, positive(2, 3), nil)
		F.KLDiv(x, positive(2, 3), nil)
		F.BinaryCrossEntropy(torch.Rand(2, 3), torch.Rand(2, 3), nil)
		F.BinaryCrossEntropyWithLogits(x, torch.Rand(2, 3), nil)
	},
	"CTC": func() {
		p, target := random(5, 1, 3).LogSoftmax(2), torch.TensorOptions{DType: torch.Int64}.Ones(1, 2)
		F.CTCLoss(p, target, []int{5}, []int{2}, nil)
		F.CTCLossTensor(p, target, torch.FromSlice([]int64{5}), torch.FromSlice([]int64{2}), nil)
	},
	"distances": func() {
		x, y := random(2, 3), random(2, 3)
		F.HuberLoss(x, y, nil)
		F.L1Loss(x, y, nil)
		F.MSELoss(x, y, nil)
		F.SmoothL1Loss(x, y, nil)
	},
	"margins": func() {
		x, y, sign := random(2, 3), random(2, 3), torch.Ones(2)
		F.CosineEmbeddingLoss(x, y, sign, nil)
		F.HingeEmbeddingLoss(x, torch.Ones(2, 3), nil)
		F.MarginRankingLoss(random(2), random(2), sign, nil)
		F.MultiMarginLoss(x, zeros(2), nil)
		F.MultilabelMarginLoss(x, zeros(2, 3), nil)
		F.MultilabelSoftMarginLoss(x, torch.Rand(2, 3), nil)
		F.SoftMarginLoss(x, torch.Ones(2, 3), nil)
		F.TripletMarginLoss(x, y, random(2, 3), nil)
		F.TripletMarginWithDistanceLoss(x, y, random(2, 3), nil)
	},
}
