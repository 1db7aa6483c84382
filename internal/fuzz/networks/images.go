package networks

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// nonlinear are what follows upon layers.
var nonlinear = []struct {
	name string
	fn   func(torch.Tensor) torch.Tensor
}{
	{"relu", torch.Tensor.ReLU}, {"relu", torch.Tensor.ReLU}, {"relu", torch.Tensor.ReLU}, {"relu6", F.ReLU6},
	{"hardswish", F.Hardswish}, {"hardsigmoid", F.Hardsigmoid}, {"silu", F.SiLU}, {"sigmoid", torch.Tensor.Sigmoid},
	{"gelu", func(x torch.Tensor) torch.Tensor { return F.GELU(x) }},
	{"gelu tanh", func(x torch.Tensor) torch.Tensor { return F.GELU(x, F.GELUOptions{Approximate: "tanh"}) }},
	{"tanh", torch.Tensor.Tanh}, {"leaky", func(x torch.Tensor) torch.Tensor { return F.LeakyReLU(x) }}, {"mish", F.Mish},
	{"clamp", func(x torch.Tensor) torch.Tensor { return x.ClampMin(0.0).ClampMax(6.0) }},
	{"x * sigmoid", func(x torch.Tensor) torch.Tensor { return x.Mul(x.Sigmoid()) }},
	{"softplus", func(x torch.Tensor) torch.Tensor { return F.Softplus(x) }}, {"elu", func(x torch.Tensor) torch.Tensor { return F.ELU(x) }},
}

func activate(n *Network) {
	a := one(n, nonlinear...)
	n.on(a.fn, "%s", a.name)
}

// width is a number of channels: one that networks have, or that fills no vector.
func width(n *Network) int {
	return one(n, 1, 3, 5, 8, 16, 16, 24, 32, 32, 33, 40, 48, 64, 64, 72, 96, 128)
}

// convolves adds a convolution of any number of dimensions, with a norm and an activation behind it where chance has it so.
func convolves(n *Network) {
	shape := n.shape()
	in, out, dims := shape[1], width(n), len(shape)-2
	o := F.ConvOptions{Groups: 1}
	switch {
	case n.chance(4):
		o.Groups, out = in, in*one(n, 1, 1, 1, 2)
	case in%2 == 0 && n.chance(8):
		o.Groups = one(n, 2, in/2)
		out = max(1, out/o.Groups) * o.Groups
	}
	kernel, stride, padding, dilation := make([]int, dims), make([]int, dims), make([]int, dims), make([]int, dims)
	k, step, apart := one(n, 1, 1, 1, 2, 3, 3, 3, 3, 5, 7), one(n, 1, 1, 1, 2, 2, 3), one(n, 1, 1, 1, 1, 2, 3)
	for i := range dims {
		if kernel[i] = k; n.chance(8) {
			kernel[i] = 1 + n.rand.IntN(4)
		}
		if stride[i] = step; n.chance(12) {
			stride[i] = 1 + n.rand.IntN(3)
		}
		dilation[i] = apart
		if padding[i] = dilation[i] * (kernel[i] - 1) / 2; n.chance(6) {
			padding[i] = n.rand.IntN(kernel[i] + 1)
		}
	}
	o.Stride, o.Padding, o.Dilation = stride, padding, dilation
	sum := in / o.Groups
	for _, k := range kernel {
		sum *= k
	}
	if sum*out > 1<<18 {
		return
	}
	w, bias := n.weight(sum, append([]int{out, in / o.Groups}, kernel...)...), torch.Tensor{}
	if n.chance(2) {
		bias = torch.RandN(out)
	}
	fn := []func(x, w, b torch.Tensor, o ...F.ConvOptions) torch.Tensor{F.Conv1d, F.Conv2d, F.Conv3d}[dims-1]
	ok := n.on(func(x torch.Tensor) torch.Tensor { return fn(x, like(w, x), like(bias, x), o) },
		"convolution %d -> %d, kernel %v, stride %v, padding %v, dilation %v, groups %d, bias %v",
		in, out, kernel, stride, padding, dilation, o.Groups, bias.Defined())
	if ok && n.chance(3) {
		batchNorm(n)
	}
	if ok && n.chance(3) {
		adds(n)
	}
	if ok && !n.chance(3) {
		activate(n)
	}
}

