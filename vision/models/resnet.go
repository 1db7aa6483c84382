package models

import (
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// Stem is how a network begins.
type Stem struct{ n uint8 }

// The stems.
var (
	// ImageNetStem is torchvision's, for large images: a 7x7 convolution of stride 2 and a
	// pooling, which leave a quarter of the height and width.
	ImageNetStem = Stem{0}
	// CIFARStem is for images of about 32x32: a 3x3 convolution that keeps the size.
	CIFARStem = Stem{1}
)

// ResNetOptions are the rarer arguments of the ResNets.
type ResNetOptions struct {
	Stem             Stem // default ImageNetStem
	ZeroInitResidual bool // let every block begin as the identity
}

// ResNet is a residual network (He et al. 2015).
type ResNet struct {
	Conv1   *nn.Conv2d
	BN1     *nn.BatchNorm2d
	ReLU    nn.ReLU  `torch:"relu"`
	MaxPool nn.Layer `torch:"maxpool"` // Identity in a CIFARStem
	Layer1  nn.Sequential
	Layer2  nn.Sequential
	Layer3  nn.Sequential
	Layer4  nn.Sequential
	AvgPool *nn.AdaptiveAvgPool2d `torch:"avgpool"`
	FC      *nn.Linear
}

// ResNet18 is ResNet-18: 11.7 million parameters with 1000 classes.
func ResNet18(classes int, opts ...ResNetOptions) *ResNet {
	return newResNet(newBasicBlock, [4]int{2, 2, 2, 2}, classes, option.One(opts))
}

// ResNet34 is ResNet-34: 21.8 million parameters with 1000 classes.
func ResNet34(classes int, opts ...ResNetOptions) *ResNet {
	return newResNet(newBasicBlock, [4]int{3, 4, 6, 3}, classes, option.One(opts))
}

// ResNet50 is ResNet-50: 25.6 million parameters with 1000 classes.
func ResNet50(classes int, opts ...ResNetOptions) *ResNet {
	return newResNet(newBottleneck, [4]int{3, 4, 6, 3}, classes, option.One(opts))
}

// ResNet101 is ResNet-101: 44.5 million parameters with 1000 classes.
func ResNet101(classes int, opts ...ResNetOptions) *ResNet {
	return newResNet(newBottleneck, [4]int{3, 4, 23, 3}, classes, option.One(opts))
}

// ResNet152 is ResNet-152: 60.2 million parameters with 1000 classes.
func ResNet152(classes int, opts ...ResNetOptions) *ResNet {
	return newResNet(newBottleneck, [4]int{3, 8, 36, 3}, classes, option.One(opts))
}

// newBlock makes a block with inner planes, and says how many channels leave it.
type newBlock func(in, planes, stride int) (block nn.Layer, out int)

func newResNet(block newBlock, depth [4]int, classes int, v ResNetOptions) *ResNet {
	r := &ResNet{ReLU: nn.ReLU{InPlace: true}}
	if v.Stem == CIFARStem {
		r.Conv1 = conv(3, 64, 3, 1)
		r.MaxPool = nn.Identity{}
	} else {
		r.Conv1 = conv(3, 64, 7, 2)
		r.MaxPool = nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2, Padding: 1})
	}
	r.BN1 = nn.NewBatchNorm2d(64)
	channels := 64
	for i, layer := range []*nn.Sequential{&r.Layer1, &r.Layer2, &r.Layer3, &r.Layer4} {
		for n := range depth[i] {
			stride := 1
			if i > 0 && n == 0 {
				stride = 2
			}
			var b nn.Layer
			b, channels = block(channels, 64<<i, stride)
			*layer = append(*layer, b)
		}
	}
	r.AvgPool = nn.NewAdaptiveAvgPool2d(1)
	r.FC = nn.NewLinear(channels, classes)
	drawConvolutions(r)
	if v.ZeroInitResidual {
		r.zeroResidual()
	}
	return r
}

func (r *ResNet) zeroResidual() {
	for _, m := range nn.NamedModules(r) {
		switch b := m.(type) {
		case *BasicBlock:
			nninit.Zeros(b.BN2.Weight)
		case *Bottleneck:
			nninit.Zeros(b.BN3.Weight)
		}
	}
}

// Forward maps images [N, 3, H, W] to scores [N, classes].
func (r *ResNet) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(r, x, r.forward) }

