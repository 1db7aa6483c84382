package leaks

import (
	"errors"
	"maps"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// forward calls layers made for it with the same input.
func forward(x torch.Tensor, layers ...nn.Layer) {
	for _, l := range layers {
		l.Forward(x)
	}
}

// pair calls modules with two inputs.
func pair(x, y torch.Tensor, modules ...interface {
	Forward(x, y torch.Tensor) torch.Tensor
}) {
	for _, m := range modules {
		m.Forward(x, y)
	}
}

var layerCases = cases{
	"activations": func() {
		forward(random(2, 4), nn.CELU{}, nn.ELU{}, nn.GELU{}, nn.GLU{}, nn.Hardshrink{}, nn.Hardsigmoid{}, nn.Hardswish{}, nn.Hardtanh{},
			nn.Identity{},
			nn.LeakyReLU{}, nn.LogSigmoid{}, nn.LogSoftmax{Dim: 1}, nn.Mish{}, nn.NewPReLU(), nn.NewRReLU(), nn.ReLU{}, nn.ReLU6{}, nn.SELU{},
			nn.SiLU{}, nn.Sigmoid{}, nn.Softmax{Dim: 1}, nn.Softmin{Dim: 1}, nn.Softplus{}, nn.Softshrink{}, nn.Softsign{}, nn.Tanh{},
			nn.Tanhshrink{},
			nn.Threshold{})
		forward(image(2), nn.Softmax2d{})
	},
	"convolutions": func() {
		forward(image(1), nn.NewConv1d(3, 4, 3), nn.NewConvTranspose1d(3, 4, 3))
		forward(image(2), nn.NewConv2d(3, 4, 3), nn.NewConvTranspose2d(3, 4, 3))
		forward(image(3), nn.NewConv3d(3, 4, 3), nn.NewConvTranspose3d(3, 4, 3))
		nn.NewConvTranspose1d(3, 4, 3).ForwardTo(image(1), []int{10})
		nn.NewConvTranspose2d(3, 4, 3).ForwardTo(image(2), []int{10, 10})
		nn.NewConvTranspose3d(3, 4, 3).ForwardTo(image(3), []int{10, 10, 10})
	},
	"dropouts": func() {
		forward(image(1), nn.NewDropout(0.5), nn.NewDropout1d(0.5), nn.NewAlphaDropout(0.5), nn.NewFeatureAlphaDropout(0.5))
		forward(image(2), nn.NewDropout2d(0.5))
		forward(image(3), nn.NewDropout3d(0.5))
	},
	"normalizations": func() {
		forward(image(1), nn.NewBatchNorm1d(3), nn.NewInstanceNorm1d(3), nn.NewGroupNorm(3, 3), nn.NewLayerNorm([]int{8}),
			nn.NewRMSNorm([]int{8}))
		forward(image(2), nn.NewBatchNorm2d(3), nn.NewInstanceNorm2d(3), nn.LocalResponseNorm{Size: 2})
		forward(image(3), nn.NewBatchNorm3d(3), nn.NewInstanceNorm3d(3))
	},
	"pads": func() {
		forward(image(1), nn.NewCircularPad1d(1), nn.NewConstantPad1d(1, 2), nn.NewReflectionPad1d(1), nn.NewReplicationPad1d(1),
			nn.NewZeroPad1d(1))
		forward(image(2), nn.NewCircularPad2d(1), nn.NewConstantPad2d(1, 2), nn.NewReflectionPad2d(1), nn.NewReplicationPad2d(1),
			nn.NewZeroPad2d(1))
		forward(image(3), nn.NewCircularPad3d(1), nn.NewConstantPad3d(1, 2), nn.NewReflectionPad3d(1), nn.NewReplicationPad3d(1),
			nn.NewZeroPad3d(1))
	},
	"poolings": func() {
		forward(image(1), nn.NewAdaptiveAvgPool1d(2), nn.NewAdaptiveMaxPool1d(2), nn.NewAvgPool1d(2), nn.NewMaxPool1d(2), nn.NewLPPool1d(2, 2))
		forward(image(2), nn.NewAdaptiveAvgPool2d(2), nn.NewAdaptiveMaxPool2d(2), nn.NewAvgPool2d(2), nn.NewMaxPool2d(2), nn.NewLPPool2d(2, 2))
		forward(image(3), nn.NewAdaptiveAvgPool3d(2), nn.NewAdaptiveMaxPool3d(2), nn.NewAvgPool3d(2), nn.NewMaxPool3d(2), nn.NewLPPool3d(2, 2))
		o := nn.FractionalMaxPoolOptions{OutputSize: 3}
		forward(image(2), nn.NewFractionalMaxPool2d(2, o))
		forward(image(3), nn.NewFractionalMaxPool3d(2, o))
		nn.NewAdaptiveMaxPool2d(2).ForwardWithIndices(image(2))
		nn.NewFractionalMaxPool2d(2, o).ForwardWithIndices(image(2))
	},
	"unpoolings": func() {
		v, i := nn.NewMaxPool1d(2).ForwardWithIndices(image(1))
		nn.NewMaxUnpool1d(2).Forward(v, i)
		v, i = nn.NewMaxPool2d(2).ForwardWithIndices(image(2))
		nn.NewMaxUnpool2d(2).Forward(v, i)
		v, i = nn.NewMaxPool3d(2).ForwardWithIndices(image(3))
		nn.NewMaxUnpool3d(2).Forward(v, i)
	},
	"shapes": func() {
		forward(random(1, 4, 2, 2), nn.ChannelShuffle{Groups: 2}, nn.Flatten{}, nn.Unflatten{Dim: 1, UnflattenedSize: []int{2, 2}},
			nn.PixelShuffle{UpscaleFactor: 2}, nn.PixelUnshuffle{DownscaleFactor: 2},
			nn.Upsample{Size: 4}, nn.UpsamplingBilinear2d{Size: 4}, nn.UpsamplingNearest2d{Size: 4}, nn.Unfold{KernelSize: 2})
		nn.Fold{OutputSize: 8, KernelSize: 2}.Forward(F.Unfold(image(2), 2))
	},
	"linear":    func() { forward(random(2, 3), nn.NewLinear(3, 4)) },
	"embedding": func() { forward(zeros(2, 3), nn.NewEmbedding(5, 4)) },
	"EmbeddingBag": func() {
		nn.NewEmbeddingBag(5, 4).Forward(zeros(2, 3))
	},
	"distances": func() {
		pair(random(2, 3), random(2, 3), nn.CosineSimilarity{}, nn.PairwiseDistance{}, nn.NewBilinear(3, 3, 2))
	},
	"recurrent": func() {
		x := random(4, 2, 3)
		nn.NewRNN(3, 5).Forward(x)
		nn.NewGRU(3, 5).Forward(x)
		nn.NewLSTM(3, 5).Forward(x)
		nn.NewRNNCell(3, 5).Forward(random(2, 3))
		nn.NewGRUCell(3, 5).Forward(random(2, 3))
		nn.NewLSTMCell(3, 5).Forward(random(2, 3))
	},
	"transformers": func() {
		x, o := random(3, 2, 8), nn.TransformerLayerOptions{DimFeedforward: 8}
		encoder, decoder := nn.NewTransformerEncoderLayer(8, 2, o), nn.NewTransformerDecoderLayer(8, 2, o)
		encoder.Forward(x)
		encoder.ForwardMasked(x)
		decoder.Forward(x, x)
		encoders := nn.NewTransformerEncoder(encoder, 1)
		encoders.Forward(x)
		encoders.ForwardMasked(x)
		nn.NewTransformerDecoder(decoder, 1).Forward(x, x)
		nn.NewTransformer(nn.TransformerOptions{DModel: 8, NHead: 2, NumEncoderLayers: 1, NumDecoderLayers: 1, Layer: o}).Forward(x, x)
		nn.NewMultiheadAttention(8, 2).Forward(x, x, x)
		nn.SubsequentMask(4, torch.TensorOptions{})
	},
}

func network() nn.Sequential {
	return nn.Sequential{nn.NewConv2d(3, 4, 3), nn.NewBatchNorm2d(4), nn.ReLU{}, nn.Flatten{}, nn.NewLinear(4*6*6, 2)}
}

var nnCases = cases{
	"a network": func() {
		m := network()
		nn.Chain(image(2), m).Sum().Backward()
		nn.Parameters(m)
		nn.Buffers(m)
		nn.NumParameters(m)
		for range nn.NamedParameters(m) {
		}
		for range nn.NamedBuffers(m) {
		}
		for range nn.NamedModules(m) {
		}
		nn.ZeroGrad(m)
		nn.SetRequiresGrad(m, false)
		nn.Apply(m, func(any) {})
		nn.Train(nn.Eval(m))
		nn.WithMode(m, nn.Evaluating, func() {})
		norm := nn.NewBatchNorm2d(4)
		norm.Common()
		norm.ResetRunningStats()
		nn.To(m, torch.Float64)
		nn.Close(m)
	},
	"on several devices": func() {
		model := nn.NewDataParallel(nn.NewLinear(2, 3), []torch.Device{torch.CPU, torch.CPU})
		model.Forward(random(4, 2)).Sum().Backward()
		nn.Close(model)
	},
	"its state": func() {
		m := nn.Clone(network())
		check(nn.LoadStateDict(m, nn.StripPrefix(maps.Collect(nn.StateDict(m)), "module.")))
		err := nn.LoadStateDict(m, nil)
		var refused *nn.StateDictError
		if errors.As(err, &refused) {
			refused.Unwrap()
		}
		refuse(err)
		_ = err.Error()
	},
	"its tensors": func() {
		nn.WithTensors(nn.NewLinear(2, 3), map[string]torch.Tensor{"bias": random(3)}).Forward(random(1, 2))
	},
	"tensors of a module": func() {
		nn.NewParameter(random(2))
		nn.NewBuffer(random(2))
	},
	"Mode": func() {
		var m nn.Mode
		_, _ = m.String(), m.Training()
	},
	"init": func() {
		w := torch.Empty(4, 4)
		nninit.Constant(w, 1)
		nninit.Eye(w)
		nninit.Zeros(w)
		nninit.Ones(w)
		nninit.Fans(w)
		nninit.Gain(nninit.ReLU, 0)
		nninit.KaimingNormal(w)
		nninit.KaimingUniform(w)
		nninit.Normal(w, 0, 1)
		nninit.Orthogonal(w)
		nninit.TruncNormal(w, 0, 1, -2, 2)
		nninit.Uniform(w, 0, 1)
		nninit.XavierNormal(w)
		nninit.XavierUniform(w)
		nninit.Sparse(w, 0.5)
		nninit.Dirac(torch.Empty(4, 4, 3))
	},
}