func batchNorm(n *Network) {
	c := n.shape()[1]
	mean, variance, w, bias := torch.RandN(c).MulScalar(0.3), torch.Rand(c).AddScalar(0.5), torch.Rand(c).AddScalar(0.5), torch.RandN(c)
	n.on(func(x torch.Tensor) torch.Tensor {
		return F.BatchNorm(x, F.BatchNormOptions{
			RunningMean: like(mean, x), RunningVar: like(variance, x), Weight: like(w, x), Bias: like(bias, x)})
	}, "batch norm of %d", c)
}

// adds adds an earlier value of the same sizes, takes half of it away, or multiplies by its sigmoid.
func adds(n *Network) {
	k, ok := n.alike(-1)
	if !ok {
		return
	}
	reads := []int{n.last(), k}
	if n.chance(2) {
		slices.Reverse(reads)
	}
	switch {
	case n.chance(5):
		n.step(reads, func(in ...torch.Tensor) torch.Tensor { return in[0].Mul(in[1].Sigmoid()) }, "times the sigmoid")
	case n.chance(5):
		n.step(reads, func(in ...torch.Tensor) torch.Tensor { return in[0].Sub(in[1].MulScalar(0.5)) }, "less the half")
	default:
		n.step(reads, func(in ...torch.Tensor) torch.Tensor { return in[0].Add(in[1]) }, "sum")
	}
}

// joins puts an earlier value beside the last one.
func joins(n *Network) {
	if k, ok := n.alike(1); ok {
		n.step([]int{n.last(), k}, func(in ...torch.Tensor) torch.Tensor { return torch.Cat(in, 1) }, "joined")
	}
}

// writes has what is new written over, whole and in part, by what lies beside it, in ways that gradients know.
func writes(n *Network) {
	c := n.shape()[1]
	from, half := n.rand.IntN(c), n.chance(2)
	fn := one(n, torch.Tensor.NegInPlace, torch.Tensor.SinInPlace, func(x torch.Tensor) torch.Tensor { return x.MulScalarInPlace(0.5) })
	n.on(func(x torch.Tensor) torch.Tensor {
		y := x.MulScalar(0.75)
		part := fn(y.Narrow(1, from, c-from))
		if half {
			part.Narrow(1, 0, 1).AddInPlace(x.Narrow(1, c-1, 1))
		}
		return y.AddInPlace(x)
	}, "written over from %d on, another time %v", from, half)
}

// branches computes halves of the channels apart, one of them by convolutions, and joins them.
func branches(n *Network) {
	c := n.shape()[1]
	if c%2 != 0 {
		return
	}
	half, far := c/2, n.chance(2)
	w, each := n.weight(half, half, half, 1, 1), n.weight(9, half, 1, 3, 3)
	n.on(func(x torch.Tensor) torch.Tensor {
		parts := x.Chunk(2, 1)
		y := F.Conv2d(parts[1], like(w, x), torch.Tensor{}).ReLU()
		y = F.Conv2d(y, like(each, x), torch.Tensor{}, F.ConvOptions{Groups: half, Padding: 1})
		if far {
			return F.ChannelShuffle(torch.Cat([]torch.Tensor{parts[0], y}, 1), 2)
		}
		return torch.Cat([]torch.Tensor{y, parts[0]}, 1)
	}, "branches of %d channels, shuffled %v", half, far)
}

// returns goes on from an earlier value.
func returns(n *Network) {
	k := n.rand.IntN(n.last() + 1)
	n.step([]int{k}, func(in ...torch.Tensor) torch.Tensor { return in[0].MulScalar(1.25) }, "more of an earlier one")
}

