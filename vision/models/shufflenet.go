package models

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// ShuffleNetV2Options are the rarer arguments of the ShuffleNets: there are none.
type ShuffleNetV2Options struct{}

// ShuffleNetV2 changes half of the channels in each block and then shuffles them (Ma et al. 2018).
type ShuffleNetV2 struct {
	Conv1   nn.Sequential
	MaxPool *nn.MaxPool2d `torch:"maxpool"`
	Stage2  nn.Sequential
	Stage3  nn.Sequential
	Stage4  nn.Sequential
	Conv5   nn.Sequential
	FC      *nn.Linear
}

// ShuffleNetV2X0_5 is ShuffleNetV2 of half the width: 1.4 million parameters with 1000 classes.
func ShuffleNetV2X0_5(classes int, _ ...ShuffleNetV2Options) *ShuffleNetV2 {
	return newShuffleNetV2([5]int{24, 48, 96, 192, 1024}, classes)
}

// ShuffleNetV2X1_0 is ShuffleNetV2: 2.3 million parameters with 1000 classes.
func ShuffleNetV2X1_0(classes int, _ ...ShuffleNetV2Options) *ShuffleNetV2 {
	return newShuffleNetV2([5]int{24, 116, 232, 464, 1024}, classes)
}

// ShuffleNetV2X1_5 is ShuffleNetV2 of 1.5 times the width: 3.5 million parameters with 1000 classes.
func ShuffleNetV2X1_5(classes int, _ ...ShuffleNetV2Options) *ShuffleNetV2 {
	return newShuffleNetV2([5]int{24, 176, 352, 704, 1024}, classes)
}

// ShuffleNetV2X2_0 is ShuffleNetV2 of twice the width: 7.4 million parameters with 1000 classes.
func ShuffleNetV2X2_0(classes int, _ ...ShuffleNetV2Options) *ShuffleNetV2 {
	return newShuffleNetV2([5]int{24, 244, 488, 976, 2048}, classes)
}

func newShuffleNetV2(channels [5]int, classes int) *ShuffleNetV2 {
	relu := nn.ReLU{InPlace: true}
	s := &ShuffleNetV2{
		Conv1:   nn.Sequential{conv(3, channels[0], 3, 2), nn.NewBatchNorm2d(channels[0]), relu},
		MaxPool: nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2, Padding: 1}),
	}
	for i, stage := range []*nn.Sequential{&s.Stage2, &s.Stage3, &s.Stage4} {
		*stage = nn.Sequential{newShuffleBlock(channels[i], channels[i+1], 2)}
		for range [...]int{3, 7, 3}[i] {
			*stage = append(*stage, newShuffleBlock(channels[i+1], channels[i+1], 1))
		}
	}
	s.Conv5 = nn.Sequential{conv(channels[3], channels[4], 1, 1), nn.NewBatchNorm2d(channels[4]), relu}
	s.FC = nn.NewLinear(channels[4], classes)
	return s
}

// Forward maps images [N, 3, H, W] to scores [N, classes].
func (s *ShuffleNetV2) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(s, x, s.forward) }

func (s *ShuffleNetV2) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, s.Conv1, s.MaxPool, s.Stage2, s.Stage3, s.Stage4, s.Conv5, spatialMean{}, s.FC)
}

// String describes the model, see [nn.String].
func (s *ShuffleNetV2) String() string { return nn.String(s) }

// shuffleBlock changes one half of the channels, or all of them where it has a stride, and shuffles the halves.
type shuffleBlock struct {
	Branch1 nn.Sequential
	Branch2 nn.Sequential

	stride int
}

func newShuffleBlock(in, out, stride int) *shuffleBlock {
	relu, half := nn.ReLU{InPlace: true}, out/2
	b := &shuffleBlock{Branch1: nn.Sequential{}, stride: stride}
	if stride > 1 {
		b.Branch1 = nn.Sequential{depthwise(in, 3, stride), nn.NewBatchNorm2d(in), conv(in, half, 1, 1), nn.NewBatchNorm2d(half), relu}
	} else {
		in = half
	}
	b.Branch2 = nn.Sequential{
		conv(in, half, 1, 1), nn.NewBatchNorm2d(half), relu,
		depthwise(half, 3, stride), nn.NewBatchNorm2d(half),
		conv(half, half, 1, 1), nn.NewBatchNorm2d(half), relu,
	}
	return b
}

// Forward maps [N, in, H, W] to [N, out, H/stride, W/stride].
func (b *shuffleBlock) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *shuffleBlock) forward(x torch.Tensor) torch.Tensor {
	if b.stride > 1 {
		return shuffled(join(b.Branch1.Forward(x), b.Branch2.Forward(x)))
	}
	halves := x.Chunk(2, 1)
	defer halves[1].Close()
	return shuffled(join(halves[0], b.Branch2.Forward(halves[1])))
}

// shuffled takes channels from both halves in turn. It closes x.
func shuffled(x torch.Tensor) torch.Tensor {
	defer x.Close()
	n, c, h, w := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	return torch.Scope1(func() torch.Tensor {
		return x.View(n, 2, c/2, h, w).Transpose(1, 2).Contiguous().View(n, c, h, w)
	})
}

// ReprName is torchvision's name.
func (b *shuffleBlock) ReprName() string { return "InvertedResidual" }
