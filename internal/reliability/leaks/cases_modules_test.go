package leaks

import (
	"iter"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
	"github.com/libtorch-go/libtorch/torch/nn/utils/parametrize"
	"github.com/libtorch-go/libtorch/torch/nn/utils/rnn"
	"github.com/libtorch-go/libtorch/torch/optim/swa"
)

var moduleCases = cases{
	"losses of two": func() {
		pair(random(2, 3), random(2, 3), nn.HuberLoss{}, nn.KLDivLoss{}, nn.L1Loss{}, nn.MSELoss{}, nn.PoissonNLLLoss{}, nn.SmoothL1Loss{})
		pair(torch.Rand(2, 3), torch.Rand(2, 3), nn.BCELoss{}, nn.BCEWithLogitsLoss{}, nn.MultiLabelSoftMarginLoss{})
		pair(random(2, 3), zeros(2), nn.CrossEntropyLoss{}, nn.MultiMarginLoss{}, nn.NLLLoss{})
		pair(random(2, 3), torch.Ones(2, 3), nn.HingeEmbeddingLoss{}, nn.SoftMarginLoss{})
		pair(random(2, 3), zeros(2, 3), nn.MultiLabelMarginLoss{})
	},
	"losses of three": func() {
		x, y := random(2, 3), random(2, 3)
		nn.CosineEmbeddingLoss{}.Forward(x, y, torch.Ones(2))
		nn.GaussianNLLLoss{}.Forward(x, y, positive(2, 3))
		nn.MarginRankingLoss{}.Forward(random(2), random(2), torch.Ones(2))
		nn.TripletMarginLoss{}.Forward(x, y, random(2, 3))
		nn.TripletMarginWithDistanceLoss{}.Forward(x, y, random(2, 3))
	},
	"CTCLoss": func() {
		p, target := random(5, 1, 3).LogSoftmax(2), torch.TensorOptions{DType: torch.Int64}.Ones(1, 2)
		nn.CTCLoss{}.Forward(p, target, []int{5}, []int{2})
		nn.CTCLoss{}.ForwardTensor(p, target, int64s(5), int64s(2))
	},
	"AdaptiveLogSoftmaxWithLoss": func() {
		m := nn.NewAdaptiveLogSoftmaxWithLoss(4, 6, []int{2, 4})
		m.Forward(random(3, 4), zeros(3))
		m.LogProb(random(3, 4))
		m.Predict(random(3, 4))
	},
	"lazy modules": func() {
		forward(image(1), nn.NewLazyConv1d(4, 3), nn.NewLazyConvTranspose1d(4, 3), nn.NewLazyBatchNorm1d(), nn.NewLazyInstanceNorm1d(),
			nn.NewLazyLinear(2))
		forward(image(2), nn.NewLazyConv2d(4, 3), nn.NewLazyConvTranspose2d(4, 3), nn.NewLazyBatchNorm2d(), nn.NewLazyInstanceNorm2d())
		forward(image(3), nn.NewLazyConv3d(4, 3), nn.NewLazyConvTranspose3d(4, 3), nn.NewLazyBatchNorm3d(), nn.NewLazyInstanceNorm3d())
	},
	"hooks of modules": func() {
		m := nn.NewLinear(2, 3)
		before := func(any, []torch.Tensor) []torch.Tensor { return nil }
		after := func(any, []torch.Tensor, []torch.Tensor) []torch.Tensor { return nil }
		for _, h := range []*nn.HookHandle{
			nn.RegisterForwardHook(m, after), nn.RegisterForwardPreHook(m, before), nn.RegisterModuleForwardHook(after),
			nn.RegisterModuleForwardPreHook(before),
		} {
			m.Forward(random(1, 2))
			h.Remove()
		}
	},
	"backward hooks of modules": func() {
		m := nn.NewLinear(2, 3)
		before := func(any, []torch.Tensor) []torch.Tensor { return nil }
		after := func(any, []torch.Tensor, []torch.Tensor) []torch.Tensor { return nil }
		for _, h := range []*nn.HookHandle{
			nn.RegisterFullBackwardHook(m, after), nn.RegisterFullBackwardPreHook(m, before),
			nn.RegisterModuleFullBackwardHook(after), nn.RegisterModuleFullBackwardPreHook(before),
		} {
			m.Forward(parameter(1, 2)).Sum().Backward()
			h.Remove()
		}
	},
	"checkpoints": func() {
		m, x := nn.NewSequential(nn.NewLinear(3, 3), nn.Tanh{}), parameter(2, 3)
		first := func(in ...torch.Tensor) torch.Tensor { return m.Forward(in[0]) }
		all := func(in ...torch.Tensor) []torch.Tensor { return []torch.Tensor{m.Forward(in[0])} }
		nn.Checkpoint(first, x).Sum().Backward()
		nn.CheckpointAll(all, x)[0].Sum().Backward()
		nn.CheckpointSequential(m, 2, x).Sum().Backward()
		torch.ClearGrads([]torch.Tensor{x})
	},
	"summary": func() { _ = nn.Summary(network(), image(2)).String() },
	"multiplications": func() {
		x := random(2, 3)
		in := []torch.Tensor{x, x, x}
		for _, m := range []nn.MACCounter{
			nn.NewBilinear(3, 3, 2), nn.NewLSTMCell(3, 2), nn.NewConvTranspose1d(2, 2, 3),
			nn.NewMultiheadAttention(3, 1), nn.NewLSTM(3, 2),
		} {
			m.MACs(in, in)
		}
	},
	"packed sequences": func() {
		p := rnn.PackSequence([]torch.Tensor{random(3, 2), random(2, 2)})
		nn.NewRNN(2, 4).ForwardPacked(p)
		nn.NewGRU(2, 4).ForwardPacked(p)
		nn.NewLSTM(2, 4).ForwardPacked(p)
		x, lengths := rnn.PadPackedSequence(p)
		rnn.PackPaddedSequence(x, lengths).Close()
		rnn.UnpackSequence(p)
		rnn.UnpadSequence(x, lengths, false)
		rnn.PadSequence([]torch.Tensor{random(3), random(2)})
		rnn.InvertPermutation(int64s(1, 0))
		p.With(p.Data.MulScalar(2)).Close()
		p.Close()
	},
	"clipping": func() {
		w := parameter(3)
		w.Sum().Backward()
		params := []torch.Tensor{w}
		nnutils.ClipGradNorm(params, 1)
		nnutils.ClipGradValue(params, 1)
		nnutils.ClipGradsWithNorm(params, 1, nnutils.GetTotalNorm(params))
		torch.ClearGrads(params)
		torch.NoGrad(func() { nnutils.VectorToParameters(nnutils.ParametersToVector(params), params) })
	},
	"fusion": func() {
		norm := nn.Eval(nn.NewBatchNorm2d(4))
		conv := nn.Eval(nn.NewConv2d(3, 4, 3))
		nnutils.FuseConvBN(conv, norm)
		nnutils.FuseConvBNWeights(conv.Weight, conv.Bias, norm.Common(), false)
		linear, flat := nn.Eval(nn.NewLinear(3, 4)), nn.Eval(nn.NewBatchNorm1d(4))
		nnutils.FuseLinearBN(linear, flat)
		nnutils.FuseLinearBNWeights(linear.Weight, linear.Bias, flat.Common())
	},
	"parametrizations": func() {
		x := random(2, 3)
		parametrize.WeightNorm(nn.NewLinear(3, 3)).Forward(x)
		parametrize.SpectralNorm(nn.NewLinear(3, 3)).Forward(x)
		m := parametrize.Orthogonal(nn.NewLinear(3, 3))
		m.List("weight")
		m.Set("weight", torch.Eye(3))
		m.Value("weight")
		m.With(func(*nn.Linear) {})
		parametrize.Remove(m, "weight")
		parametrize.Register(nn.NewLinear(3, 3), "bias", double{}).Register("bias", double{}).Forward(x)
	},
	"parametrizations by themselves": func() {
		w := random(3, 3)
		o := parametrize.NewOrthogonalization(w)
		o.Forward(o.RightInverse(torch.Eye(3))...)
		s := parametrize.NewSpectralNormalization(w)
		s.Forward(s.RightInverse(w)...)
		var n parametrize.WeightNormalization
		n.Forward(n.RightInverse(w)...)
	},
	"averages": func() {
		m := nn.Sequential{nn.NewLinear(3, 4), nn.NewBatchNorm1d(4)}
		for _, o := range []swa.Options{{}, {AvgFn: swa.EMAAvgFn(0.9)}, {AvgFn: swa.SWAAvgFn()}, {MultiAvgFn: swa.EMAMultiAvgFn(0.9)},
			{MultiAvgFn: swa.SWAMultiAvgFn()}} {
			a := swa.NewAveragedModel(m, o)
			a.UpdateParameters(m)
			a.UpdateParameters(m)
			a.Forward(random(2, 3))
		}
		check(swa.UpdateBN(m, batches(2), func(x torch.Tensor) { m.Forward(x) }))
	},
}