func (r *ResNet) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, r.Conv1, r.BN1, r.ReLU, r.MaxPool, r.Layer1, r.Layer2, r.Layer3, r.Layer4, r.AvgPool, nn.Flatten{}, r.FC)
}

// conv is a convolution without bias that keeps the size but for the stride.
func conv(in, out, kernel, stride int) *nn.Conv2d {
	return nn.NewConv2d(in, out, kernel, nn.ConvOptions{Stride: stride, Padding: kernel / 2, NoBias: true})
}

// newDownsample fits the input of a block to its output, where it needs to.
func newDownsample(in, out, stride int) nn.Sequential {
	if stride == 1 && in == out {
		return nil
	}
	return nn.Sequential{conv(in, out, 1, stride), nn.NewBatchNorm2d(out)}
}

// BasicBlock is two 3x3 convolutions and a way around them.
type BasicBlock struct {
	Conv1      *nn.Conv2d
	BN1        *nn.BatchNorm2d
	ReLU       nn.ReLU `torch:"relu"`
	Conv2      *nn.Conv2d
	BN2        *nn.BatchNorm2d
	Downsample nn.Sequential // nil where the sizes fit
}

func newBasicBlock(in, planes, stride int) (nn.Layer, int) {
	down := newDownsample(in, planes, stride)
	return &BasicBlock{
		Conv1: conv(in, planes, 3, stride), BN1: nn.NewBatchNorm2d(planes),
		ReLU:  nn.ReLU{InPlace: true},
		Conv2: conv(planes, planes, 3, 1), BN2: nn.NewBatchNorm2d(planes),
		Downsample: down,
	}, planes
}

// Forward maps [N, in, H, W] to [N, planes, H/stride, W/stride].
func (b *BasicBlock) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *BasicBlock) forward(x torch.Tensor) torch.Tensor {
	return residual(x, nn.Chain(x, b.Conv1, b.BN1, b.ReLU, b.Conv2, b.BN2), b.Downsample, b.ReLU)
}

// expansion is how many more channels leave a Bottleneck than its 3x3 convolution has.
const expansion = 4

// Bottleneck is a 3x3 convolution of few channels between two 1x1 convolutions, and a way
// around them.
type Bottleneck struct {
	Conv1      *nn.Conv2d
	BN1        *nn.BatchNorm2d
	Conv2      *nn.Conv2d
	BN2        *nn.BatchNorm2d
	Conv3      *nn.Conv2d
	BN3        *nn.BatchNorm2d
	ReLU       nn.ReLU       `torch:"relu"`
	Downsample nn.Sequential // nil where the sizes fit
}

func newBottleneck(in, planes, stride int) (nn.Layer, int) {
	out := planes * expansion
	down := newDownsample(in, out, stride)
	return &Bottleneck{
		Conv1: conv(in, planes, 1, 1), BN1: nn.NewBatchNorm2d(planes),
		Conv2: conv(planes, planes, 3, stride), BN2: nn.NewBatchNorm2d(planes),
		Conv3: conv(planes, out, 1, 1), BN3: nn.NewBatchNorm2d(out),
		ReLU:       nn.ReLU{InPlace: true},
		Downsample: down,
	}, out
}

// Forward maps [N, in, H, W] to [N, 4*planes, H/stride, W/stride].
func (b *Bottleneck) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *Bottleneck) forward(x torch.Tensor) torch.Tensor {
	return residual(x, nn.Chain(x, b.Conv1, b.BN1, b.ReLU, b.Conv2, b.BN2, b.ReLU, b.Conv3, b.BN3), b.Downsample, b.ReLU)
}

// residual adds the way around a block to what came out of it, in place.
func residual(x, out torch.Tensor, downsample nn.Sequential, relu nn.ReLU) torch.Tensor {
	around := nn.Chain(x, downsample...)
	out.AddInPlace(around)
	if !around.Is(x) {
		around.Close()
	}
	return relu.Forward(out)
}

// String describes the model, see [nn.String].
func (r *ResNet) String() string { return nn.String(r) }

// String describes the block, see [nn.String].
func (b *BasicBlock) String() string { return nn.String(b) }

// String describes the block, see [nn.String].
func (b *Bottleneck) String() string { return nn.String(b) }
