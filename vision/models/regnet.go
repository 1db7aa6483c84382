package models

import (
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/vision/ops"
)

// RegNetOptions are the rarer arguments of the RegNets.
type RegNetOptions struct {
	StemWidth int                         // channels behind the first convolution; default 32
	NormLayer func(channels int) nn.Layer // default: batch norms
}

// RegNet is a network from the design space of Radosavovic et al. 2020: the widths of its blocks grow by a line
// that few numbers describe. Y has squeeze and excitation, X has not.
type RegNet struct {
	Stem        ops.Conv2dNormActivation
	TrunkOutput nn.NamedSequential
	AvgPool     *nn.AdaptiveAvgPool2d `torch:"avgpool"`
	FC          *nn.Linear
}

// regLine describes a RegNet: as many blocks as depth, whose widths are the nearest of w0*wm^k to w0+wa*i, in
// groups of that width.
type regLine struct {
	depth, w0  int
	wa, wm     float64
	group      int
	excitation bool
}

// RegNetY400MF is RegNetY of 0.4 GFLOPs: 4.3 million parameters with 1000 classes.
func RegNetY400MF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{16, 48, 27.89, 2.09, 8, true}, classes, option.One(opts))
}

// RegNetY800MF is RegNetY of 0.8 GFLOPs: 6.4 million parameters with 1000 classes.
func RegNetY800MF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{14, 56, 38.84, 2.4, 16, true}, classes, option.One(opts))
}

// RegNetY1_6GF is RegNetY of 1.6 GFLOPs: 11.2 million parameters with 1000 classes.
func RegNetY1_6GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{27, 48, 20.71, 2.65, 24, true}, classes, option.One(opts))
}

// RegNetY3_2GF is RegNetY of 3.2 GFLOPs: 19.4 million parameters with 1000 classes.
func RegNetY3_2GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{21, 80, 42.63, 2.66, 24, true}, classes, option.One(opts))
}

// RegNetY8GF is RegNetY of 8 GFLOPs: 39.4 million parameters with 1000 classes.
func RegNetY8GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{17, 192, 76.82, 2.19, 56, true}, classes, option.One(opts))
}

// RegNetY16GF is RegNetY of 16 GFLOPs: 83.6 million parameters with 1000 classes.
func RegNetY16GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{18, 200, 106.23, 2.48, 112, true}, classes, option.One(opts))
}

// RegNetY32GF is RegNetY of 32 GFLOPs: 145.0 million parameters with 1000 classes.
func RegNetY32GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{20, 232, 115.89, 2.53, 232, true}, classes, option.One(opts))
}

// RegNetY128GF is RegNetY of 128 GFLOPs: 644.8 million parameters with 1000 classes.
func RegNetY128GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{27, 456, 160.83, 2.52, 264, true}, classes, option.One(opts))
}

// RegNetX400MF is RegNetX of 0.4 GFLOPs: 5.5 million parameters with 1000 classes.
func RegNetX400MF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{22, 24, 24.48, 2.54, 16, false}, classes, option.One(opts))
}

// RegNetX800MF is RegNetX of 0.8 GFLOPs: 7.3 million parameters with 1000 classes.
func RegNetX800MF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{16, 56, 35.73, 2.28, 16, false}, classes, option.One(opts))
}

// RegNetX1_6GF is RegNetX of 1.6 GFLOPs: 9.2 million parameters with 1000 classes.
func RegNetX1_6GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{18, 80, 34.01, 2.25, 24, false}, classes, option.One(opts))
}

// RegNetX3_2GF is RegNetX of 3.2 GFLOPs: 15.3 million parameters with 1000 classes.
func RegNetX3_2GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{25, 88, 26.31, 2.25, 48, false}, classes, option.One(opts))
}

// RegNetX8GF is RegNetX of 8 GFLOPs: 39.6 million parameters with 1000 classes.
func RegNetX8GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{23, 80, 49.56, 2.88, 120, false}, classes, option.One(opts))
}

// RegNetX16GF is RegNetX of 16 GFLOPs: 54.3 million parameters with 1000 classes.
func RegNetX16GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{22, 216, 55.59, 2.1, 128, false}, classes, option.One(opts))
}

// RegNetX32GF is RegNetX of 32 GFLOPs: 107.8 million parameters with 1000 classes.
func RegNetX32GF(classes int, opts ...RegNetOptions) *RegNet {
	return newRegNet(regLine{23, 320, 69.86, 2, 168, false}, classes, option.One(opts))
}

// regStage is a run of blocks of one width, in groups.
type regStage struct{ width, depth, group int }

// stages are the runs of blocks that the line makes.
func (l regLine) stages() (list []regStage) {
	for i := range l.depth {
		capacity := math.RoundToEven(math.Log((l.wa*float64(i)+float64(l.w0))/float64(l.w0)) / math.Log(l.wm))
		width := int(math.RoundToEven(float64(l.w0)*math.Pow(l.wm, capacity)/8)) * 8
		if n := len(list); n > 0 && list[n-1].width == width {
			list[n-1].depth++
		} else {
			list = append(list, regStage{width, 1, l.group})
		}
	}
	for i := range list {
		s := &list[i]
		s.group = min(s.group, s.width)
		s.width = divisible(float64(s.width), s.group)
	}
	return list
}

