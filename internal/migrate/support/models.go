package support

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// MLPModule has three linear layers, for images of 28 by 28 in ten classes.
type MLPModule struct {
	FC1, FC2, FC3 *nn.Linear
}

// MLP makes an MLPModule.
func MLP() *MLPModule {
	return &MLPModule{nn.NewLinear(28*28, 512), nn.NewLinear(512, 512), nn.NewLinear(512, 10)}
}

// Forward is the log softmax of the classes.
func (m *MLPModule) Forward(x torch.Tensor) torch.Tensor {
	x = m.FC1.Forward(x.View(-1, 28*28)).Tanh()
	x = m.FC2.Forward(x).Tanh()
	return m.FC3.Forward(x).LogSoftmax(1)
}

// resnetBlock is a block of a ResNet: two or three convolutions, and a way past them.
type resnetBlock struct {
	Convs      []*nn.Conv2d
	Norms      []*nn.BatchNorm2d
	Downsample nn.Sequential
}

// add adds a convolution and its norm.
func (b *resnetBlock) add(in, out, kernel, stride int) {
	b.Convs = append(b.Convs, nn.NewConv2d(in, out, kernel, nn.ConvOptions{Stride: stride, Padding: kernel / 2, NoBias: true}))
	b.Norms = append(b.Norms, nn.NewBatchNorm2d(out))
}

// Forward computes the block.
func (b *resnetBlock) Forward(x torch.Tensor) torch.Tensor {
	out := x
	for i, c := range b.Convs {
		if i > 0 {
			out = out.ReLUInPlace()
		}
		out = b.Norms[i].Forward(c.Forward(out))
	}
	if b.Downsample != nil {
		x = b.Downsample.Forward(x)
	}
	return out.AddInPlace(x).ReLUInPlace()
}

// ResnetModule is a ResNet whose initial values are drawn in gotorch's order.
type ResnetModule struct {
	C1             *nn.Conv2d
	BN1            *nn.BatchNorm2d
	FC             *nn.Linear
	L1, L2, L3, L4 nn.Sequential
}

// Resnet18 makes a ResNet-18 for the 1,000 classes of ImageNet.
func Resnet18() *ResnetModule { return newResnet(1, 2, 2, 2, 2) }

// Resnet50 makes a ResNet-50 for the 1,000 classes of ImageNet.
func Resnet50() *ResnetModule { return newResnet(4, 3, 4, 6, 3) }

// newResnet makes a ResNet with that many blocks in its layers, whose channels grows times that of its planes come out.
func newResnet(grows int, blocks ...int) *ResnetModule {
	m := &ResnetModule{
		C1:  nn.NewConv2d(3, 64, 7, nn.ConvOptions{Stride: 2, Padding: 3, NoBias: true}),
		BN1: nn.NewBatchNorm2d(64),
		FC:  nn.NewLinear(512*grows, 1000),
	}
	in := 64
	for i, layer := range []*nn.Sequential{&m.L1, &m.L2, &m.L3, &m.L4} {
		planes, stride := 64<<i, min(i+1, 2)
		for range blocks[i] {
			b := &resnetBlock{}
			if stride != 1 || in != planes*grows {
				b.Downsample = nn.NewSequential(
					nn.NewConv2d(in, planes*grows, 1, nn.ConvOptions{Stride: stride, NoBias: true}), nn.NewBatchNorm2d(planes*grows))
			}
			if grows == 1 {
				b.add(in, planes, 3, stride)
				b.add(planes, planes, 3, 1)
			} else {
				b.add(in, planes, 1, 1)
				b.add(planes, planes, 3, stride)
				b.add(planes, planes*grows, 1, 1)
			}
			*layer = append(*layer, b)
			in, stride = planes*grows, 1
		}
	}
	return m
}

// Forward computes the scores of the classes.
func (m *ResnetModule) Forward(x torch.Tensor) torch.Tensor {
	x = m.BN1.Forward(m.C1.Forward(x)).ReLUInPlace()
	x = F.MaxPool2d(x, 3, F.MaxPoolOptions{Stride: 2, Padding: 1})
	for _, layer := range []nn.Sequential{m.L1, m.L2, m.L3, m.L4} {
		x = layer.Forward(x)
	}
	return m.FC.Forward(F.AdaptiveAvgPool2d(x, 1).Flatten(1))
}
