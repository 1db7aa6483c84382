package parametrize

import (
	"cmp"
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/linalg"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// OrthogonalMap says how [Orthogonal] makes a matrix orthogonal.
type OrthogonalMap struct{ name string }

// String is PyTorch's name.
func (m OrthogonalMap) String() string { return m.name }

// The maps.
var (
	MatrixExp   = OrthogonalMap{"matrix_exp"}  // exp(A) for skew A
	Cayley      = OrthogonalMap{"cayley"}      // (I+A/2)(I-A/2)⁻¹ for skew A
	Householder = OrthogonalMap{"householder"} // a product of reflections; not for complex matrices
)

// OrthogonalOptions are the rarer arguments of [Orthogonal].
type OrthogonalOptions struct {
	Name             string        // of the parameter; default "weight"
	Map              OrthogonalMap // default MatrixExp for square and complex matrices, else Householder
	NoTrivialization bool          // do not keep a matrix to start from, which the others need
}

// Orthogonal keeps a matrix, or a batch of them, orthogonal or unitary: its columns, or the
// rows where these are fewer, are orthogonal and of length 1. It starts from the orthogonal
// factor of the weight, and takes m over.
func Orthogonal[M any](m M, opts ...OrthogonalOptions) *Module[M] {
	v := option.One(opts)
	name := cmp.Or(v.Name, "weight")
	return Register(m, name, NewOrthogonalization(parameterOf(m, name), v))
}

// Orthogonalization is what [Orthogonal] registers.
type Orthogonalization struct {
	Base  torch.Tensor `torch:"base,buffer"` // which the map's result multiplies; undefined for NoTrivialization
	Map   OrthogonalMap
	Shape []int

	trivialize bool
}

// NewOrthogonalization prepares to keep weights of this kind orthogonal.
func NewOrthogonalization(weight torch.Tensor, opts ...OrthogonalOptions) *Orthogonalization {
	const op = "orthogonal"
	v := option.One(opts)
	if n := weight.Dim(); n < 2 {
		torch.Throw(op, torch.KindValue, "Expected a matrix or batch of matrices. Got a tensor of %d dimensions.", n)
	}
	square := weight.Size(-2) == weight.Size(-1)
	switch {
	case v.Map == OrthogonalMap{}:
		if v.Map = Householder; square || weight.IsComplex() {
			v.Map = MatrixExp
		}
	case v.Map == Householder && weight.IsComplex():
		torch.Throw(op, torch.KindValue, "The householder parametrization does not support complex tensors.")
	}
	return &Orthogonalization{Map: v.Map, Shape: weight.Shape(), trivialize: !v.NoTrivialization}
}

// tall exchanges the last two dimensions of a matrix that has more columns than rows.
func tall(x torch.Tensor) (t torch.Tensor, transposed bool) {
	if x.Size(-2) < x.Size(-1) {
		return x.MT(), true
	}
	return x, false
}

func back(x torch.Tensor, transposed bool) torch.Tensor {
	if transposed {
		return x.MT()
	}
	return x
}

// Forward takes the matrix as it is trained, of which some elements count.
func (o *Orthogonalization) Forward(originals ...torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		x, transposed := tall(originals[0])
		var q torch.Tensor
		if o.Map == Householder {
			q = reflect(x)
		} else {
			q = o.rotate(x)
		}
		if o.Base.Defined() {
			q = o.Base.MatMul(q)
		}
		return back(q, transposed)
	})
}

// reflect multiplies Householder reflections, the columns below the diagonal.
func reflect(x torch.Tensor) torch.Tensor {
	a := x.Tril(-1)
	tau := torch.DivScalarTensor(2.0, a.Mul(a).SumDim([]int{-2}).AddScalar(1.0))
	q := linalg.HouseholderProduct(a, tau)
	return q.Mul(x.Diagonal(0, -2, -1).To(torch.Int32).Unsqueeze(-2))
}

// rotate maps the skew matrix below the diagonal to an orthogonal one.
func (o *Orthogonalization) rotate(x torch.Tensor) torch.Tensor {
	n, k := x.Size(-2), x.Size(-1)
	x = x.Tril()
	if n != k {
		shape := x.Shape()
		shape[len(shape)-1] = n - k
		x = torch.Cat([]torch.Tensor{x, x.NewZeros([]int{n, n - k}).Expand(shape...)}, -1)
	}
	a := x.Sub(x.MH())
	var q torch.Tensor
	if o.Map == MatrixExp {
		q = a.MatrixExp()
	} else {
		id := torch.TensorOptions{DType: a.DType(), Device: a.Device()}.Eye(n)
		q = linalg.Solve(id.Add(a, torch.AddOptions{Alpha: -0.5}), id.Add(a, torch.AddOptions{Alpha: 0.5}))
	}
	if n != k {
		q = q.Narrow(-1, 0, k)
	}
	return q
}

// RightInverse makes Base, and what with it gives the orthogonal factor of q.
func (o *Orthogonalization) RightInverse(q torch.Tensor) []torch.Tensor {
	if got := q.Shape(); !slices.Equal(got, o.Shape) {
		torch.Throw("orthogonal", torch.KindValue, "Expected a matrix or batch of matrices of shape %v. Got a tensor of shape %v.", o.Shape, got)
	}
	x, transposed := tall(q)
	if !o.trivialize {
		return []torch.Tensor{back(o.factor(x), transposed)}
	}
	torch.NoGrad(func() {
		torch.Scope(func() {
			base := complete(x)
			o.Base.Close()
			o.Base = nn.NewBuffer(base)
		})
	})
	identity := torch.ZerosLike(q)
	identity.Diagonal(0, -2, -1).FillInPlace(-1)
	return []torch.Tensor{identity}
}

// factor is the Householder form of the orthogonal factor of x.
func (o *Orthogonalization) factor(x torch.Tensor) torch.Tensor {
	if o.Map != Householder {
		torch.Throw("orthogonal", torch.KindNotImplemented,
			"It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False.")
	}
	a, tau := x.Geqrf()
	signs := a.Diagonal(0, -2, -1).SignInPlace()
	signs.CopyInPlace(torch.Where(tau.EqScalar(0), signs.Neg(), signs)) // LAPACK reflects not at all where tau is 0
	return a
}

// complete is a square orthogonal matrix that begins with the tall matrix x, made orthogonal
// where it is not.
func complete(x torch.Tensor) torch.Tensor {
	n, k := x.Size(-2), x.Size(-1)
	if n == k && isOrthogonal(x) {
		return x.Clone()
	}
	if n != k {
		shape := x.Shape()
		shape[len(shape)-1] = n - k
		x = torch.Cat([]torch.Tensor{x, torch.TensorOptions{DType: x.DType(), Device: x.Device()}.RandN(shape...)}, -1)
	}
	a, tau := x.Geqrf()
	return linalg.HouseholderProduct(a, tau).MulInPlace(a.Diagonal(0, -2, -1).Sgn().Unsqueeze(-2))
}

func isOrthogonal(q torch.Tensor) bool {
	eps := math.Pow(2, -52)
	if d := q.DType(); d == torch.Float32 || d == torch.Complex64 {
		eps = math.Pow(2, -23)
	}
	id := torch.TensorOptions{DType: q.DType(), Device: q.Device()}.Eye(q.Size(-1))
	return q.MH().MatMul(q).AllClose(id, torch.AllCloseOptions{ATol: new(10 * float64(q.Size(-2)) * eps)})
}
