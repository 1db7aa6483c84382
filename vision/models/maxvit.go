package models

import (
	"math"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/vision/ops"
)

// MaxVitOptions are the rarer arguments of [MaxVitT].
type MaxVitOptions struct {
	InputSize           [2]int                      // height and width of the images, multiples of 224; default 224, 224
	StochasticDepthProb *float64                    // of the last layer; default 0.2
	NormLayer           func(channels int) nn.Layer // behind convolutions; default: batch norms with eps 1e-3 and momentum 0.01
	SqueezeRatio        float64                     // of squeeze and excitation; default 0.25
	ExpansionRatio      float64                     // of the convolutions; default 4
	MLPRatio            int                         // of the perceptrons; default 4
	MLPDropout          float64                     // default 0
	AttentionDropout    float64                     // default 0
}

// MaxVit has in each of its layers convolutions, attention within windows, and attention over a grid that reaches
// all of the image (Tu et al. 2022).
type MaxVit struct {
	Stem       nn.Sequential
	Blocks     []maxVitBlock
	Classifier nn.Sequential
}

// maxVit are the sizes of a network.
type maxVit struct {
	stem, head, partition int
	widths, depth         [4]int
	drop                  float64
}

// MaxVitT is MaxViT-T: 30.9 million parameters with 1000 classes.
func MaxVitT(classes int, opts ...MaxVitOptions) *MaxVit {
	return newMaxVit(maxVit{64, 32, 7, [4]int{64, 128, 256, 512}, [4]int{2, 2, 5, 2}, 0.2}, classes, option.One(opts))
}

// defaults are the options with all that was left out.
func (o MaxVitOptions) defaults() MaxVitOptions {
	if o.InputSize == [2]int{} {
		o.InputSize = [2]int{224, 224}
	}
	o.NormLayer = normOr(o.NormLayer, nn.BatchNormOptions{Eps: new(1e-3), Momentum: new(0.01)})
	if o.SqueezeRatio == 0 {
		o.SqueezeRatio = 0.25
	}
	if o.ExpansionRatio == 0 {
		o.ExpansionRatio = 4
	}
	if o.MLPRatio == 0 {
		o.MLPRatio = 4
	}
	return o
}

func newMaxVit(s maxVit, classes int, o MaxVitOptions) *MaxVit {
	o = o.defaults()
	halved := func(size [2]int) [2]int { return [2]int{(size[0]-1)/2 + 1, (size[1]-1)/2 + 1} }
	size, in := halved(o.InputSize), s.stem
	m := &MaxVit{Stem: nn.Sequential{
		ops.NewConv2dNormActivation(3, in, ops.Conv2dNormActivationOptions{Stride: 2, NormLayer: o.NormLayer, Activation: nn.GELU{}}),
		ops.NewConv2dNormActivation(in, in, ops.Conv2dNormActivationOptions{NoNorm: true, NoActivation: true}),
	}}
	layers, n := s.depth[0]+s.depth[1]+s.depth[2]+s.depth[3], 0
	step := or(o.StochasticDepthProb, s.drop) / float64(layers-1)
	for i, width := range s.widths {
		size = halved(size)
		if size[0]%s.partition != 0 || size[1]%s.partition != 0 {
			torch.Throw("maxvit", torch.KindValue, "images of %dx%d leave %dx%d to block %d, which %d does not divide: expected multiples of 224",
				o.InputSize[0], o.InputSize[1], size[0], size[1], i, s.partition)
		}
		var block maxVitBlock
		for layer := range s.depth[i] {
			drop := float64(n) * step
			if n == layers-1 {
				drop = or(o.StochasticDepthProb, s.drop)
			}
			stride := 1
			if layer == 0 {
				stride = 2
			}
			block.Layers = append(block.Layers, newMaxVitLayer(in, width, stride, s.head, s.partition, size, drop, o))
			in = width
			n++
		}
		m.Blocks = append(m.Blocks, block)
	}
	m.Classifier = nn.Sequential{nn.NewAdaptiveAvgPool2d(1), nn.Flatten{}, nn.NewLayerNorm(in), nn.NewLinear(in, in), nn.Tanh{},
		nn.NewLinear(in, classes, nn.LinearOptions{NoBias: true})}
	draw(m, func(c *nn.Conv2d) {
		nninit.Normal(c.Weight, 0, 0.02)
		if c.Bias.Defined() {
			nninit.Zeros(c.Bias)
		}
	}, normalLinear(0.02))
	return m
}

