package modparity

import (
	"reflect"
	"runtime"
	"strings"

	"github.com/libtorch-go/libtorch/torch/nn"
)

// entry is a module: its constructor, or a struct whose fields are the arguments.
type entry struct {
	make any
	signature
}

// signature are arguments by their names in Python, options aside.
type signature struct {
	make string // of the constructor, some with a default
	call string // of Forward
}

// constructors are those of the modules of torch.nn, by their arguments.
var constructors = map[signature][]any{
	{"", "input"}: {
		nn.CELU{}, nn.ELU{}, nn.GELU{}, nn.GLU{}, nn.Hardshrink{}, nn.Hardsigmoid{}, nn.Hardswish{}, nn.Hardtanh{}, nn.Identity{},
		nn.LeakyReLU{}, nn.LogSigmoid{}, nn.LogSoftmax{}, nn.Mish{}, nn.ReLU{}, nn.ReLU6{}, nn.SELU{}, nn.SiLU{}, nn.Sigmoid{},
		nn.Softmax{}, nn.Softmax2d{}, nn.Softmin{}, nn.Softplus{}, nn.Softshrink{}, nn.Softsign{}, nn.Tanh{}, nn.Tanhshrink{},
		nn.Threshold{}, nn.Flatten{}, nn.Unflatten{}, nn.ChannelShuffle{}, nn.PixelShuffle{}, nn.PixelUnshuffle{}, nn.Upsample{},
		nn.UpsamplingNearest2d{}, nn.UpsamplingBilinear2d{}, nn.Unfold{}, nn.Fold{}, nn.LocalResponseNorm{}, nn.NewPReLU, nn.NewRReLU,
		nn.NewLazyBatchNorm1d, nn.NewLazyInstanceNorm1d, nn.NewLazyBatchNorm2d, nn.NewLazyInstanceNorm2d, nn.NewLazyBatchNorm3d,
		nn.NewLazyInstanceNorm3d,
	},
	{"", "x1 x2"}: {
		nn.CosineSimilarity{}, nn.PairwiseDistance{},
	},
	{"", "input target"}: {
		nn.L1Loss{}, nn.MSELoss{}, nn.SmoothL1Loss{}, nn.HuberLoss{}, nn.CrossEntropyLoss{}, nn.NLLLoss{}, nn.BCELoss{},
		nn.BCEWithLogitsLoss{}, nn.KLDivLoss{}, nn.SoftMarginLoss{}, nn.MultiLabelMarginLoss{}, nn.MultiLabelSoftMarginLoss{},
		nn.MultiMarginLoss{}, nn.HingeEmbeddingLoss{},
	},
	{"", "log_input target"}: {
		nn.PoissonNLLLoss{},
	},
	{"", "input target var"}: {
		nn.GaussianNLLLoss{},
	},
	{"", "log_probs targets input_lengths target_lengths"}: {
		nn.CTCLoss{},
	},
	{"", "input1 input2 target"}: {
		nn.MarginRankingLoss{}, nn.CosineEmbeddingLoss{},
	},
	{"", "anchor positive negative"}: {
		nn.TripletMarginLoss{}, nn.TripletMarginWithDistanceLoss{},
	},
	{"in_features n_classes cutoffs", "input_ target_"}: {
		nn.NewAdaptiveLogSoftmaxWithLoss,
	},
	{"in_features out_features", "input"}: {
		nn.NewLinear,
	},
	{"out_features", "input"}: {
		nn.NewLazyLinear,
	},
	{"in1_features in2_features out_features", "input1 input2"}: {
		nn.NewBilinear,
	},
	{"num_embeddings embedding_dim", "input"}: {
		nn.NewEmbedding,
	},
	{"num_embeddings embedding_dim", "input offsets per_sample_weights"}: {
		nn.NewEmbeddingBag,
	},
	{"p=0.5", "input"}: {
		nn.NewDropout, nn.NewDropout1d, nn.NewDropout2d, nn.NewDropout3d, nn.NewAlphaDropout, nn.NewFeatureAlphaDropout,
	},
	{"in_channels out_channels kernel_size", "input"}: {
		nn.NewConv1d, nn.NewConv2d, nn.NewConv3d,
	},
	{"in_channels out_channels kernel_size", "input output_size"}: {
		nn.NewConvTranspose1d, nn.NewConvTranspose2d, nn.NewConvTranspose3d,
	},
	{"out_channels kernel_size", "input"}: {
		nn.NewLazyConv1d, nn.NewLazyConvTranspose1d, nn.NewLazyConv2d, nn.NewLazyConvTranspose2d, nn.NewLazyConv3d,
		nn.NewLazyConvTranspose3d,
	},
	{"num_features", "input"}: {
		nn.NewBatchNorm1d, nn.NewInstanceNorm1d, nn.NewBatchNorm2d, nn.NewInstanceNorm2d, nn.NewBatchNorm3d, nn.NewInstanceNorm3d,
	},
	{"kernel_size", "input"}: {
		nn.NewMaxPool1d, nn.NewAvgPool1d, nn.NewMaxPool2d, nn.NewAvgPool2d, nn.NewFractionalMaxPool2d, nn.NewMaxPool3d,
		nn.NewAvgPool3d, nn.NewFractionalMaxPool3d,
	},
	{"kernel_size", "input indices"}: {
		nn.NewMaxUnpool1d, nn.NewMaxUnpool2d, nn.NewMaxUnpool3d,
	},
	{"norm_type kernel_size", "input"}: {
		nn.NewLPPool1d, nn.NewLPPool2d, nn.NewLPPool3d,
	},
	{"output_size", "input"}: {
		nn.NewAdaptiveMaxPool1d, nn.NewAdaptiveAvgPool1d, nn.NewAdaptiveMaxPool2d, nn.NewAdaptiveAvgPool2d, nn.NewAdaptiveMaxPool3d,
		nn.NewAdaptiveAvgPool3d,
	},
	{"padding", "input"}: {
		nn.NewZeroPad1d, nn.NewReflectionPad1d, nn.NewReplicationPad1d, nn.NewCircularPad1d, nn.NewZeroPad2d, nn.NewReflectionPad2d,
		nn.NewReplicationPad2d, nn.NewCircularPad2d, nn.NewZeroPad3d, nn.NewReflectionPad3d, nn.NewReplicationPad3d,
		nn.NewCircularPad3d,
	},
	{"padding value", "input"}: {
		nn.NewConstantPad1d, nn.NewConstantPad2d, nn.NewConstantPad3d,
	},
	{"normalized_shape", "input"}: {
		nn.NewLayerNorm,
	},
	{"normalized_shape", "x"}: {
		nn.NewRMSNorm,
	},
	{"num_groups num_channels", "input"}: {
		nn.NewGroupNorm,
	},
	{"input_size hidden_size", "input hx"}: {
		nn.NewRNN, nn.NewGRU, nn.NewLSTM, nn.NewRNNCell, nn.NewGRUCell, nn.NewLSTMCell,
	},
	{"embed_dim num_heads", "query key value"}: {
		nn.NewMultiheadAttention,
	},
	{"d_model nhead", "src"}: {
		nn.NewTransformerEncoderLayer,
	},
	{"d_model nhead", "tgt memory"}: {
		nn.NewTransformerDecoderLayer,
	},
	{"encoder_layer num_layers norm", "src"}: {
		nn.NewTransformerEncoder,
	},
	{"decoder_layer num_layers norm", "tgt memory"}: {
		nn.NewTransformerDecoder,
	},
	{"", "src tgt"}: {
		nn.NewTransformer,
	},
	{"args", "input"}: {
		func(layers []nn.Layer) nn.Sequential { return layers },
	},
}

