package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// InceptionOptions are the rarer arguments of [InceptionV3].
type InceptionOptions struct {
	NoAuxLogits    bool     // without the second classifier
	TransformInput bool     // images come normalised as for ResNets, and are made what the published weights want
	NoInitWeights  bool     // with the initial values of nn, which are drawn faster
	Dropout        *float64 // probability before the linear layer; default 0.5
}

// Inception3 is Inception-v3 (Szegedy et al. 2015): convolutions of several shapes side by side, and in training a
// second classifier half-way.
type Inception3 struct {
	Conv2d1a  *BasicConv2d          `torch:"Conv2d_1a_3x3"`
	Conv2d2a  *BasicConv2d          `torch:"Conv2d_2a_3x3"`
	Conv2d2b  *BasicConv2d          `torch:"Conv2d_2b_3x3"`
	MaxPool1  *nn.MaxPool2d         `torch:"maxpool1"`
	Conv2d3b  *BasicConv2d          `torch:"Conv2d_3b_1x1"`
	Conv2d4a  *BasicConv2d          `torch:"Conv2d_4a_3x3"`
	MaxPool2  *nn.MaxPool2d         `torch:"maxpool2"`
	Mixed5b   nn.Layer              `torch:"Mixed_5b"`
	Mixed5c   nn.Layer              `torch:"Mixed_5c"`
	Mixed5d   nn.Layer              `torch:"Mixed_5d"`
	Mixed6a   nn.Layer              `torch:"Mixed_6a"`
	Mixed6b   nn.Layer              `torch:"Mixed_6b"`
	Mixed6c   nn.Layer              `torch:"Mixed_6c"`
	Mixed6d   nn.Layer              `torch:"Mixed_6d"`
	Mixed6e   nn.Layer              `torch:"Mixed_6e"`
	AuxLogits nn.Layer              `torch:"AuxLogits"` // nil for NoAuxLogits
	Mixed7a   nn.Layer              `torch:"Mixed_7a"`
	Mixed7b   nn.Layer              `torch:"Mixed_7b"`
	Mixed7c   nn.Layer              `torch:"Mixed_7c"`
	AvgPool   *nn.AdaptiveAvgPool2d `torch:"avgpool"`
	Dropout   *nn.Dropout
	FC        *nn.Linear

	TransformInput bool // images come normalised as for ResNets
	Mode           nn.Mode
}

// InceptionV3 is Inception-v3, for images of 299x299: 27.2 million parameters with 1000 classes, 3.3 of them in
// the second classifier.
func InceptionV3(classes int, opts ...InceptionOptions) *Inception3 {
	o := option.One(opts)
	pool := nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2})
	n := &Inception3{
		Conv2d1a: basic(3, 32, 3, nn.ConvOptions{Stride: 2}), Conv2d2a: basic(32, 32, 3), Conv2d2b: basic(32, 64, 3, padded(1)),
		MaxPool1: pool,
		Conv2d3b: basic(64, 80, 1), Conv2d4a: basic(80, 192, 3),
		MaxPool2: pool,
		Mixed5b:  newInceptionA(192, 32), Mixed5c: newInceptionA(256, 64), Mixed5d: newInceptionA(288, 64),
		Mixed6a: newInceptionB(288), Mixed6b: newInceptionC(768, 128), Mixed6c: newInceptionC(768, 160),
		Mixed6d: newInceptionC(768, 160), Mixed6e: newInceptionC(768, 192),
		TransformInput: o.TransformInput,
	}
	var aux *inceptionAux
	if !o.NoAuxLogits {
		aux = newInceptionAux(768, classes)
		n.AuxLogits = aux
	}
	n.Mixed7a, n.Mixed7b, n.Mixed7c = newInceptionD(768), newInceptionE(1280), newInceptionE(2048)
	n.AvgPool, n.Dropout, n.FC = nn.NewAdaptiveAvgPool2d(1), nn.NewDropout(or(o.Dropout, 0.5)), nn.NewLinear(2048, classes)
	if !o.NoInitWeights {
		draw(n, func(c *nn.Conv2d) { nninit.TruncNormal(c.Weight, 0, 0.1, -2, 2) }, func(l *nn.Linear) {
			std := 0.1
			if aux != nil && l == aux.FC {
				std = 0.001
			}
			nninit.TruncNormal(l.Weight, 0, std, -2, 2)
		})
	}
	return n
}