// Forward maps images [N, 3, H, W] of InputSize to scores [N, classes].
func (m *MaxVit) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(m, x, m.forward) }

func (m *MaxVit) forward(x torch.Tensor) torch.Tensor {
	layers := []nn.Layer{m.Stem}
	for _, b := range m.Blocks {
		layers = append(layers, b)
	}
	return nn.Chain(x, append(layers, m.Classifier)...)
}

// String describes the model, see [nn.String].
func (m *MaxVit) String() string { return nn.String(m) }

// maxVitBlock is a row of layers of one width.
type maxVitBlock struct{ Layers []*maxVitLayer }

// Forward maps [N, in, H, W] to [N, out, H/2, W/2].
func (b maxVitBlock) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(b, x, func(x torch.Tensor) torch.Tensor {
		layers := make([]nn.Layer, len(b.Layers))
		for i, l := range b.Layers {
			layers[i] = l
		}
		return nn.Chain(x, layers...)
	})
}

// ReprName is torchvision's name.
func (b maxVitBlock) ReprName() string { return "MaxVitBlock" }

// maxVitLayer is convolution, attention near by and attention far off.
type maxVitLayer struct{ Layers nn.NamedSequential }

func newMaxVitLayer(in, out, stride, head, partition int, size [2]int, drop float64, o MaxVitOptions) *maxVitLayer {
	return &maxVitLayer{nn.NamedSequential{
		{Name: "MBconv", Module: newMaxVitConv(in, out, stride, drop, o)},
		{Name: "window_attention", Module: newPartitionAttention(out, head, partition, size, false, drop, o)},
		{Name: "grid_attention", Module: newPartitionAttention(out, head, partition, size, true, drop, o)},
	}}
}

// Forward maps [N, in, H, W] to [N, out, H/stride, W/stride].
func (l *maxVitLayer) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(l, x, l.Layers.Forward) }

// ReprName is torchvision's name.
func (l *maxVitLayer) ReprName() string { return "MaxVitLayer" }

// maxVitConv is an inverted bottleneck and a way around it.
type maxVitConv struct {
	Proj            nn.Layer
	StochasticDepth nn.Layer
	Layers          nn.NamedSequential
}

func newMaxVitConv(in, out, stride int, drop float64, o MaxVitOptions) *maxVitConv {
	c := &maxVitConv{Proj: nn.Identity{}, StochasticDepth: nn.Identity{}}
	switch {
	case stride == 2:
		c.Proj = nn.Sequential{nn.NewAvgPool2d(3, nn.AvgPoolOptions{Stride: 2, Padding: 1}), nn.NewConv2d(in, out, 1)}
	case in != out:
		c.Proj = nn.Sequential{nn.NewConv2d(in, out, 1)}
	}
	if drop != 0 {
		c.StochasticDepth = ops.NewStochasticDepth(drop, ops.DropRow)
	}
	wide, squeeze := int(float64(out)*o.ExpansionRatio), int(float64(out)*o.SqueezeRatio)
	c.Layers = nn.NamedSequential{
		{Name: "pre_norm", Module: o.NormLayer(in)},
		{Name: "conv_a", Module: ops.NewConv2dNormActivation(in, wide,
			ops.Conv2dNormActivationOptions{KernelSize: 1, NormLayer: o.NormLayer, Activation: nn.GELU{}})},
		{Name: "conv_b", Module: ops.NewConv2dNormActivation(wide, wide,
			ops.Conv2dNormActivationOptions{Stride: stride, Groups: wide, NormLayer: o.NormLayer, Activation: nn.GELU{}})},
		{Name: "squeeze_excitation", Module: ops.NewSqueezeExcitation(wide, squeeze, ops.SqueezeExcitationOptions{Activation: nn.SiLU{}})},
		{Name: "conv_c", Module: nn.NewConv2d(wide, out, 1)},
	}
	return c
}

// Forward maps [N, in, H, W] to [N, out, H/stride, W/stride].
func (c *maxVitConv) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(c, x, c.forward) }

func (c *maxVitConv) forward(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		around := c.Proj.Forward(x)
		return around.Add(nn.Chain(x, c.Layers, c.StochasticDepth))
	})
}

// ReprName is torchvision's name.
func (c *maxVitConv) ReprName() string { return "MBConv" }

// partitionAttention attends within parts of the image: windows, or grids over all of it.
type partitionAttention struct {
	AttnLayer         nn.Sequential
	MLPLayer          nn.Sequential
	StochasticDropout *ops.StochasticDepth

	grid bool
	side int // of a window, or the distance in a grid
	size [2]int
}

