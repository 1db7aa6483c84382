package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// GoogLeNetOptions are the rarer arguments of [NewGoogLeNet].
type GoogLeNetOptions struct {
	NoAuxLogits    bool     // without the two classifiers on the way
	TransformInput bool     // images come normalised as for ResNets, and are made what the published weights want
	NoInitWeights  bool     // with the initial values of nn, which are drawn faster
	Dropout        *float64 // probability before the linear layer; default 0.2
	DropoutAux     *float64 // probability in the classifiers on the way; default 0.7
}

// GoogLeNet is the first Inception network (Szegedy et al. 2014): convolutions of several sizes side by side, and
// in training two more classifiers on the way.
type GoogLeNet struct {
	Conv1       *BasicConv2d
	MaxPool1    *nn.MaxPool2d `torch:"maxpool1"`
	Conv2       *BasicConv2d
	Conv3       *BasicConv2d
	MaxPool2    *nn.MaxPool2d `torch:"maxpool2"`
	Inception3a nn.Layer
	Inception3b nn.Layer
	MaxPool3    *nn.MaxPool2d `torch:"maxpool3"`
	Inception4a nn.Layer
	Inception4b nn.Layer
	Inception4c nn.Layer
	Inception4d nn.Layer
	Inception4e nn.Layer
	MaxPool4    *nn.MaxPool2d `torch:"maxpool4"`
	Inception5a nn.Layer
	Inception5b nn.Layer
	Aux1        nn.Layer              // nil for NoAuxLogits
	Aux2        nn.Layer              // nil for NoAuxLogits
	AvgPool     *nn.AdaptiveAvgPool2d `torch:"avgpool"`
	Dropout     *nn.Dropout
	FC          *nn.Linear

	TransformInput bool // images come normalised as for ResNets
	Mode           nn.Mode
}

// NewGoogLeNet is GoogLeNet: 13.0 million parameters with 1000 classes, 6.4 of them in the classifiers on the way.
func NewGoogLeNet(classes int, opts ...GoogLeNetOptions) *GoogLeNet {
	o := option.One(opts)
	g := &GoogLeNet{
		Conv1: basic(3, 64, 7, nn.ConvOptions{Stride: 2, Padding: 3}), MaxPool1: ceilPool(),
		Conv2: basic(64, 64, 1), Conv3: basic(64, 192, 3, padded(1)), MaxPool2: ceilPool(),
		Inception3a: newInception(192, 64, 96, 128, 16, 32, 32), Inception3b: newInception(256, 128, 128, 192, 32, 96, 64),
		MaxPool3:    ceilPool(),
		Inception4a: newInception(480, 192, 96, 208, 16, 48, 64), Inception4b: newInception(512, 160, 112, 224, 24, 64, 64),
		Inception4c: newInception(512, 128, 128, 256, 24, 64, 64), Inception4d: newInception(512, 112, 144, 288, 32, 64, 64),
		Inception4e: newInception(528, 256, 160, 320, 32, 128, 128),
		MaxPool4:    nn.NewMaxPool2d(2, nn.MaxPoolOptions{Stride: 2, CeilMode: true}),
		Inception5a: newInception(832, 256, 160, 320, 32, 128, 128), Inception5b: newInception(832, 384, 192, 384, 48, 128, 128),
		TransformInput: o.TransformInput,
	}
	if !o.NoAuxLogits {
		g.Aux1, g.Aux2 = newGoogLeNetAux(512, classes, or(o.DropoutAux, 0.7)), newGoogLeNetAux(528, classes, or(o.DropoutAux, 0.7))
	}
	g.AvgPool, g.Dropout, g.FC = nn.NewAdaptiveAvgPool2d(1), nn.NewDropout(or(o.Dropout, 0.2)), nn.NewLinear(1024, classes)
	if !o.NoInitWeights {
		draw(g, func(c *nn.Conv2d) { nninit.TruncNormal(c.Weight, 0, 0.01, -2, 2) },
			func(l *nn.Linear) { nninit.TruncNormal(l.Weight, 0, 0.01, -2, 2) })
	}
	return g
}

