package models

import (
	"fmt"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// DenseNetOptions are the rarer arguments of the DenseNets.
type DenseNetOptions struct {
	BNSize          int     // channels inside a dense layer, in multiples of those it adds; default 4
	DropRate        float64 // of the dropout behind every dense layer; default 0
	MemoryEfficient bool    // compute the inside of dense layers again for the gradients, see [nn.Checkpoint]
}

// DenseNet gives each layer the results of all those before it in its block (Huang et al. 2016).
type DenseNet struct {
	Features   nn.NamedSequential
	Classifier *nn.Linear
}

// DenseNet121 is DenseNet-121: 8.0 million parameters with 1000 classes.
func DenseNet121(classes int, opts ...DenseNetOptions) *DenseNet {
	return newDenseNet(32, 64, [4]int{6, 12, 24, 16}, classes, option.One(opts))
}

// DenseNet161 is DenseNet-161: 28.7 million parameters with 1000 classes.
func DenseNet161(classes int, opts ...DenseNetOptions) *DenseNet {
	return newDenseNet(48, 96, [4]int{6, 12, 36, 24}, classes, option.One(opts))
}

// DenseNet169 is DenseNet-169: 14.1 million parameters with 1000 classes.
func DenseNet169(classes int, opts ...DenseNetOptions) *DenseNet {
	return newDenseNet(32, 64, [4]int{6, 12, 32, 32}, classes, option.One(opts))
}

// DenseNet201 is DenseNet-201: 20.0 million parameters with 1000 classes.
func DenseNet201(classes int, opts ...DenseNetOptions) *DenseNet {
	return newDenseNet(32, 64, [4]int{6, 12, 48, 32}, classes, option.One(opts))
}

// newDenseNet makes a network whose dense layers add that many channels each.
func newDenseNet(growth, stem int, blocks [4]int, classes int, o DenseNetOptions) *DenseNet {
	d := &DenseNet{}
	add := func(name string, layer nn.Layer) {
		d.Features = append(d.Features, nn.Named[nn.Layer]{Name: name, Module: layer})
	}
	add("conv0", conv(3, stem, 7, 2))
	add("norm0", nn.NewBatchNorm2d(stem))
	add("relu0", nn.ReLU{InPlace: true})
	add("pool0", nn.NewMaxPool2d(3, nn.MaxPoolOptions{Stride: 2, Padding: 1}))
	channels := stem
	for i, layers := range blocks {
		var block denseBlock
		for n := range layers {
			block = append(block, nn.Named[*denseLayer]{Name: fmt.Sprint("denselayer", n+1), Module: newDenseLayer(channels, growth, o)})
			channels += growth
		}
		add(fmt.Sprint("denseblock", i+1), block)
		if i < len(blocks)-1 {
			add(fmt.Sprint("transition", i+1), newTransition(channels))
			channels /= 2
		}
	}
	add("norm5", nn.NewBatchNorm2d(channels))
	d.Classifier = nn.NewLinear(channels, classes)
	draw(d, func(c *nn.Conv2d) { nninit.KaimingNormal(c.Weight) }, func(l *nn.Linear) { nninit.Zeros(l.Bias) })
	return d
}

// Forward maps images [N, 3, H, W], of 29x29 at least, to scores [N, classes].
func (d *DenseNet) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(d, x, d.forward) }

func (d *DenseNet) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, d.Features, nn.ReLU{InPlace: true}, nn.NewAdaptiveAvgPool2d(1), nn.Flatten{}, d.Classifier)
}

// String describes the model, see [nn.String].
func (d *DenseNet) String() string { return nn.String(d) }

// denseBlock is a row of layers, each of which sees the results of all those before it.
type denseBlock []nn.Named[*denseLayer]