func poolsImages(n *Network) {
	k, step, pad := one(n, 2, 2, 3, 3, 5), one(n, 1, 2, 2), n.rand.IntN(2)
	switch n.rand.IntN(4) {
	case 0:
		n.on(func(x torch.Tensor) torch.Tensor {
			return F.AvgPool2d(x, k, F.AvgPoolOptions{Stride: step, Padding: pad, CountExcludePad: k == 3})
		}, "mean of %d, stride %d, padding %d", k, step, pad)
	case 1:
		size := one(n, 1, 2, 3)
		n.on(func(x torch.Tensor) torch.Tensor { return F.AdaptiveAvgPool2d(x, size) }, "means to %d", size)
	default:
		ceil := n.chance(3)
		n.on(func(x torch.Tensor) torch.Tensor {
			return F.MaxPool2d(x, k, F.MaxPoolOptions{Stride: step, Padding: pad, CeilMode: ceil})
		}, "greatest of %d, stride %d, padding %d, up: %v", k, step, pad, ceil)
	}
}

// weighs multiplies channels by numbers that are made of their means.
func weighs(n *Network) {
	c := n.shape()[1]
	mid, hard := max(1, c/4), n.chance(2)
	w1, w2, bias := n.weight(c, mid, c, 1, 1), n.weight(mid, c, mid, 1, 1), torch.RandN(c)
	n.on(func(x torch.Tensor) torch.Tensor {
		h := F.Conv2d(F.AdaptiveAvgPool2d(x, 1), like(w1, x), torch.Tensor{}).ReLU()
		if h = F.Conv2d(h, like(w2, x), like(bias, x)); hard {
			return x.Mul(F.Hardsigmoid(h))
		}
		return x.Mul(h.Sigmoid())
	}, "channels weighed, hard: %v", hard)
}

func normsGroups(n *Network) {
	c := n.shape()[1]
	groups := one(n, 1, 2, 4, c)
	w, bias := torch.RandN(c), torch.RandN(c)
	if n.chance(3) {
		w, bias = torch.Tensor{}, torch.Tensor{}
	}
	n.on(func(x torch.Tensor) torch.Tensor {
		return F.GroupNorm(x, groups, F.GroupNormOptions{Weight: like(w, x), Bias: like(bias, x)})
	}, "group norm, %d groups of %d", groups, c)
}

// rowsOfPixels computes a layer norm and two linear layers of each pixel's channels.
func rowsOfPixels(n *Network) {
	c := n.shape()[1]
	wide := 2 * c
	w1, b1, w2, scale := n.weight(c, wide, c), torch.RandN(wide), n.weight(wide, c, wide), torch.Rand(c)
	n.on(func(x torch.Tensor) torch.Tensor {
		h := F.LayerNorm(x.Permute(0, 2, 3, 1), c, F.LayerNormOptions{Weight: like(scale, x), Eps: new(1e-3)})
		h = F.Linear(F.GELU(F.Linear(h, like(w1, x), like(b1, x))), like(w2, x))
		return x.Add(h.Permute(0, 3, 1, 2))
	}, "block of ConvNeXt's of %d", c)
}

func resizes(n *Network) {
	shape := n.shape()
	c := shape[1]
	switch n.rand.IntN(6) {
	case 0:
		mode := one(n, "nearest", "bilinear")
		n.on(func(x torch.Tensor) torch.Tensor {
			return F.Interpolate(x, F.InterpolateOptions{ScaleFactor: 2, Mode: mode})
		}, "twice as large, %s", mode)
	case 1:
		w, out, step := torch.Tensor{}, one(n, 4, 16, 24), one(n, 1, 2)
		w = n.weight(c, c, out, 2, 2)
		n.on(func(x torch.Tensor) torch.Tensor {
			return F.ConvTranspose2d(x, like(w, x), torch.Tensor{}, F.ConvTransposeOptions{Stride: step})
		}, "transposed convolution %d -> %d, stride %d", c, out, step)
	case 2:
		n.on(func(x torch.Tensor) torch.Tensor { return F.PixelShuffle(x, 2) }, "pixel shuffle")
	case 3:
		n.on(func(x torch.Tensor) torch.Tensor { return F.ChannelShuffle(x, 2) }, "channel shuffle")
	default:
		last := 1 + n.rand.IntN(c)
		n.on(func(x torch.Tensor) torch.Tensor { return x.Narrow(1, c-last, last) }, "the last %d channels", last)
	}
}

