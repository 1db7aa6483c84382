package ops

import (
	"cmp"
	"fmt"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// Conv2dNormActivation is a convolution, a normalisation and an activation in a row, the latter two as far as
// they are wanted.
type Conv2dNormActivation []nn.Layer

// Conv2dNormActivationOptions are the rarer arguments of [NewConv2dNormActivation].
type Conv2dNormActivationOptions struct {
	KernelSize   int                         // default 3
	Stride       int                         // default 1
	Padding      *int                        // default: what keeps the size, (KernelSize-1)/2*Dilation
	Groups       int                         // default 1
	Dilation     int                         // default 1
	Bias         *bool                       // of the convolution; default: only without normalisation
	NormLayer    func(channels int) nn.Layer // default [nn.NewBatchNorm2d]
	NoNorm       bool
	Activation   nn.Layer // default nn.ReLU{InPlace: true}
	NoActivation bool
}

// NewConv2dNormActivation makes a row of layers from in to out channels.
func NewConv2dNormActivation(in, out int, opts ...Conv2dNormActivationOptions) Conv2dNormActivation {
	o := option.One(opts)
	kernel, dilation := cmp.Or(o.KernelSize, 3), cmp.Or(o.Dilation, 1)
	padding, noBias := (kernel-1)/2*dilation, !o.NoNorm
	if o.Padding != nil {
		padding = *o.Padding
	}
	if o.Bias != nil {
		noBias = !*o.Bias
	}
	c := Conv2dNormActivation{nn.NewConv2d(in, out, kernel, nn.ConvOptions{
		Stride: cmp.Or(o.Stride, 1), Padding: padding, Dilation: dilation, Groups: o.Groups, NoBias: noBias})}
	if !o.NoNorm {
		c = append(c, normLayer(o.NormLayer, out))
	}
	switch {
	case o.NoActivation:
	case o.Activation == nil:
		c = append(c, nn.ReLU{InPlace: true})
	default:
		c = append(c, o.Activation)
	}
	return c
}

func normLayer(make func(int) nn.Layer, channels int) nn.Layer {
	if make == nil {
		return nn.NewBatchNorm2d(channels)
	}
	return make(channels)
}

// Forward maps [N, in, H, W] to [N, out, H/stride, W/stride].
func (c Conv2dNormActivation) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(c, x, func(x torch.Tensor) torch.Tensor { return nn.Chain(x, c...) })
}

// String describes the layer, see [nn.String].
func (c Conv2dNormActivation) String() string { return nn.String(c) }

// SqueezeExcitation scales every channel by what a small network makes of the means of all of them (Hu et al. 2017).
type SqueezeExcitation struct {
	AvgPool         *nn.AdaptiveAvgPool2d `torch:"avgpool"`
	FC1             *nn.Conv2d
	FC2             *nn.Conv2d
	Activation      nn.Layer
	ScaleActivation nn.Layer
}

// SqueezeExcitationOptions are the rarer arguments of [NewSqueezeExcitation].
type SqueezeExcitationOptions struct {
	Activation      nn.Layer // between the two convolutions; default nn.ReLU{}
	ScaleActivation nn.Layer // behind them; default nn.Sigmoid{}
}

// NewSqueezeExcitation makes a layer for that many channels, which has squeeze of them inside.
func NewSqueezeExcitation(channels, squeeze int, opts ...SqueezeExcitationOptions) *SqueezeExcitation {
	o := option.One(opts)
	s := &SqueezeExcitation{AvgPool: nn.NewAdaptiveAvgPool2d(1), FC1: nn.NewConv2d(channels, squeeze, 1),
		FC2: nn.NewConv2d(squeeze, channels, 1), Activation: o.Activation, ScaleActivation: o.ScaleActivation}
	if s.Activation == nil {
		s.Activation = nn.ReLU{}
	}
	if s.ScaleActivation == nil {
		s.ScaleActivation = nn.Sigmoid{}
	}
	return s
}

// Forward keeps the shape [N, C, H, W].
func (s *SqueezeExcitation) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(s, x, s.forward) }

func (s *SqueezeExcitation) forward(x torch.Tensor) torch.Tensor {
	scale := nn.Chain(x, s.AvgPool, s.FC1, s.Activation, s.FC2, s.ScaleActivation)
	defer scale.Close()
	return scale.Mul(x)
}

// String describes the layer, see [nn.String].
func (s *SqueezeExcitation) String() string { return nn.String(s) }

// MLP is a row of linear layers, each with a dropout and all but the last with an activation.
type MLP []nn.Layer

// MLPOptions are the rarer arguments of [NewMLP].
type MLPOptions struct {
	NormLayer  func(features int) nn.Layer // behind every linear layer but the last; default: none
	Activation nn.Layer                    // default nn.ReLU{}
	InPlace    bool                        // of the dropouts; the activation says it itself
	NoBias     bool
	Dropout    float64 // probability; default 0
}

// NewMLP makes a row of linear layers from in features to those of hidden, one after the other.
func NewMLP(in int, hidden []int, opts ...MLPOptions) MLP {
	o := option.One(opts)
	if len(hidden) == 0 {
		torch.Throw("mlp", torch.KindValue, "expected one number of features at least, got none")
	}
	activation := o.Activation
	if activation == nil {
		activation = nn.ReLU{}
	}
	var m MLP
	for i, out := range hidden {
		m = append(m, nn.NewLinear(in, out, nn.LinearOptions{NoBias: o.NoBias}))
		if i < len(hidden)-1 {
			if o.NormLayer != nil {
				m = append(m, o.NormLayer(out))
			}
			m = append(m, activation)
		}
		dropout := nn.NewDropout(o.Dropout)
		dropout.InPlace = o.InPlace
		m = append(m, dropout)
		in = out
	}
	return m
}