func newPartitionAttention(width, head, partition int, size [2]int, grid bool, drop float64, o MaxVitOptions) *partitionAttention {
	p := &partitionAttention{grid: grid, side: partition, size: size, StochasticDropout: ops.NewStochasticDepth(drop, ops.DropRow)}
	if grid {
		p.side = size[0] / partition
	}
	p.AttnLayer = nn.Sequential{nn.NewLayerNorm(width), newRelativeAttention(width, head, partition), nn.NewDropout(o.AttentionDropout)}
	p.MLPLayer = nn.Sequential{nn.NewLayerNorm(width), nn.NewLinear(width, width*o.MLPRatio), nn.GELU{},
		nn.NewLinear(width*o.MLPRatio, width), nn.NewDropout(o.MLPDropout)}
	return p
}

// Forward keeps the shape [N, C, H, W].
func (p *partitionAttention) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(p, x, p.forward) }

func (p *partitionAttention) forward(x torch.Tensor) torch.Tensor {
	n, c, h, w := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	if h != p.size[0] || w != p.size[1] {
		torch.Throw("maxvit", torch.KindValue,
			"expected features of %dx%d here, got %dx%d: MaxVitOptions.InputSize is for images of another size", p.size[0], p.size[1], h, w)
	}
	side := p.side
	rows, cols := h/side, w/side
	return torch.Scope1(func() torch.Tensor {
		x := x.Reshape(n, c, rows, side, cols, side).Permute(0, 2, 4, 3, 5, 1).Reshape(n, rows*cols, side*side, c)
		if p.grid {
			x = x.SwapAxes(-2, -3)
		}
		x = x.Add(nn.Chain(x, p.AttnLayer, p.StochasticDropout))
		x = x.Add(nn.Chain(x, p.MLPLayer, p.StochasticDropout))
		if p.grid {
			x = x.SwapAxes(-2, -3)
		}
		return x.Reshape(n, rows, cols, side, side, c).Permute(0, 5, 1, 3, 2, 4).Reshape(n, c, h, w)
	})
}

// ReprName is torchvision's name.
func (p *partitionAttention) ReprName() string { return "PartitionAttentionLayer" }

// relativeAttention attends within parts of as many places as a window of that side has, with a bias by the
// positions relative to each other.
type relativeAttention struct {
	RelativePositionBiasTable torch.Tensor // [(2w-1)², heads]
	RelativePositionIndex     torch.Tensor `torch:",buffer"` // [w², w²], places in the table
	ToQKV                     *nn.Linear   `torch:"to_qkv"`
	Merge                     *nn.Linear

	heads int
}

func newRelativeAttention(width, head, side int) *relativeAttention {
	a := &relativeAttention{heads: width / head, ToQKV: nn.NewLinear(width, 3*width), Merge: nn.NewLinear(width, width)}
	a.RelativePositionBiasTable = nn.NewParameter(torch.Empty((2*side-1)*(2*side-1), a.heads))
	torch.Scope(func() { a.RelativePositionIndex = nn.NewBuffer(relativeIndex(side).View(side*side, side*side)) })
	nninit.TruncNormal(a.RelativePositionBiasTable, 0, 0.02, -2, 2)
	return a
}

// Forward keeps the shape [N, parts, places, C].
func (a *relativeAttention) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(a, x, a.forward) }

func (a *relativeAttention) forward(x torch.Tensor) torch.Tensor {
	n, parts, places, c := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	return torch.Scope1(func() torch.Tensor {
		qkv := a.ToQKV.Forward(x).Chunk(3, -1)
		for i := range qkv {
			qkv[i] = qkv[i].Reshape(n, parts, places, a.heads, c/a.heads).Permute(0, 1, 3, 2, 4)
		}
		keys := qkv[1].MulScalar(math.Pow(float64(c), -0.5))
		scores := torch.Einsum("B G H I D, B G H J D -> B G H I J", qkv[0], keys)
		bias := a.RelativePositionBiasTable.Index(a.RelativePositionIndex.View(-1)).View(places, places, -1)
		bias = bias.Permute(2, 0, 1).Contiguous().Unsqueeze(0)
		weights := scores.Add(bias).Softmax(-1)
		y := torch.Einsum("B G H I J, B G H J D -> B G H I D", weights, qkv[2])
		return a.Merge.Forward(y.Permute(0, 1, 3, 2, 4).Reshape(n, parts, places, c))
	})
}

// ReprName is torchvision's name.
func (a *relativeAttention) ReprName() string { return "RelativePositionalMultiHeadAttention" }