// double is a parametrization.
type double struct{}

func (double) Forward(originals ...torch.Tensor) torch.Tensor { return originals[0].MulScalar(2) }

func batches(n int) iter.Seq2[torch.Tensor, error] {
	return func(yield func(torch.Tensor, error) bool) {
		for range n {
			if !yield(random(2, 3), nil) {
				return
			}
		}
	}
}

// square is a function with its derivative.
type square struct{}

func (square) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	ctx.SaveForBackward(in[0])
	ctx.SetMaterializeGrads(true)
	ctx.NeedsInputGrad(0)
	sign := in[0].Sign()
	ctx.MarkNonDifferentiable(sign)
	return []torch.Tensor{in[0].Mul(in[0]), sign}
}

func (square) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	return []torch.Tensor{grads[0].Mul(ctx.SavedTensors()[0]).MulScalar(2)}
}

// increment changes its input.
type increment struct{}

func (increment) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	ctx.MarkDirty(in[0])
	return []torch.Tensor{in[0].AddScalarInPlace(1)}
}

func (increment) Backward(_ *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor { return grads }

var hookCases = cases{
	"hooks of tensors": func() {
		w := parameter(2)
		torch.BackwardNumber()
		twice := w.RegisterHook(func(g torch.Tensor) torch.Tensor { return g.MulScalar(2) })
		then := w.RegisterPostAccumulateGradHook(func(x torch.Tensor) { torch.ClearGrads([]torch.Tensor{x}) })
		w.Mul(w).Sum().Backward()
		twice.Remove()
		then.Remove()
	},
	"functions": func() {
		w := parameter(2)
		torch.Apply(square{}, w)[0].Sum().Backward()
		torch.Apply1(increment{}, w.MulScalar(2)).Sum().Backward()
		torch.ClearGrads([]torch.Tensor{w})
	},
	"saved tensors": func() {
		w := parameter(2)
		torch.SavedTensorsHooks(func(x torch.Tensor) any { return x }, func(p any) torch.Tensor { return p.(torch.Tensor) }, func() {
			w.Mul(w).Sum().Backward()
		})
		torch.ClearGrads([]torch.Tensor{w})
	},
	"anomalies": func() {
		w := parameter(2)
		torch.DetectAnomaly(func() {
			_, _ = torch.IsAnomalyEnabled(), torch.IsAnomalyCheckNaNEnabled()
			refuse(torch.Try(func() { w.MulScalar(0).Log().MulScalar(0).Sum().Backward() }))
		})
		torch.ClearGrads([]torch.Tensor{w})
	},
}
