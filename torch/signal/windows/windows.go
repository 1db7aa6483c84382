package windows

import (
	"math"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
)

// Options say what kind of window to make.
type Options struct {
	Periodic            bool // one period of an endless signal, for spectra; default: symmetric
	torch.TensorOptions      // dtype (float32 or float64), device, RequiresGrad
}

// Bartlett is a triangle: 1 - |2i/(n-1) - 1|.
func Bartlett(n int, opts ...Options) torch.Tensor {
	v := check("bartlett", n, option.One(opts))
	if n <= 1 {
		return v.Ones(n)
	}
	return torch.Scope1(func() torch.Tensor {
		step := 2 / v.periods(n)
		k := v.Linspace(-1, -1+float64(float64(n-1)*step), n)
		return torch.RSubScalar(k.Abs(), 1)
	})
}

// Blackman is 0.42 - 0.5*cos(z) + 0.08*cos(2z), z = 2πi/(n-1).
func Blackman(n int, opts ...Options) torch.Tensor {
	o := option.One(opts)
	check("blackman", n, o)
	return GeneralCosine(n, []float64{0.42, 0.5, 0.08}, o)
}

// Cosine is half a wave: sin(π(i+0.5)/n).
func Cosine(n int, opts ...Options) torch.Tensor {
	v := check("cosine", n, option.One(opts))
	if n == 0 {
		return v.Empty(0)
	}
	return torch.Scope1(func() torch.Tensor {
		const start = 0.5
		period := n
		if v.Periodic && n > 1 {
			period++
		}
		step := math.Pi / float64(period)
		return v.Linspace(start*step, (start+float64(n-1))*step, n).Sin()
	})
}

// ExponentialOptions say what kind of window [Exponential] makes.
type ExponentialOptions struct {
	Options
	Center *float64 // where the window is 1; default: the middle, which a symmetric window insists on
}

// Exponential falls off on both sides as exp(-|i-center|/tau). PyTorch's default tau is 1.
func Exponential(n int, tau float64, opts ...ExponentialOptions) torch.Tensor {
	all := option.One(opts)
	v := check("exponential", n, all.Options)
	if tau <= 0 {
		torch.Throw("exponential", torch.KindValue, "Tau must be positive, got: %s instead.", pytext.Float(tau))
	}
	if !v.Periodic && all.Center != nil {
		torch.Throw("exponential", torch.KindValue, "Center must be None for symmetric windows")
	}
	if n == 0 {
		return v.Empty(0)
	}
	return torch.Scope1(func() torch.Tensor {
		center := v.middle(n)
		if all.Center != nil {
			center = *all.Center
		}
		scale := 1 / tau
		return v.Linspace(-center*scale, (-center+float64(n-1))*scale, n).Abs().Neg().Exp()
	})
}

// Gaussian is exp(-d²/2) where d is the distance from the middle divided by std. PyTorch's
// default std is 1.
func Gaussian(n int, std float64, opts ...Options) torch.Tensor {
	v := check("gaussian", n, option.One(opts))
	if std <= 0 {
		torch.Throw("gaussian", torch.KindValue, "Standard deviation must be positive, got: %s instead.", pytext.Float(std))
	}
	if n == 0 {
		return v.Empty(0)
	}
	return torch.Scope1(func() torch.Tensor {
		start := -v.middle(n)
		scale := 1 / (std * math.Sqrt2)
		return v.Linspace(start*scale, (start+float64(n-1))*scale, n).PowScalar(2).Neg().Exp()
	})
}

// GeneralCosine is a sum of waves: a[0] - a[1]*cos(z) + a[2]*cos(2z) - ..., z = 2πi/(n-1).
func GeneralCosine(n int, a []float64, opts ...Options) torch.Tensor {
	v := check("general_cosine", n, option.One(opts))
	if n <= 1 {
		return v.Ones(n)
	}
	if a == nil {
		torch.Throw("general_cosine", torch.KindType, "Coefficients must be a list/tuple")
	}
	if len(a) == 0 {
		torch.Throw("general_cosine", torch.KindValue, "Coefficients cannot be empty")
	}
	return torch.Scope1(func() torch.Tensor {
		step := 2 * math.Pi / v.periods(n)
		k := v.Linspace(0, float64(n-1)*step, n)
		signed := make([]float64, len(a))
		for i, w := range a {
			signed[i] = w
			if i%2 == 1 {
				signed[i] = -w
			}
		}
		weights := v.tensor(torch.FromSlice(signed))
		waves := v.Arange(len(a)).Unsqueeze(-1).Mul(k).Cos()
		return weights.Unsqueeze(-1).Mul(waves).SumDim([]int{0})
	})
}

