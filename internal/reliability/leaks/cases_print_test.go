package leaks

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/torch/nn/utils/parametrize"
	"github.com/libtorch-go/libtorch/vision/models"
)

// printed are the layers that print themselves, of every type.
var printed = []any{
	nn.AdaptiveAvgPool1d{}, nn.AdaptiveAvgPool2d{}, nn.AdaptiveAvgPool3d{}, nn.AdaptiveLogSoftmaxWithLoss{}, nn.AdaptiveMaxPool1d{},
	nn.AdaptiveMaxPool2d{}, nn.AdaptiveMaxPool3d{}, nn.AlphaDropout{}, nn.AvgPool1d{}, nn.AvgPool2d{}, nn.AvgPool3d{}, nn.BCELoss{},
	nn.BCEWithLogitsLoss{}, nn.BatchNorm1d{}, nn.BatchNorm2d{}, nn.BatchNorm3d{}, nn.Bilinear{}, nn.CELU{}, nn.CTCLoss{},
	nn.ChannelShuffle{}, nn.CircularPad1d{}, nn.CircularPad2d{}, nn.CircularPad3d{}, nn.ConstantPad1d{}, nn.ConstantPad2d{},
	nn.ConstantPad3d{}, nn.Conv1d{}, nn.Conv2d{}, nn.Conv3d{}, nn.ConvTranspose1d{}, nn.ConvTranspose2d{}, nn.ConvTranspose3d{},
	nn.CosineEmbeddingLoss{}, nn.CosineSimilarity{}, nn.CrossEntropyLoss{}, nn.Dropout{}, nn.Dropout1d{}, nn.Dropout2d{},
	nn.Dropout3d{}, nn.ELU{}, nn.Embedding{}, nn.EmbeddingBag{}, nn.FeatureAlphaDropout{}, nn.Flatten{}, nn.Fold{},
	nn.FractionalMaxPool2d{}, nn.FractionalMaxPool3d{}, nn.GELU{}, nn.GLU{}, nn.GRU{}, nn.GRUCell{}, nn.GaussianNLLLoss{},
	nn.GroupNorm{}, nn.Hardshrink{}, nn.Hardsigmoid{}, nn.Hardswish{}, nn.Hardtanh{}, nn.HingeEmbeddingLoss{}, nn.HuberLoss{},
	nn.Identity{}, nn.InstanceNorm1d{}, nn.InstanceNorm2d{}, nn.InstanceNorm3d{}, nn.KLDivLoss{}, nn.L1Loss{}, nn.LPPool1d{},
	nn.LPPool2d{}, nn.LPPool3d{}, nn.LSTM{}, nn.LSTMCell{}, nn.LayerNorm{}, nn.LeakyReLU{}, nn.Linear{}, nn.LocalResponseNorm{},
	nn.LogSigmoid{}, nn.LogSoftmax{}, nn.MSELoss{}, nn.MarginRankingLoss{}, nn.MaxPool1d{}, nn.MaxPool2d{}, nn.MaxPool3d{},
	nn.MaxUnpool1d{}, nn.MaxUnpool2d{}, nn.MaxUnpool3d{}, nn.Mish{}, nn.MultiLabelMarginLoss{}, nn.MultiLabelSoftMarginLoss{},
	nn.MultiMarginLoss{}, nn.MultiheadAttention{}, nn.NLLLoss{}, nn.PReLU{}, nn.PairwiseDistance{}, nn.PixelShuffle{},
	nn.PixelUnshuffle{}, nn.PoissonNLLLoss{}, nn.RMSNorm{}, nn.RNN{}, nn.RNNCell{}, nn.RReLU{}, nn.ReLU{}, nn.ReLU6{},
	nn.ReflectionPad1d{}, nn.ReflectionPad2d{}, nn.ReflectionPad3d{}, nn.ReplicationPad1d{}, nn.ReplicationPad2d{},
	nn.ReplicationPad3d{}, nn.SELU{}, nn.Sequential{}, nn.SiLU{}, nn.Sigmoid{}, nn.SmoothL1Loss{}, nn.SoftMarginLoss{},
	nn.Softmax{}, nn.Softmax2d{}, nn.Softmin{}, nn.Softplus{}, nn.Softshrink{}, nn.Softsign{}, nn.Tanh{}, nn.Tanhshrink{},
	nn.Threshold{}, nn.Transformer{}, nn.TransformerDecoder{}, nn.TransformerDecoderLayer{}, nn.TransformerEncoder{},
	nn.TransformerEncoderLayer{}, nn.TripletMarginLoss{}, nn.TripletMarginWithDistanceLoss{}, nn.Unflatten{}, nn.Unfold{},
	nn.Upsample{}, nn.UpsamplingBilinear2d{}, nn.UpsamplingNearest2d{}, nn.ZeroPad1d{}, nn.ZeroPad2d{}, nn.ZeroPad3d{}, nn.LazyLinear{},
}

var printCases = cases{
	"descriptions of models": func() {
		conv, norm := nn.NewConv2d(1, 1, 1), nn.NewBatchNorm2d(1)
		block := &models.BasicBlock{Conv1: conv, BN1: norm, Conv2: conv, BN2: norm}
		_ = fmt.Sprint(block, &models.Bottleneck{Conv1: conv, BN1: norm, Conv2: conv, BN2: norm, Conv3: conv, BN3: norm})
		pool := nn.NewAdaptiveAvgPool2d(1)
		_ = fmt.Sprint(&models.ResNet{Conv1: conv, BN1: norm, MaxPool: nn.Identity{}, Layer1: nn.Sequential{block}, AvgPool: pool,
			FC: nn.NewLinear(1, 1)})
		_ = fmt.Sprint(&models.VGG{Features: nn.Sequential{conv}, AvgPool: pool, Classifier: nn.Sequential{nn.ReLU{}}})
	},
	"descriptions of parametrizations": func() {
		for _, m := range []fmt.Stringer{
			parametrize.WeightNorm(nn.NewLinear(3, 3)), parametrize.SpectralNorm(nn.NewLinear(3, 3)), parametrize.Orthogonal(nn.NewLinear(3, 3)),
		} {
			_ = m.String()
		}
		_ = fmt.Sprint(nninit.ReLU, parametrize.MatrixExp)
	},
	"descriptions": func() {
		for _, m := range printed {
			_ = fmt.Sprint(m)
		}
		_ = nn.String(nn.NewSequential(nn.NewLinear(2, 3), nn.NewLazyConv2d(2, 3)))
	},
}
