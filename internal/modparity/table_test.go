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
		nn.NewEmbedding, nn.NewEmbeddingBag,
	},
	{"p=0.5", "input"}: {
		nn.NewDropout, nn.NewDropout1d, nn.NewDropout2d, nn.NewDropout3d, nn.NewAlphaDropout, nn.NewFeatureAlphaDropout,
	},
	{"in_channels out_channels kernel_size", "input"}: {
		sized{nn.NewConv1d[int], nn.NewConv1d[[]int]}, sized{nn.NewConv2d[int], nn.NewConv2d[[]int]},
		sized{nn.NewConv3d[int], nn.NewConv3d[[]int]},
	},
	{"in_channels out_channels kernel_size", "input output_size"}: {
		sized{nn.NewConvTranspose1d[int], nn.NewConvTranspose1d[[]int]}, sized{nn.NewConvTranspose2d[int], nn.NewConvTranspose2d[[]int]},
		sized{nn.NewConvTranspose3d[int], nn.NewConvTranspose3d[[]int]},
	},
	{"out_channels kernel_size", "input"}: {
		sized{nn.NewLazyConv1d[int], nn.NewLazyConv1d[[]int]}, sized{nn.NewLazyConvTranspose1d[int], nn.NewLazyConvTranspose1d[[]int]},
		sized{nn.NewLazyConv2d[int], nn.NewLazyConv2d[[]int]}, sized{nn.NewLazyConvTranspose2d[int], nn.NewLazyConvTranspose2d[[]int]},
		sized{nn.NewLazyConv3d[int], nn.NewLazyConv3d[[]int]},
		sized{nn.NewLazyConvTranspose3d[int], nn.NewLazyConvTranspose3d[[]int]},
	},
	{"num_features", "input"}: {
		nn.NewBatchNorm1d, nn.NewInstanceNorm1d, nn.NewBatchNorm2d, nn.NewInstanceNorm2d, nn.NewBatchNorm3d, nn.NewInstanceNorm3d,
	},
	{"kernel_size", "input"}: {
		sized{nn.NewMaxPool1d[int], nn.NewMaxPool1d[[]int]}, sized{nn.NewAvgPool1d[int], nn.NewAvgPool1d[[]int]},
		sized{nn.NewMaxPool2d[int], nn.NewMaxPool2d[[]int]}, sized{nn.NewAvgPool2d[int], nn.NewAvgPool2d[[]int]},
		sized{nn.NewFractionalMaxPool2d[int], nn.NewFractionalMaxPool2d[[]int]}, sized{nn.NewMaxPool3d[int], nn.NewMaxPool3d[[]int]},
		sized{nn.NewAvgPool3d[int], nn.NewAvgPool3d[[]int]}, sized{nn.NewFractionalMaxPool3d[int], nn.NewFractionalMaxPool3d[[]int]},
	},
	{"kernel_size", "input indices"}: {
		sized{nn.NewMaxUnpool1d[int], nn.NewMaxUnpool1d[[]int]}, sized{nn.NewMaxUnpool2d[int], nn.NewMaxUnpool2d[[]int]},
		sized{nn.NewMaxUnpool3d[int], nn.NewMaxUnpool3d[[]int]},
	},
	{"norm_type kernel_size", "input"}: {
		sized{nn.NewLPPool1d[int], nn.NewLPPool1d[[]int]}, sized{nn.NewLPPool2d[int], nn.NewLPPool2d[[]int]},
		sized{nn.NewLPPool3d[int], nn.NewLPPool3d[[]int]},
	},
	{"output_size", "input"}: {
		sized{nn.NewAdaptiveMaxPool1d[int], nn.NewAdaptiveMaxPool1d[[]int]},
		sized{nn.NewAdaptiveAvgPool1d[int], nn.NewAdaptiveAvgPool1d[[]int]},
		sized{nn.NewAdaptiveMaxPool2d[int], nn.NewAdaptiveMaxPool2d[[]int]},
		sized{nn.NewAdaptiveAvgPool2d[int], nn.NewAdaptiveAvgPool2d[[]int]}, sized{nn.NewAdaptiveMaxPool3d[int], nn.NewAdaptiveMaxPool3d[[]int]},
		sized{nn.NewAdaptiveAvgPool3d[int], nn.NewAdaptiveAvgPool3d[[]int]},
	},
	{"padding", "input"}: {
		sized{nn.NewZeroPad1d[int], nn.NewZeroPad1d[[]int]}, sized{nn.NewReflectionPad1d[int], nn.NewReflectionPad1d[[]int]},
		sized{nn.NewReplicationPad1d[int], nn.NewReplicationPad1d[[]int]}, sized{nn.NewCircularPad1d[int], nn.NewCircularPad1d[[]int]},
		sized{nn.NewZeroPad2d[int], nn.NewZeroPad2d[[]int]}, sized{nn.NewReflectionPad2d[int], nn.NewReflectionPad2d[[]int]},
		sized{nn.NewReplicationPad2d[int], nn.NewReplicationPad2d[[]int]}, sized{nn.NewCircularPad2d[int], nn.NewCircularPad2d[[]int]},
		sized{nn.NewZeroPad3d[int], nn.NewZeroPad3d[[]int]}, sized{nn.NewReflectionPad3d[int], nn.NewReflectionPad3d[[]int]},
		sized{nn.NewReplicationPad3d[int], nn.NewReplicationPad3d[[]int]},
		sized{nn.NewCircularPad3d[int], nn.NewCircularPad3d[[]int]},
	},
	{"padding value", "input"}: {
		sized{nn.NewConstantPad1d[int], nn.NewConstantPad1d[[]int]}, sized{nn.NewConstantPad2d[int], nn.NewConstantPad2d[[]int]},
		sized{nn.NewConstantPad3d[int], nn.NewConstantPad3d[[]int]},
	},
	{"normalized_shape", "input"}: {
		sized{nn.NewLayerNorm[int], nn.NewLayerNorm[[]int]},
	},
	{"normalized_shape", "x"}: {
		sized{nn.NewRMSNorm[int], nn.NewRMSNorm[[]int]},
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
	{"encoder_layer num_layers", "src"}: {
		nn.NewTransformerEncoder,
	},
	{"decoder_layer num_layers", "tgt memory"}: {
		nn.NewTransformerDecoder,
	},
	{"", "src tgt"}: {
		nn.NewTransformer,
	},
	{"args", "input"}: {
		func(layers []nn.Layer) nn.Sequential { return layers },
	},
}

// sized is a constructor for a size that is a number, and for one that is a list.
type sized struct{ one, list any }

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
	if two, ok := m.(sized); ok {
		m = two.list
	}
	t := reflect.TypeOf(m)
	if t.Kind() != reflect.Func {
		return t.Name()
	}
	if _, name, ok := strings.Cut(runtime.FuncForPC(reflect.ValueOf(m).Pointer()).Name(), "/nn.New"); ok {
		return strings.TrimSuffix(name, "[...]")
	}
	return t.Out(0).Name()
}

// elsewhere are modules of torch.nn that are not compared, and why.
var elsewhere = map[string]string{
	"Container":     "a base class that PyTorch keeps for old programs",
	"CrossMapLRN2d": "kept by PyTorch for old models; LocalResponseNorm does it for all dimensions",
	"DataParallel":  "in the tests of torch/nn, on the CPU, where Python's does nothing",
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