func newRegNet(line regLine, classes int, o RegNetOptions) *RegNet {
	norm, in := normOr(o.NormLayer, nn.BatchNormOptions{}), 32
	if o.StemWidth != 0 {
		in = o.StemWidth
	}
	r := &RegNet{Stem: ops.NewConv2dNormActivation(3, in, ops.Conv2dNormActivationOptions{Stride: 2, NormLayer: norm})}
	for i, s := range line.stages() {
		var stage anyStage
		for n := range s.depth {
			stride := 1
			if n == 0 {
				stride = 2
			}
			stage.Blocks = append(stage.Blocks, nn.Named[nn.Layer]{
				Name: fmt.Sprintf("block%d-%d", i+1, n), Module: newRegBlock(in, s.width, stride, s.group, line.excitation, norm)})
			in = s.width
		}
		r.TrunkOutput = append(r.TrunkOutput, nn.Named[nn.Layer]{Name: fmt.Sprint("block", i+1), Module: stage})
	}
	r.AvgPool, r.FC = nn.NewAdaptiveAvgPool2d(1), nn.NewLinear(in, classes)
	draw(r, func(c *nn.Conv2d) {
		fanOut := c.Weight.Size(2) * c.Weight.Size(3) * c.Weight.Size(0)
		nninit.Normal(c.Weight, 0, math.Sqrt(2/float64(fanOut)))
	}, normalLinear(0.01))
	return r
}

// Forward maps images [N, 3, H, W] to scores [N, classes].
func (r *RegNet) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(r, x, r.forward) }

func (r *RegNet) forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, r.Stem, r.TrunkOutput, r.AvgPool, nn.Flatten{}, r.FC)
}

// String describes the model, see [nn.String].
func (r *RegNet) String() string { return nn.String(r) }

// anyStage is a run of blocks.
type anyStage struct {
	Blocks nn.NamedSequential `torch:",inline"`
}

// Forward maps [N, in, H, W] to [N, out, H/2, W/2].
func (s anyStage) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(s, x, s.Blocks.Forward) }

// ReprName is torchvision's name.
func (s anyStage) ReprName() string { return "AnyStage" }

// regBlock is a bottleneck with a convolution in groups, and a way around it.
type regBlock struct {
	Proj       nn.Layer // nil where the sizes fit
	F          *regBottleneck
	Activation nn.ReLU
}

// regBottleneck is what a regBlock adds.
type regBottleneck struct {
	A, B ops.Conv2dNormActivation
	SE   *ops.SqueezeExcitation // nil in an X
	C    ops.Conv2dNormActivation
}

func newRegBlock(in, out, stride, group int, excitation bool, norm norms) *regBlock {
	b := &regBlock{Activation: nn.ReLU{InPlace: true}}
	if in != out || stride != 1 {
		b.Proj = ops.NewConv2dNormActivation(in, out,
			ops.Conv2dNormActivationOptions{KernelSize: 1, Stride: stride, NormLayer: norm, NoActivation: true})
	}
	b.F = &regBottleneck{
		A: ops.NewConv2dNormActivation(in, out, ops.Conv2dNormActivationOptions{KernelSize: 1, NormLayer: norm}),
		B: ops.NewConv2dNormActivation(out, out, ops.Conv2dNormActivationOptions{Stride: stride, Groups: out / group, NormLayer: norm}),
	}
	if excitation {
		b.F.SE = ops.NewSqueezeExcitation(out, int(math.RoundToEven(0.25*float64(in))))
	}
	b.F.C = ops.NewConv2dNormActivation(out, out, ops.Conv2dNormActivationOptions{KernelSize: 1, NormLayer: norm, NoActivation: true})
	return b
}

// Forward maps [N, in, H, W] to [N, out, H/stride, W/stride].
func (b *regBlock) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(b, x, b.forward) }

func (b *regBlock) forward(x torch.Tensor) torch.Tensor {
	around := x
	if b.Proj != nil {
		around = b.Proj.Forward(x)
		defer around.Close()
	}
	y := b.F.Forward(x)
	defer y.Close()
	return b.Activation.Forward(around.Add(y))
}

// ReprName is torchvision's name.
func (b *regBlock) ReprName() string { return "ResBottleneckBlock" }

// Forward maps [N, in, H, W] to [N, out, H/stride, W/stride].
func (f *regBottleneck) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(f, x, f.forward) }

func (f *regBottleneck) forward(x torch.Tensor) torch.Tensor {
	if f.SE == nil {
		return nn.Chain(x, f.A, f.B, f.C)
	}
	return nn.Chain(x, f.A, f.B, f.SE, f.C)
}

// ReprName is torchvision's name.
func (f *regBottleneck) ReprName() string { return "BottleneckTransform" }
