package models

import (
	"cmp"

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
	Stem                      Stem                        // default ImageNetStem
	ZeroInitResidual          bool                        // let every block begin as the identity
	Groups                    int                         // of the 3x3 convolutions of bottlenecks; default 1, ResNeXts have their own
	WidthPerGroup             int                         // channels of a group in the first layer; default 64
	ReplaceStrideWithDilation [3]bool                     // in layers 2 to 4: look further in place of a stride
	NormLayer                 func(channels int) nn.Layer // default: batch norms
}

// ResNet is a residual network (He et al. 2015); a ResNeXt's convolutions are in groups (Xie et al. 2016), a wide
// one's have more channels (Zagoruyko and Komodakis 2016).
type ResNet struct {
	Conv1   *nn.Conv2d
	BN1     nn.Layer
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

// ResNeXt50_32x4d is ResNeXt-50 with 32 groups of 4 channels: 25.0 million parameters with 1000 classes.
func ResNeXt50_32x4d(classes int, opts ...ResNetOptions) *ResNet {
	return newResNet(newBottleneck, [4]int{3, 4, 6, 3}, classes, option.One(opts).grouped(32, 4))
}

// ResNeXt101_32x8d is ResNeXt-101 with 32 groups of 8 channels: 88.8 million parameters with 1000 classes.
func ResNeXt101_32x8d(classes int, opts ...ResNetOptions) *ResNet {
	return newResNet(newBottleneck, [4]int{3, 4, 23, 3}, classes, option.One(opts).grouped(32, 8))
}

// ResNeXt101_64x4d is ResNeXt-101 with 64 groups of 4 channels: 83.5 million parameters with 1000 classes.
func ResNeXt101_64x4d(classes int, opts ...ResNetOptions) *ResNet {
	return newResNet(newBottleneck, [4]int{3, 4, 23, 3}, classes, option.One(opts).grouped(64, 4))
}

// WideResNet50_2 is ResNet-50 with 3x3 convolutions of twice the width: 68.9 million parameters with 1000 classes.
func WideResNet50_2(classes int, opts ...ResNetOptions) *ResNet {
	return newResNet(newBottleneck, [4]int{3, 4, 6, 3}, classes, option.One(opts).grouped(1, 128))
}

// WideResNet101_2 is ResNet-101 with 3x3 convolutions of twice the width: 126.9 million parameters with 1000
// classes.
func WideResNet101_2(classes int, opts ...ResNetOptions) *ResNet {
	return newResNet(newBottleneck, [4]int{3, 4, 23, 3}, classes, option.One(opts).grouped(1, 128))
}

// grouped are the options for a network whose name says groups and width, which the options may only repeat.
func (o ResNetOptions) grouped(groups, width int) ResNetOptions {
	if o.Groups != 0 && o.Groups != groups || o.WidthPerGroup != 0 && o.WidthPerGroup != width {
		torch.Throw("resnet", torch.KindValue, "expected %d groups of width %d, as the network's name says, got %d of %d",
			groups, width, o.Groups, o.WidthPerGroup)
	}
	o.Groups, o.WidthPerGroup = groups, width
	return o
}

// shape is what a block is made of: its inner planes, its stride, and how far its 3x3 convolution looks.
type shape struct{ planes, stride, dilation, groups, width int }

// newBlock makes a block for that many channels, and says how many leave it.
type newBlock func(in int, s shape, norm norms) (block nn.Layer, out int)

func newResNet(block newBlock, depth [4]int, classes int, v ResNetOptions) *ResNet {
	r, norm := &ResNet{ReLU: nn.ReLU{InPlace: true}}, normOr(v.NormLayer, nn.BatchNormOptions{})
	if v.Stem == CIFARStem {
		r.Conv1 = conv(3, 64, 3, 1)
		r.MaxPool = nn.Identity{}
	} else {
		r.Conv1 = conv(3, 64, 7, 2)
		r.MaxPool = nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2, Padding: 1})
	}
	r.BN1 = norm(64)
	channels, s := 64, shape{dilation: 1, groups: cmp.Or(v.Groups, 1), width: cmp.Or(v.WidthPerGroup, 64)}
	for i, layer := range []*nn.Sequential{&r.Layer1, &r.Layer2, &r.Layer3, &r.Layer4} {
		s.planes, s.stride = 64<<i, 1
		dilation := s.dilation
		switch {
		case i > 0 && v.ReplaceStrideWithDilation[i-1]:
			dilation *= 2
		case i > 0:
			s.stride = 2
		}
		for range depth[i] {
			var b nn.Layer
			b, channels = block(channels, s, norm)
			*layer = append(*layer, b)
			s.stride, s.dilation = 1, dilation
		}
	}
	r.AvgPool = nn.NewAdaptiveAvgPool2d(1)
	r.FC = nn.NewLinear(channels, classes)
	draw(r, kaimingOut, nil)
	if v.ZeroInitResidual {
		r.zeroResidual()
	}
	return r
}

func (r *ResNet) zeroResidual() {
	for _, m := range nn.NamedModules(r) {
		var last nn.Layer
		switch b := m.(type) {
		case *BasicBlock:
			last = b.BN2
		case *Bottleneck:
			last = b.BN3
		}
		if norm, ok := last.(*nn.BatchNorm2d); ok && norm.Weight.Defined() {
			nninit.Zeros(norm.Weight)
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
func newDownsample(in, out, stride int, norm norms) nn.Sequential {
	if stride == 1 && in == out {
		return nil
	}
	return nn.Sequential{conv(in, out, 1, stride), norm(out)}
}

// BasicBlock is two 3x3 convolutions and a way around them.
type BasicBlock struct {
	Conv1      *nn.Conv2d
	BN1        nn.Layer
	ReLU       nn.ReLU `torch:"relu"`
	Conv2      *nn.Conv2d
	BN2        nn.Layer
	Downsample nn.Sequential // nil where the sizes fit
}

func newBasicBlock(in int, s shape, norm norms) (nn.Layer, int) {
	if s.groups != 1 || s.width != 64 || s.dilation != 1 {
		torch.Throw("resnet", torch.KindValue,
			"blocks of ResNet-18 and 34 have one group of width 64 and no dilation, got %d of %d and dilation %d", s.groups, s.width, s.dilation)
	}
	down := newDownsample(in, s.planes, s.stride, norm)
	return &BasicBlock{
		Conv1: conv(in, s.planes, 3, s.stride), BN1: norm(s.planes),
		ReLU:  nn.ReLU{InPlace: true},
		Conv2: conv(s.planes, s.planes, 3, 1), BN2: norm(s.planes),
		Downsample: down,
	}, s.planes
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
	BN1        nn.Layer
	Conv2      *nn.Conv2d
	BN2        nn.Layer
	Conv3      *nn.Conv2d
	BN3        nn.Layer
	ReLU       nn.ReLU       `torch:"relu"`
	Downsample nn.Sequential // nil where the sizes fit
}

func newBottleneck(in int, s shape, norm norms) (nn.Layer, int) {
	out, width := s.planes*expansion, s.planes*s.width/64*s.groups
	down := newDownsample(in, out, s.stride, norm)
	return &Bottleneck{
		Conv1: conv(in, width, 1, 1), BN1: norm(width),
		Conv2: nn.NewConv2d(width, width, 3, nn.ConvOptions{
			Stride: s.stride, Padding: s.dilation, Dilation: s.dilation, Groups: s.groups, NoBias: true}),
		BN2:   norm(width),
		Conv3: conv(width, out, 1, 1), BN3: norm(out),
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
