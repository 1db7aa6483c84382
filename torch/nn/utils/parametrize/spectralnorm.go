package parametrize

import (
	"cmp"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// SpectralNormOptions are the rarer arguments of [SpectralNorm].
type SpectralNormOptions struct {
	Name       string  // of the parameter; default "weight"
	Iterations int     // of the power method in each Forward; default 1
	Eps        float64 // below which norms do not fall; default 1e-12
	Dim        *int    // the rows of the weight seen as a matrix; default 0, and 1 in transposed convolutions
}

// SpectralNorm divides a weight by its largest singular value (Miyato et al., 2018), which
// each Forward in training estimates better by the power method. It takes m over.
func SpectralNorm[M any](m M, opts ...SpectralNormOptions) *Module[M] {
	v := option.One(opts)
	name := cmp.Or(v.Name, "weight")
	if v.Dim == nil {
		v.Dim = new(0)
		switch any(m).(type) {
		case *nn.ConvTranspose1d, *nn.ConvTranspose2d, *nn.ConvTranspose3d:
			*v.Dim = 1
		}
	}
	return Register(m, name, NewSpectralNormalization(parameterOf(m, name), v))
}

// SpectralNormalization is what [SpectralNorm] registers: W/σ(W).
type SpectralNormalization struct {
	U          torch.Tensor `torch:"_u,buffer"` // the left singular vector of the largest singular value
	V          torch.Tensor `torch:"_v,buffer"` // the right one; both undefined for a vector
	Mode       nn.Mode
	Iterations int
	Eps        float64
	Dim        int
}

// NewSpectralNormalization estimates the largest singular value of a weight.
func NewSpectralNormalization(weight torch.Tensor, opts ...SpectralNormOptions) *SpectralNormalization {
	v := option.One(opts)
	s := &SpectralNormalization{Iterations: cmp.Or(v.Iterations, 1), Eps: cmp.Or(v.Eps, 1e-12)}
	if v.Dim != nil {
		s.Dim = *v.Dim
	}
	dims := weight.Dim()
	if s.Dim < -dims || s.Dim >= dims {
		torch.Throw("spectral_norm", torch.KindIndex, "Dimension out of range (expected to be in range of [-%d, %d] but got %d)", dims,
			dims-1, s.Dim)
	}
	if s.Iterations <= 0 {
		torch.Throw("spectral_norm", torch.KindValue, "Expected n_power_iterations to be positive, but got n_power_iterations=%d", s.Iterations)
	}
	if s.Dim < 0 {
		s.Dim += dims
	}
	if dims < 2 {
		return s
	}
	torch.NoGrad(func() {
		torch.Scope(func() {
			m := s.matrix(weight)
			u, v := m.NewEmpty([]int{m.Size(0)}).NormalInPlace(0, 1), m.NewEmpty([]int{m.Size(1)}).NormalInPlace(0, 1)
			s.U, s.V = nn.NewBuffer(s.normalize(u)), nn.NewBuffer(s.normalize(v))
			s.iterate(m, 15)
		})
	})
	return s
}

// matrix is the weight with Dim as rows and all else as columns.
func (s *SpectralNormalization) matrix(weight torch.Tensor) torch.Tensor {
	if s.Dim != 0 {
		order := []int{s.Dim}
		for d := range weight.Dim() {
			if d != s.Dim {
				order = append(order, d)
			}
		}
		weight = weight.Permute(order...)
	}
	return weight.Flatten(1, -1)
}

func (s *SpectralNormalization) normalize(x torch.Tensor) torch.Tensor {
	return F.Normalize(x, F.NormalizeOptions{Dim: new(0), Eps: &s.Eps})
}

// iterate takes steps of the power method.
func (s *SpectralNormalization) iterate(m torch.Tensor, steps int) {
	torch.NoGrad(func() {
		for range steps {
			s.U.CopyInPlace(s.normalize(m.MV(s.V)))
			s.V.CopyInPlace(s.normalize(m.H().MV(s.U)))
		}
	})
}

// Forward takes the weight as it is trained. In training it changes U and V.
func (s *SpectralNormalization) Forward(originals ...torch.Tensor) torch.Tensor {
	weight := originals[0]
	return torch.Scope1(func() torch.Tensor {
		if weight.Dim() == 1 {
			return s.normalize(weight)
		}
		m := s.matrix(weight)
		if s.Mode.Training() {
			s.iterate(m, s.Iterations)
		}
		u, v := s.U.Clone(), s.V.Clone() // the backward pass of a second Forward must not find them changed
		return weight.Div(u.VDot(m.MV(v)))
	})
}

// RightInverse returns the weight.
func (s *SpectralNormalization) RightInverse(weight torch.Tensor) []torch.Tensor {
	return []torch.Tensor{weight}
}