// Forward maps [N, in, H, W] to [N, in+layers*growth, H, W].
func (b denseBlock) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b denseBlock) forward(x torch.Tensor) torch.Tensor {
	features := []torch.Tensor{x}
	defer func() { torch.Close(features[1:]...) }()
	for _, layer := range b {
		features = append(features, layer.Module.Forward(features...))
	}
	return torch.Cat(features, 1)
}

// ReprName is torchvision's name.
func (b denseBlock) ReprName() string { return "_DenseBlock" }

// denseLayer adds channels to those that there are.
type denseLayer struct {
	Norm1 *nn.BatchNorm2d
	ReLU1 nn.ReLU `torch:"relu1"`
	Conv1 *nn.Conv2d
	Norm2 *nn.BatchNorm2d
	ReLU2 nn.ReLU `torch:"relu2"`
	Conv2 *nn.Conv2d
	Mode  nn.Mode

	dropRate float64
	thrifty  bool // computes its first half again for the gradients
}

func newDenseLayer(in, growth int, o DenseNetOptions) *denseLayer {
	inside := growth * 4
	if o.BNSize != 0 {
		inside = growth * o.BNSize
	}
	return &denseLayer{
		Norm1: nn.NewBatchNorm2d(in), ReLU1: nn.ReLU{InPlace: true}, Conv1: conv(in, inside, 1, 1),
		Norm2: nn.NewBatchNorm2d(inside), ReLU2: nn.ReLU{InPlace: true}, Conv2: conv(inside, growth, 3, 1),
		dropRate: o.DropRate, thrifty: o.MemoryEfficient,
	}
}

// Forward maps all channels so far to the new ones.
func (l *denseLayer) Forward(features ...torch.Tensor) (added torch.Tensor) {
	inputs := make([]*torch.Tensor, len(features))
	given := append([]torch.Tensor(nil), features...)
	for i := range given {
		inputs[i] = &given[i]
	}
	nn.HookedAll(l, inputs, []*torch.Tensor{&added}, func() { added = l.forward(given) })
	return added
}

func (l *denseLayer) forward(features []torch.Tensor) torch.Tensor {
	var x torch.Tensor
	if l.thrifty && torch.IsGradEnabled() && anyRequiresGrad(features) {
		x = nn.Checkpoint(l.bottleneck, features...)
	} else {
		x = l.bottleneck(features...)
	}
	defer x.Close()
	y := nn.Chain(x, l.Norm2, l.ReLU2, l.Conv2)
	if l.dropRate > 0 {
		defer y.Close()
		return F.Dropout(y, l.dropRate, l.Mode.Training())
	}
	return y
}

// bottleneck narrows all channels so far to a few.
func (l *denseLayer) bottleneck(features ...torch.Tensor) torch.Tensor {
	x := torch.Cat(features, 1)
	defer x.Close()
	return nn.Chain(x, l.Norm1, l.ReLU1, l.Conv1)
}

func anyRequiresGrad(list []torch.Tensor) bool {
	for _, t := range list {
		if t.RequiresGrad() {
			return true
		}
	}
	return false
}

// ReprName is torchvision's name.
func (l *denseLayer) ReprName() string { return "_DenseLayer" }

// transition halves channels, height and width.
type transition struct {
	Norm *nn.BatchNorm2d
	ReLU nn.ReLU `torch:"relu"`
	Conv *nn.Conv2d
	Pool *nn.AvgPool2d
}

func newTransition(channels int) *transition {
	return &transition{
		Norm: nn.NewBatchNorm2d(channels), ReLU: nn.ReLU{InPlace: true}, Conv: conv(channels, channels/2, 1, 1), Pool: nn.NewAvgPool2d(2),
	}
}

// Forward maps [N, C, H, W] to [N, C/2, H/2, W/2].
func (t *transition) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(t, x, func(x torch.Tensor) torch.Tensor { return nn.Chain(x, t.Norm, t.ReLU, t.Conv, t.Pool) })
}

// ReprName is torchvision's name.
func (t *transition) ReprName() string { return "_Transition" }
