package networks

import (
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// smooth are functions of a number, in operators that a compiler may join.
var smooth = []struct {
	name string
	fn   func(torch.Tensor) torch.Tensor
}{
	{"log(1 + x²)", func(x torch.Tensor) torch.Tensor { return x.Square().AddScalar(1).Log() }},
	{"√(|x| + 1)", func(x torch.Tensor) torch.Tensor { return x.Abs().AddScalar(1).Sqrt() }},
	{"exp(-|x|)", func(x torch.Tensor) torch.Tensor { return x.Abs().Neg().Exp() }},
	{"1 / (1 + x²)", func(x torch.Tensor) torch.Tensor { return x.Mul(x).AddScalar(1).Reciprocal() }},
	{"x / √(1 + x²)", func(x torch.Tensor) torch.Tensor { return x.Div(x.PowScalar(2).AddScalar(1).Sqrt()) }},
	{"erf", torch.Tensor.Erf}, {"sin", torch.Tensor.Sin}, {"softsign", F.Softsign}, {"x - tanh", F.Tanhshrink}, {"selu", F.SELU},
	{"log sigmoid", F.LogSigmoid}, {"|x|", torch.Tensor.Abs},
	{"1 - x / 3", func(x torch.Tensor) torch.Tensor {
		return torch.Call("aten::rsub.Scalar", x.DivScalar(3), 1)[0].(torch.Tensor)
	}},
}

// mixes computes with the numbers of the last value, with an earlier one, with constants, or along a dimension.
func mixes(n *Network) {
	switch n.rand.IntN(6) {
	case 0, 1:
		f := one(n, smooth...)
		n.on(f.fn, "%s", f.name)
	case 2:
		meets(n)
	case 3:
		constants(n)
	default:
		along(n)
	}
}

// meets computes with an earlier value of the same sizes.
func meets(n *Network) {
	k, ok := n.alike(-1)
	if !ok {
		return
	}
	f := one(n, []struct {
		name string
		fn   func(x, y torch.Tensor) torch.Tensor
	}{
		{"larger", torch.Tensor.Maximum}, {"smaller", torch.Tensor.Minimum},
		{"sum of squares", func(x, y torch.Tensor) torch.Tensor { return x.Square().AddCMul(y, y).AddScalar(1).Sqrt() }},
		{"between", func(x, y torch.Tensor) torch.Tensor { return x.Lerp(y, y.Sigmoid()) }},
		{"quotient", func(x, y torch.Tensor) torch.Tensor { return x.Div(y.Abs().AddScalar(1)) }},
	}...)
	n.step([]int{n.last(), k}, func(in ...torch.Tensor) torch.Tensor { return f.fn(in[0], in[1]) }, "%s", f.name)
}

// constants computes with numbers that each place of a dimension has of its own.
func constants(n *Network) {
	shape := n.shape()
	d := 1 + n.rand.IntN(len(shape)-1)
	own := make([]int, len(shape)-d) // of what is behind the dimension, one each
	for i := range own {
		own[i] = 1
	}
	own[0] = shape[d]
	w := torch.RandN(own...)
	switch n.rand.IntN(4) {
	case 0:
		mask := w.GtScalar(0)
		n.on(func(x torch.Tensor) torch.Tensor { return x.MaskedFill(mask, 0.25) }, "some of dimension %d another number", d)
	case 1:
		mask := w.GtScalar(0)
		n.on(func(x torch.Tensor) torch.Tensor { return torch.Where(mask, x, x.MulScalar(-0.5)) }, "some of dimension %d other multiples", d)
	case 2:
		slope := torch.Rand(shape[1])
		n.on(func(x torch.Tensor) torch.Tensor { return F.PReLU(x, like(slope, x)) }, "slopes of dimension 1")
	default:
		n.on(func(x torch.Tensor) torch.Tensor { return x.Add(like(w, x)).Mul(like(w, x).Sigmoid()) }, "numbers of dimension %d", d)
	}
}

// along computes with all numbers of a dimension.
func along(n *Network) {
	shape := n.shape()
	d := 1 + n.rand.IntN(len(shape)-1)
	size := shape[d]
	if size == 1 {
		return // of which some make the same of all numbers, and norms noise of that
	}
	switch n.rand.IntN(7) {
	case 0:
		n.on(func(x torch.Tensor) torch.Tensor { return x.Sub(x.Mean(d).Unsqueeze(d)) }, "less the mean of dimension %d", d)
	case 1:
		n.on(func(x torch.Tensor) torch.Tensor { return x.Softmax(d).MulScalar(float64(size)) }, "softmax of dimension %d", d)
	case 2:
		n.on(func(x torch.Tensor) torch.Tensor { return x.Sub(x.AMax(d).Unsqueeze(d)).Exp() }, "less the greatest of dimension %d, exp", d)
	case 3:
		n.on(func(x torch.Tensor) torch.Tensor { return x.CumSum(d).MulScalar(1 / float64(size)) }, "sums so far of dimension %d", d)
	case 4:
		n.on(func(x torch.Tensor) torch.Tensor { return x.To(torch.Float32).LogSoftmax(d).To(x.DType()) },
			"log softmax of dimension %d in float32", d)
	case 5:
		n.on(func(x torch.Tensor) torch.Tensor {
			scale := x.To(torch.Float32).Square().Mean(d).Unsqueeze(d).AddScalar(0.1).Rsqrt()
			return x.Mul(scale.To(x.DType()))
		}, "rms norm of dimension %d in float32", d)
	default:
		n.on(func(x torch.Tensor) torch.Tensor {
			return x.Sum(d).Unsqueeze(d).ExpandAs(x).MulScalar(1 / float64(size)).Add(x)
		},
			"and the mean of dimension %d", d)
	}
}

// products multiplies the rows of a sequence by each other.
func products(n *Network) {
	if shape := n.shape(); shape[1] > longest {
		return
	}
	n.on(func(x torch.Tensor) torch.Tensor {
		return x.BMM(x.Transpose(1, 2)).MulScalar(1 / float64(x.Size(2)))
	}, "products of rows")
}