// GeneralHamming is alpha - (1-alpha)*cos(2πi/(n-1)). PyTorch's default alpha is 0.54.
func GeneralHamming(n int, alpha float64, opts ...Options) torch.Tensor {
	return GeneralCosine(n, []float64{alpha, 1 - alpha}, opts...)
}

// Hamming is 0.54 - 0.46*cos(2πi/(n-1)).
func Hamming(n int, opts ...Options) torch.Tensor { return GeneralHamming(n, 0.54, opts...) }

// Hann is a raised cosine, 0.5 - 0.5*cos(2πi/(n-1)): the usual choice for spectra.
func Hann(n int, opts ...Options) torch.Tensor { return GeneralHamming(n, 0.5, opts...) }

// Kaiser is I0(beta*sqrt(1-x²))/I0(beta), x from -1 to 1, where I0 is a Bessel function:
// the larger beta, the narrower the window. PyTorch's default beta is 12.
func Kaiser(n int, beta float64, opts ...Options) torch.Tensor {
	v := check("kaiser", n, option.One(opts))
	if beta < 0 {
		torch.Throw("kaiser", torch.KindValue, "beta must be non-negative, got: %s instead.", pytext.Float(beta))
	}
	if n <= 1 {
		return v.Ones(n)
	}
	return torch.Scope1(func() torch.Tensor {
		b := torch.TensorOptions{DType: v.DType, Device: v.Device}.Full(nil, beta)
		start := b.Neg()
		step := b.MulScalar(2.0).DivScalar(v.periods(n))
		end := b.Minimum(start.Add(step.MulScalar(n - 1)))
		k := torch.LinspaceTensor(start, end, n, v.TensorOptions)
		return b.Mul(b).Sub(k.PowScalar(2)).Sqrt().I0().Div(b.I0())
	})
}

// Nuttall is the four-term window of A. Nuttall whose side lobes are the lowest:
// [GeneralCosine] of 0.3635819, 0.4891775, 0.1365995 and 0.0106411.
func Nuttall(n int, opts ...Options) torch.Tensor {
	return GeneralCosine(n, []float64{0.3635819, 0.4891775, 0.1365995, 0.0106411}, opts...)
}

// check is v with the dtype filled in, once it and n are found fit.
func check(op string, n int, v Options) Options {
	if v.DType.IsZero() {
		v.DType = torch.Float32
	}
	switch {
	case n < 0:
		torch.Throw(op, torch.KindValue, "%s requires non-negative window length, got M=%d", op, n)
	case !v.Layout.IsZero() && v.Layout != torch.Strided:
		torch.Throw(op, torch.KindValue, "%s is implemented for strided tensors only, got: torch.%v", op, v.Layout)
	case v.DType != torch.Float32 && v.DType != torch.Float64:
		torch.Throw(op, torch.KindValue, "%s expects float32 or float64 dtypes, got: torch.%v", op, v.DType)
	}
	return v
}

// periods is how many steps lie between a window's first element and the end of its period.
func (o Options) periods(n int) float64 {
	if o.Periodic {
		return float64(n)
	}
	return float64(n - 1)
}

// middle is the index, perhaps between two elements, that the window is symmetric about.
func (o Options) middle(n int) float64 {
	if n == 1 {
		return 0
	}
	return o.periods(n) / 2
}

// tensor is t as o wants it.
func (o Options) tensor(t torch.Tensor) torch.Tensor {
	options := []torch.ToOption{o.DType}
	if !o.Device.IsZero() {
		options = append(options, o.Device)
	}
	return t.To(options...).SetRequiresGrad(o.RequiresGrad)
}