// Forward maps images [N, 3, H, W], of 15x15 at least, to scores [N, classes]. It leaves the classifiers on the
// way aside.
func (g *GoogLeNet) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(g, x, func(x torch.Tensor) torch.Tensor {
		logits, _, _ := g.forward(x, false)
		return logits
	})
}

// ForwardAux maps images [N, 3, H, W] to the scores [N, classes] of all three classifiers, as calling the network
// does in Python: in training to all, in evaluation aux2 and aux1 are undefined. The loss of the paper takes 0.3 of
// each of these.
func (g *GoogLeNet) ForwardAux(x torch.Tensor) (logits, aux2, aux1 torch.Tensor) {
	nn.HookedAll(g, []*torch.Tensor{&x}, []*torch.Tensor{&logits, &aux2, &aux1}, func() { logits, aux2, aux1 = g.forward(x, true) })
	return logits, aux2, aux1
}

func (g *GoogLeNet) forward(x torch.Tensor, all bool) (logits, aux2, aux1 torch.Tensor) {
	all = all && g.Mode.Training()
	y := x
	if g.TransformInput {
		y = renormalised(x)
		defer y.Close()
	}
	y = nn.Chain(y, g.Conv1, g.MaxPool1, g.Conv2, g.Conv3, g.MaxPool2, g.Inception3a, g.Inception3b, g.MaxPool3, g.Inception4a)
	if all && g.Aux1 != nil {
		aux1 = g.Aux1.Forward(y)
	}
	z := nn.Chain(y, g.Inception4b, g.Inception4c, g.Inception4d)
	y.Close()
	defer z.Close()
	if all && g.Aux2 != nil {
		aux2 = g.Aux2.Forward(z)
	}
	return nn.Chain(z, g.Inception4e, g.MaxPool4, g.Inception5a, g.Inception5b, g.AvgPool, nn.Flatten{}, g.Dropout, g.FC), aux2, aux1
}

// String describes the model, see [nn.String].
func (g *GoogLeNet) String() string { return nn.String(g) }

// inception has convolutions of three sizes and a pooling side by side. The largest is 3x3 and not 5x5, as in the
// published weights.
type inception struct {
	Branch1 *BasicConv2d
	Branch2 nn.Sequential
	Branch3 nn.Sequential
	Branch4 nn.Sequential
}

func newInception(in, ones, in3, out3, in5, out5, pool int) *inception {
	return &inception{
		Branch1: basic(in, ones, 1),
		Branch2: nn.Sequential{basic(in, in3, 1), basic(in3, out3, 3, padded(1))},
		Branch3: nn.Sequential{basic(in, in5, 1), basic(in5, out5, 3, padded(1))},
		Branch4: nn.Sequential{nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 1, Padding: 1, CeilMode: true}), basic(in, pool, 1)},
	}
}

// Forward maps [N, in, H, W] to [N, ones+out3+out5+pool, H, W].
func (m *inception) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(m, x, m.forward) }

func (m *inception) forward(x torch.Tensor) torch.Tensor {
	return join(m.Branch1.Forward(x), m.Branch2.Forward(x), m.Branch3.Forward(x), m.Branch4.Forward(x))
}

// ReprName is torchvision's name.
func (m *inception) ReprName() string { return "Inception" }

// googLeNetAux is a classifier on the way.
type googLeNetAux struct {
	Conv    *BasicConv2d
	FC1     *nn.Linear
	FC2     *nn.Linear
	Dropout *nn.Dropout
}

func newGoogLeNetAux(in, classes int, p float64) *googLeNetAux {
	return &googLeNetAux{Conv: basic(in, 128, 1), FC1: nn.NewLinear(2048, 1024), FC2: nn.NewLinear(1024, classes), Dropout: nn.NewDropout(p)}
}

// Forward maps [N, in, H, W] to scores [N, classes].
func (a *googLeNetAux) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(a, x, func(x torch.Tensor) torch.Tensor {
		return nn.Chain(x, nn.NewAdaptiveAvgPool2d(4), a.Conv, nn.Flatten{}, a.FC1, nn.ReLU{InPlace: true}, a.Dropout, a.FC2)
	})
}

// ReprName is torchvision's name.
func (a *googLeNetAux) ReprName() string { return "InceptionAux" }
