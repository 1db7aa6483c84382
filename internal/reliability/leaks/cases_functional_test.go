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
		F.AvgPool1d(image(1), 2)
		F.AvgPool2d(image(2), 2)
		F.AvgPool3d(image(3), 2)
		F.LPPool1d(image(1), 2, 2)
		F.LPPool2d(image(2), 2, 2)
		F.LPPool3d(image(3), 2, 2)
	},
	"max poolings": func() {
		F.MaxPool1d(image(1), 2)
		F.MaxPool2d(image(2), 2)
		F.MaxPool3d(image(3), 2)
		values, indices := F.MaxPool1dWithIndices(image(1), 2)
		F.MaxUnpool1d(values, indices, 2)
		values, indices = F.MaxPool2dWithIndices(image(2), 2)
		F.MaxUnpool2d(values, indices, 2)
		values, indices = F.MaxPool3dWithIndices(image(3), 2)
		F.MaxUnpool3d(values, indices, 2)
	},
	"fractional max poolings": func() {
		o := F.FractionalMaxPoolOptions{OutputSize: 3}
		F.FractionalMaxPool2d(image(2), 2, o)
		F.FractionalMaxPool3d(image(3), 2, o)
		F.FractionalMaxPool2dWithIndices(image(2), 2, o)
		F.FractionalMaxPool3dWithIndices(image(3), 2, o)
	},
	"convolutions": func() {
		F.Conv1d(image(1), random(4, 3, 3), random(4))
		F.Conv2d(image(2), random(4, 3, 3, 3), random(4))
		F.Conv3d(image(3), random(4, 3, 3, 3, 3), random(4))
		F.ConvTranspose1d(image(1), random(3, 4, 3), random(4))
		F.ConvTranspose2d(image(2), random(3, 4, 3, 3), random(4))
		F.ConvTranspose3d(image(3), random(3, 4, 3, 3, 3), random(4))
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
		F.CELU(x, F.CELUOptions{Alpha: new(float64(1))})
		F.ELU(x, F.ELUOptions{Alpha: new(float64(1))})
		F.GELU(x, F.GELUOptions{Approximate: "tanh"})
		F.GLU(x, 1)
		F.Hardshrink(x, F.ShrinkOptions{Lambda: new(0.5)})
		F.Hardtanh(x, F.HardtanhOptions{MinVal: new(-1.0), MaxVal: new(1.0)})
		F.LeakyReLU(x, F.LeakyReLUOptions{NegativeSlope: new(0.01)})
		F.PReLU(x, random(1))
		F.RReLU(x)
		F.Softplus(x)
		F.Softshrink(x, F.ShrinkOptions{Lambda: new(0.5)})
		F.Threshold(x, 0, 1)
	},
	"softmaxes": func() {
		x := random(2, 4)
		F.Softmax(x, 1)
		F.Softmin(x, 1)
		F.LogSoftmax(x, 1)
		F.GumbelSoftmax(x)
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
		F.BatchNorm(image(2), F.BatchNormOptions{Training: true})
		F.GroupNorm(image(2), 3)
		F.InstanceNorm(image(2))
		F.LayerNorm(image(2), []int{8, 8})
		F.LocalResponseNorm(image(2), 2)
		F.Normalize(image(2))
		F.RMSNorm(image(2), []int{8})
	},
	"embeddings": func() {
		F.Embedding(zeros(2, 3), random(5, 4))
		F.EmbeddingBag(zeros(2, 3), random(5, 4))
		F.OneHot(zeros(3), 4)
	},
	"images": func() {
		theta := random(2, 2, 3)
		F.GridSample(image(2), F.AffineGrid(theta, []int{2, 3, 4, 4}))
		F.ChannelShuffle(random(1, 4, 2, 2), 2)
		F.PixelUnshuffle(F.PixelShuffle(random(1, 4, 2, 2), 2), 2)
		F.Interpolate(image(2), F.InterpolateOptions{Size: 4})
		F.Upsample(image(2), F.InterpolateOptions{Size: 4})
		F.UpsampleBilinear(image(2), F.UpsampleOptions{Size: 4})
		F.UpsampleNearest(image(2), F.UpsampleOptions{Size: 4})
		F.Fold(F.Unfold(image(2), 2), 8, 2)
		F.Pad(image(2), []int{1, 1})
	},
	"distances": func() {
		F.CosineSimilarity(random(2, 3), random(2, 3))
		F.PairwiseDistance(random(2, 3), random(2, 3))
		F.PDist(random(3, 4), 2)
	},
	"attention": func() {
		q := random(2, 3, 4)
		F.ScaledDotProductAttention(q, q, q)
		F.MultiHeadAttentionForward(q, q, q, 4, 2, F.MultiHeadAttentionOptions{
			InProjWeight: random(12, 4), OutProjWeight: random(4, 4), OutProjBias: random(4),
		})
	},
	"Spread": func() { F.Spread("kernel", 2, 3) },
}

var lossCases = cases{
	"likelihoods": func() {
		x, class := random(2, 3), zeros(2)
		F.CrossEntropy(x, class)
		F.NLLLoss(x, class)
		F.GaussianNLLLoss(x, x, positive(2, 3))
		F.PoissonNLLLoss(x, positive(2, 3))
		F.KLDiv(x, positive(2, 3))
		F.BinaryCrossEntropy(torch.Rand(2, 3), torch.Rand(2, 3))
		F.BinaryCrossEntropyWithLogits(x, torch.Rand(2, 3))
	},
	"CTC": func() {
		p, target := random(5, 1, 3).LogSoftmax(2), torch.TensorOptions{DType: torch.Int64}.Ones(1, 2)
		F.CTCLoss(p, target, []int{5}, []int{2})
		F.CTCLossTensor(p, target, torch.FromSlice([]int64{5}), torch.FromSlice([]int64{2}))
	},
	"distances": func() {
		x, y := random(2, 3), random(2, 3)
		F.HuberLoss(x, y)
		F.L1Loss(x, y)
		F.MSELoss(x, y)
		F.SmoothL1Loss(x, y)
	},
	"margins": func() {
		x, y, sign := random(2, 3), random(2, 3), torch.Ones(2)
		F.CosineEmbeddingLoss(x, y, sign)
		F.HingeEmbeddingLoss(x, torch.Ones(2, 3))
		F.MarginRankingLoss(random(2), random(2), sign)
		F.MultiMarginLoss(x, zeros(2))
		F.MultilabelMarginLoss(x, zeros(2, 3))
		F.MultilabelSoftMarginLoss(x, torch.Rand(2, 3))
		F.SoftMarginLoss(x, torch.Ones(2, 3))
		F.TripletMarginLoss(x, y, random(2, 3))
		F.TripletMarginWithDistanceLoss(x, y, random(2, 3))
	},
}