// Forward maps images [N, 3, H, W], of 75x75 at least, to scores [N, classes]. It leaves the second classifier
// aside.
func (n *Inception3) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(n, x, func(x torch.Tensor) torch.Tensor {
		logits, _ := n.forward(x, false)
		return logits
	})
}

// ForwardAux maps images [N, 3, H, W] to the scores [N, classes] of both classifiers, as calling the network does in
// Python: in training, where images are of 299x299, to both; in evaluation aux is undefined. The loss of the paper
// takes 0.4 of the second.
func (n *Inception3) ForwardAux(x torch.Tensor) (logits, aux torch.Tensor) {
	nn.HookedAll(n, []*torch.Tensor{&x}, []*torch.Tensor{&logits, &aux}, func() { logits, aux = n.forward(x, true) })
	return logits, aux
}

func (n *Inception3) forward(x torch.Tensor, both bool) (logits, aux torch.Tensor) {
	y := x
	if n.TransformInput {
		y = renormalised(x)
		defer y.Close()
	}
	y = nn.Chain(y, n.Conv2d1a, n.Conv2d2a, n.Conv2d2b, n.MaxPool1, n.Conv2d3b, n.Conv2d4a, n.MaxPool2,
		n.Mixed5b, n.Mixed5c, n.Mixed5d, n.Mixed6a, n.Mixed6b, n.Mixed6c, n.Mixed6d, n.Mixed6e)
	defer y.Close()
	if both && n.AuxLogits != nil && n.Mode.Training() {
		aux = n.AuxLogits.Forward(y)
	}
	return nn.Chain(y, n.Mixed7a, n.Mixed7b, n.Mixed7c, n.AvgPool, n.Dropout, nn.Flatten{}, n.FC), aux
}

// String describes the model, see [nn.String].
func (n *Inception3) String() string { return nn.String(n) }

// renormalised takes images from ImageNet's mean and deviation to 0.5 and 0.5.
func renormalised(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		channel := func(i int, mean, std float64) torch.Tensor {
			return x.Select(1, i).Unsqueeze(1).MulScalar(std / 0.5).AddScalar((mean - 0.5) / 0.5)
		}
		return torch.Cat([]torch.Tensor{channel(0, 0.485, 0.229), channel(1, 0.456, 0.224), channel(2, 0.406, 0.225)}, 1)
	})
}

// BasicConv2d is a convolution without bias, a batch norm and a ReLU.
type BasicConv2d struct {
	Conv *nn.Conv2d
	BN   *nn.BatchNorm2d
}

func basic[S nn.Size2d](in, out int, kernel S, opts ...nn.ConvOptions) *BasicConv2d {
	o := option.One(opts)
	o.NoBias = true
	return &BasicConv2d{Conv: nn.NewConv2d(in, out, kernel, o), BN: nn.NewBatchNorm2d(out, nn.BatchNormOptions{Eps: new(1e-3)})}
}

// padded are the options of a convolution with that much padding.
func padded(p nn.Size) nn.ConvOptions { return nn.ConvOptions{Padding: p} }

// Forward maps [N, in, H, W] to [N, out, H', W'].
func (b *BasicConv2d) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(b, x, func(x torch.Tensor) torch.Tensor { return nn.Chain(x, b.Conv, b.BN, nn.ReLU{InPlace: true}) })
}

// String describes the layer, see [nn.String].
func (b *BasicConv2d) String() string { return nn.String(b) }

// inceptionAux is the second classifier.
type inceptionAux struct {
	Conv0 *BasicConv2d
	Conv1 *BasicConv2d
	FC    *nn.Linear
}

func newInceptionAux(in, classes int) *inceptionAux {
	return &inceptionAux{Conv0: basic(in, 128, 1), Conv1: basic(128, 768, 5), FC: nn.NewLinear(768, classes)}
}

// Forward maps [N, in, H, W], of 17x17 at least, to scores [N, classes].
func (a *inceptionAux) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(a, x, func(x torch.Tensor) torch.Tensor {
		pool := nn.NewAvgPool2d(5, nn.AvgPoolOptions{Stride: 3})
		return nn.Chain(x, pool, a.Conv0, a.Conv1, nn.NewAdaptiveAvgPool2d(1), nn.Flatten{}, a.FC)
	})
}

// ReprName is torchvision's name.
func (a *inceptionAux) ReprName() string { return "InceptionAux" }