// Forward maps [..., in] to [..., out].
func (m MLP) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(m, x, func(x torch.Tensor) torch.Tensor { return nn.Chain(x, m...) })
}

// String describes the layer, see [nn.String].
func (m MLP) String() string { return nn.String(m) }

// Permute gives a view with the dimensions in another order.
type Permute struct{ Dims []int }

// Forward returns a view of x.
func (p Permute) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(p, x, func(x torch.Tensor) torch.Tensor { return x.Permute(p.Dims...) })
}

// ExtraRepr says nothing, as in torchvision.
func (p Permute) ExtraRepr() string { return "" }

// String describes the layer, see [nn.String].
func (p Permute) String() string { return nn.String(p) }

// DropScheme is what [StochasticDepth] leaves out at a time.
type DropScheme struct{ n uint8 }

// The schemes.
var (
	DropBatch = DropScheme{0} // all of the batch, torchvision's "batch"
	DropRow   = DropScheme{1} // single examples, torchvision's "row"
)

// String is torchvision's name.
func (s DropScheme) String() string { return [...]string{"batch", "row"}[s.n] }

// StochasticDepth leaves out a branch of a residual network in training, with probability P, and scales it by
// 1/(1-P) where it stays (Huang et al. 2016). In evaluation it does nothing.
type StochasticDepth struct {
	P      float64
	Scheme DropScheme
	Mode   nn.Mode
}

// NewStochasticDepth makes a layer.
func NewStochasticDepth(p float64, scheme DropScheme) *StochasticDepth {
	if !(p >= 0 && p <= 1) {
		torch.Throw("stochastic_depth", torch.KindValue, "drop probability has to be between 0 and 1, but got %s", pytext.Float(p))
	}
	return &StochasticDepth{P: p, Scheme: scheme}
}

// Forward keeps the shape [N, ...].
func (s *StochasticDepth) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(s, x, s.forward) }

func (s *StochasticDepth) forward(x torch.Tensor) torch.Tensor {
	if !s.Mode.Training() || s.P == 0 {
		return x
	}
	size := make([]int, x.Dim())
	for i := range size {
		size[i] = 1
	}
	if s.Scheme == DropRow {
		size[0] = x.Size(0)
	}
	survival := 1 - s.P
	noise := torch.TensorOptions{DType: x.DType(), Device: x.Device()}.Empty(size...).BernoulliInPlace(survival)
	defer noise.Close()
	if survival > 0 {
		noise.DivScalarInPlace(survival)
	}
	return x.Mul(noise)
}

// ExtraRepr says what the layer was made of.
func (s *StochasticDepth) ExtraRepr() string {
	return fmt.Sprintf("p=%s, mode=%v", pytext.Float(s.P), s.Scheme)
}

// String describes the layer, see [nn.String].
func (s *StochasticDepth) String() string { return nn.String(s) }

// FrozenBatchNorm2d is a batch normalisation whose weight, bias and statistics are fixed.
type FrozenBatchNorm2d struct {
	Weight      torch.Tensor `torch:",buffer"` // [C], ones at first
	Bias        torch.Tensor `torch:",buffer"` // [C], zeros at first
	RunningMean torch.Tensor `torch:",buffer"` // [C], zeros at first
	RunningVar  torch.Tensor `torch:",buffer"` // [C], ones at first
	Eps         float64
}

// FrozenBatchNorm2dOptions are the rarer arguments of [NewFrozenBatchNorm2d].
type FrozenBatchNorm2dOptions struct {
	Eps *float64 // added to the variance; default 1e-5
}

// NewFrozenBatchNorm2d makes a layer for that many channels.
func NewFrozenBatchNorm2d(channels int, opts ...FrozenBatchNorm2dOptions) *FrozenBatchNorm2d {
	f := &FrozenBatchNorm2d{Eps: 1e-5}
	if o := option.One(opts); o.Eps != nil {
		f.Eps = *o.Eps
	}
	torch.Unscoped(func() {
		f.Weight, f.Bias = torch.Ones(channels), torch.Zeros(channels)
		f.RunningMean, f.RunningVar = torch.Zeros(channels), torch.Ones(channels)
	})
	return f
}

// Forward keeps the shape [N, C, H, W].
func (f *FrozenBatchNorm2d) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(f, x, f.forward) }

func (f *FrozenBatchNorm2d) forward(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		column := func(t torch.Tensor) torch.Tensor { return t.Reshape(1, -1, 1, 1) }
		w, b, v, m := column(f.Weight), column(f.Bias), column(f.RunningVar), column(f.RunningMean)
		scale := w.Mul(v.AddScalar(f.Eps).Rsqrt())
		bias := b.Sub(m.Mul(scale))
		return x.Mul(scale).Add(bias)
	})
}

// ExtraRepr says what the layer was made of.
func (f *FrozenBatchNorm2d) ExtraRepr() string {
	return fmt.Sprintf("%d, eps=%s", f.Weight.Size(0), pytext.Float(f.Eps))
}

// String describes the layer, see [nn.String].
func (f *FrozenBatchNorm2d) String() string { return nn.String(f) }
