package nninit

import (
	"cmp"
	"math"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/linalg"
)

// Options are the rarer arguments of the random initialisers that have but one.
type Options struct {
	Generator *torch.Generator // source of random numbers; default: the device's own
}

// fill runs fn without recording and returns t.
func fill(t torch.Tensor, fn func()) torch.Tensor {
	torch.NoGrad(fn)
	return t
}

// draw is fill, but for a region of [Skip].
func draw(t torch.Tensor, fn func()) torch.Tensor {
	if skipping() {
		return t
	}
	return fill(t, fn)
}

// Uniform draws from the numbers between a and b.
func Uniform(t torch.Tensor, a, b float64, opts ...Options) torch.Tensor {
	o := option.One(opts)
	return draw(t, func() { t.UniformInPlace(a, b, torch.UniformOptions{Generator: o.Generator}) })
}

// Normal draws from the normal distribution.
func Normal(t torch.Tensor, mean, std float64, opts ...Options) torch.Tensor {
	o := option.One(opts)
	return draw(t, func() { t.NormalInPlace(mean, std, torch.NormalOptions{Generator: o.Generator}) })
}

// TruncNormal draws from the normal distribution, cut off below a and above b. It does so as
// PyTorch 2.11; later versions of it reject numbers out of bounds and draw others.
func TruncNormal(t torch.Tensor, mean, std, a, b float64, opts ...Options) torch.Tensor {
	o := option.One(opts)
	if mean < a-2*std || mean > b+2*std {
		torch.Warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.")
	}
	below := func(x float64) float64 { return (1 + math.Erf(x/math.Sqrt2)) / 2 }
	return draw(t, func() {
		low, high := below((a-mean)/std), below((b-mean)/std)
		t.UniformInPlace(2*low-1, 2*high-1, torch.UniformOptions{Generator: o.Generator})
		t.ErfinvInPlace()
		t.MulScalarInPlace(std * math.Sqrt2)
		t.AddScalarInPlace(mean)
		t.ClampInPlace(a, b)
	})
}

// Constant sets every element to v.
func Constant(t torch.Tensor, v float64) torch.Tensor {
	return fill(t, func() { t.FillInPlace(v) })
}

// Ones sets every element to 1.
func Ones(t torch.Tensor) torch.Tensor { return Constant(t, 1) }

// Zeros sets every element to 0.
func Zeros(t torch.Tensor) torch.Tensor {
	return fill(t, func() { t.ZeroInPlace() })
}

// Eye sets a matrix to the identity.
func Eye(t torch.Tensor) torch.Tensor {
	dims(t, "eye", 2, 2)
	return fill(t, func() {
		t.ZeroInPlace()
		diagonal := t.Diagonal()
		defer diagonal.Close()
		diagonal.FillInPlace(1)
	})
}

// DiracOptions are the optional arguments of [Dirac].
type DiracOptions struct {
	Groups int // parts of the channels, each with its own of the inputs; default 1
}

// Dirac sets the weight of a convolution [out, in/groups, k...] so that it passes its
// input on unchanged, as many channels as there are in both, in each of the groups.
func Dirac(t torch.Tensor, opts ...DiracOptions) torch.Tensor {
	groups := cmp.Or(option.One(opts).Groups, 1)
	dims(t, "dirac", 3, 5)
	shape := t.Shape()
	if groups <= 0 || shape[0]%groups != 0 {
		torch.Throw("dirac", torch.KindValue, "%d output channels cannot be divided into %d groups", shape[0], groups)
	}
	out := shape[0] / groups
	return fill(t, func() {
		torch.Scope(func() {
			t.ZeroInPlace()
			middle := t
			for d := len(shape) - 1; d >= 2; d-- {
				middle = middle.Select(d, shape[d]/2)
			}
			for g := 0; g < groups && out > 0; g++ {
				middle.Narrow(0, g*out, out).Diagonal().FillInPlace(1)
			}
		})
	})
}

// Orthogonal makes a matrix, or t seen as one of t.Size(0) rows, whose rows or columns are
// orthogonal and as long as the gain says.
func Orthogonal(t torch.Tensor, opts ...GainOptions) torch.Tensor {
	o := option.One(opts)
	dims(t, "orthogonal", 2, math.MaxInt)
	n := t.NumEl()
	if n == 0 {
		return t
	}
	rows := t.Size(0)
	cols := n / rows
	return draw(t, func() {
		torch.Scope(func() {
			flat := torch.TensorOptions{DType: t.DType(), Device: t.Device()}.Empty(rows, cols)
			flat.NormalInPlace(0, 1, torch.NormalOptions{Generator: o.Generator})
			if rows < cols {
				flat = flat.T()
			}
			q, r := linalg.QR(flat)
			q.MulInPlace(r.Diag().Sign())
			if rows < cols {
				q = q.T()
			}
			t.CopyInPlace(q.Reshape(t.Shape()...))
			t.MulScalarInPlace(o.gain())
		})
	})
}

// SparseOptions are the rarer arguments of [Sparse].
type SparseOptions struct {
	Std       *float64         // of the elements that are not zero; default 0.01
	Generator *torch.Generator // source of their values; default: the device's own
}

// Sparse draws a matrix from the normal distribution and sets that fraction of each column,
// rounded up, to zero (Martens, 2010). Which ones, the CPU's default generator says.
func Sparse(t torch.Tensor, sparsity float64, opts ...SparseOptions) torch.Tensor {
	v := option.One(opts)
	dims(t, "sparse", 2, 2)
	std := 0.01
	if v.Std != nil {
		std = *v.Std
	}
	rows, cols := t.Size(0), t.Size(1)
	zeros := int(math.Ceil(sparsity * float64(rows)))
	if !(zeros >= 0 && zeros <= rows) {
		torch.Throw("sparse", torch.KindValue, "a sparsity lies between 0 and 1, got %v", sparsity)
	}
	return draw(t, func() {
		torch.Scope(func() {
			t.NormalInPlace(0, std, torch.NormalOptions{Generator: v.Generator})
			for col := range cols {
				chosen := torch.RandPerm(rows).Narrow(0, 0, zeros)
				t.Select(1, col).IndexFillInPlace(0, chosen.To(t.Device()), 0)
			}
		})
	})
}

func dims(t torch.Tensor, op string, least, most int) {
	if n := t.Dim(); n < least || n > most {
		torch.Throw(op, torch.KindValue, "a tensor of %d dimensions cannot be filled so: shape %v", n, t.Shape())
	}
}