// modules has them under their names: NewLinear makes a Linear, ReLU is a ReLU.
var modules = func() map[string]entry {
	list := map[string]entry{}
	for names, made := range constructors {
		for _, m := range made {
			list[nameOf(m)] = entry{m, names}
		}
	}
	return list
}()

func nameOf(m any) string {
	t := reflect.TypeOf(m)
	if t.Kind() != reflect.Func {
		return t.Name()
	}
	if _, name, ok := strings.Cut(runtime.FuncForPC(reflect.ValueOf(m).Pointer()).Name(), "/nn.New"); ok {
		return name
	}
	return t.Out(0).Name()
}

// elsewhere are modules of torch.nn that are not compared, and why.
var elsewhere = map[string]string{
	"Container":     "a base class that PyTorch keeps for old programs",
	"CrossMapLRN2d": "kept by PyTorch for old models; LocalResponseNorm does it for all dimensions",
	"DataParallel":  "PyTorch itself advises against it; it wants torch.distributed's DistributedDataParallel",
	"Module":        "a module is a struct: there is nothing to inherit",
	"ModuleDict":    "any map: the names in its state dict are tested in torch/nn",
	"ModuleList":    "any slice: the names in its state dict are tested in torch/nn",
	"NLLLoss2d":     "another name of NLLLoss that PyTorch keeps for old programs",
	"ParameterDict": "any map of tensors: the names in its state dict are tested in torch/nn",
	"ParameterList": "any slice of tensors: the names in its state dict are tested in torch/nn",
	"RNNBase":       "a base class; nn.Recurrent",
	"RNNCellBase":   "a base class; nn.Cell",
	"SyncBatchNorm": "needs several processes, torch.distributed",
}