func patched(n *Network) {
	pad := []int{n.rand.IntN(3), n.rand.IntN(3), n.rand.IntN(3), n.rand.IntN(3)}
	mode := one(n, "constant", "reflect", "replicate", "circular")
	n.on(func(x torch.Tensor) torch.Tensor { return F.Pad(x, pad, F.PadOptions{Mode: mode}) }, "padding %v, %s", pad, mode)
}

// ofAnySize are steps of images of any size, and all of them.
var (
	ofAnySize = []func(*Network){convolves, convolves, convolves, convolves, convolves, convolves, adds, joins, returns, poolsImages, weighs,
		normsGroups, rowsOfPixels, resizes, activate, patched, writes, branches}
	ofImages = slices.Concat(ofAnySize, []func(*Network){moves, mixes, mixes})
)

// images draws a network of images, which may end in rows.
func images(n *Network) {
	side := one(n, 1, 2, 3, 4, 5, 7, 8, 9, 12, 14, 16, 17, 28, 33)
	if n.most > 1<<17 {
		side = one(n, 56, 65, 96)
	}
	wide := side
	if n.chance(4) {
		wide = 1 + n.rand.IntN(20)
	}
	steps := ofImages
	if n.Sides = n.chance(4); n.Sides {
		steps = ofAnySize
	}
	n.values = []torch.Tensor{torch.RandN(one(n, 1, 1, 1, 2, 3, 5), one(n, 1, 3, 3, 4, 16, 32, 64, width(n)), side, wide)}
	for range 2 + n.rand.IntN(9) {
		one(n, steps...)(n)
	}
	switch {
	case n.chance(3):
		n.on(func(x torch.Tensor) torch.Tensor { return x.Mean(2, 3) }, "means of channels")
		rows(n)
	case n.Sides:
	case n.chance(3):
		n.on(func(x torch.Tensor) torch.Tensor { return x.Flatten(1) }, "flat")
		rows(n)
	case n.chance(4):
		n.on(func(x torch.Tensor) torch.Tensor { return x.Flatten(2).Transpose(1, 2) }, "as a sequence")
		sequence(n)
	}
}

// signals draws a network of signals.
func signals(n *Network) {
	n.values = []torch.Tensor{torch.RandN(one(n, 1, 1, 2, 3), one(n, 1, 2, 16, width(n)), one(n, 1, 3, 8, 17, 50, 100))}
	for range 2 + n.rand.IntN(6) {
		one(n, convolves, convolves, convolves, convolves, adds, joins, returns, normsGroups, activate, poolsSignals, moves, mixes)(n)
	}
	if n.chance(2) {
		n.on(func(x torch.Tensor) torch.Tensor { return x.Transpose(1, 2) }, "as a sequence")
		sequence(n)
	}
}

func poolsSignals(n *Network) {
	k := 2 + n.rand.IntN(2)
	if n.chance(2) {
		n.on(func(x torch.Tensor) torch.Tensor { return F.MaxPool1d(x, k) }, "greatest of %d", k)
		return
	}
	n.on(func(x torch.Tensor) torch.Tensor { return F.AvgPool1d(x, k) }, "mean of %d", k)
}

// volumes draws a network of volumes.
func volumes(n *Network) {
	side := one(n, 1, 2, 4, 6, 8)
	n.values = []torch.Tensor{torch.RandN(one(n, 1, 2), one(n, 1, 3, 8, 16), side, one(n, side, 5), side)}
	for range 2 + n.rand.IntN(4) {
		one(n, convolves, convolves, convolves, adds, joins, returns, normsGroups, activate, moves, mixes)(n)
	}
	if n.chance(2) {
		n.on(func(x torch.Tensor) torch.Tensor { return x.Mean(2, 3, 4) }, "means of channels")
		rows(n)
	}
}
