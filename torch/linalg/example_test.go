package linalg_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/linalg"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// A system of equations: 2x + y = 5, x + 3y = 10.
func ExampleSolve() {
	a := torch.FromSlice([]float64{2, 1, 1, 3}, 2, 2)
	b := torch.FromSlice([]float64{5, 10})
	fmt.Println(linalg.Solve(a, b))
	// Output: tensor([1., 3.], dtype=torch.float64)
}

// A line through points, by least squares.
func ExampleLstsq() {
	x := torch.FromSlice([]float64{0, 1, 2, 3})
	y := torch.FromSlice([]float64{1, 3, 5, 7}).Unsqueeze(1)
	solution, _, rank, _ := linalg.Lstsq(torch.Stack([]torch.Tensor{x, torch.OnesLike(x)}, 1), y)
	fmt.Printf("%.3f of rank %d\n", torch.Values[float64](solution), rank.Int())
	// Output: [2.000 1.000] of rank 2
}

// The best matrix of rank 1.
func ExampleSVD() {
	a := torch.FromSlice([]float64{3, 0, 0, 4, 0, 0}, 2, 3)
	u, s, vh := linalg.SVD(a, linalg.SVDOptions{Reduced: true})
	fmt.Printf("%.3f\n", torch.Values[float64](s)) // one of the two says it all
	first := u.Narrow(1, 0, 1).MatMul(vh.Narrow(0, 0, 1)).Mul(s.Index(0))
	fmt.Println(first.AllClose(a, torch.AllCloseOptions{ATol: new(1e-9)}))
	// Output:
	// [5.000 0.000]
	// true
}

// Eigenvalues of a symmetric matrix ascend.
func ExampleEigh() {
	a := torch.FromSlice([]float64{2, 1, 1, 2}, 2, 2)
	values, vectors := linalg.Eigh(a)
	fmt.Printf("%.3f\n", torch.Values[float64](values))
	fmt.Println(vectors.Mul(values).MatMul(vectors.T()).AllClose(a))
	// Output:
	// [1.000 3.000]
	// true
}

// Other matrices have complex ones: a rotation turns every vector.
func ExampleEigvals() {
	rotation := torch.FromSlice([]float64{0, -1, 1, 0}, 2, 2)
	values := linalg.Eigvals(rotation)
	fmt.Printf("%.3f %v\n", torch.Values[float64](values.Imag().Abs()), values.DType())
	// Output: [1.000 1.000] complex128
}

func ExampleCholesky() {
	covariance := torch.FromSlice([]float64{4, 2, 2, 5}, 2, 2)
	l := linalg.Cholesky(covariance)
	fmt.Println(l)
	fmt.Println(l.MatMul(l.T()).AllClose(covariance))
	// Output:
	// tensor([[2., 0.],
	//         [1., 2.]], dtype=torch.float64)
	// true
}

func ExampleQR() {
	a := torch.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 3, 2)
	q, r := linalg.QR(a)
	fmt.Println(q.T().MatMul(q).AllClose(torch.Eye(2).To(torch.Float64)))
	fmt.Println(q.MatMul(r).AllClose(a), r.Shape())
	// Output:
	// true
	// true [2 2]
}

func ExampleLU() {
	a := torch.FromSlice([]float64{0, 2, 1, 1}, 2, 2)
	p, l, u := linalg.LU(a)
	fmt.Println(p, l, u)
	// Output:
	// tensor([[0., 1.],
	//         [1., 0.]], dtype=torch.float64) tensor([[1., 0.],
	//         [0., 1.]], dtype=torch.float64) tensor([[1., 1.],
	//         [0., 2.]], dtype=torch.float64)
}

// One decomposition serves many right sides.
func ExampleLUSolve() {
	lu, pivots := linalg.LUFactor(torch.FromSlice([]float64{4, 0, 0, 2}, 2, 2))
	for _, b := range []float64{4, 8} {
		fmt.Println(linalg.LUSolve(lu, pivots, torch.Full([]int{2, 1}, b).To(torch.Float64)).T())
	}
	// Output:
	// tensor([[1., 2.]], dtype=torch.float64)
	// tensor([[2., 4.]], dtype=torch.float64)
}

// A matrix that has no inverse is an error of its own kind.
func ExampleInv() {
	fmt.Println(linalg.Inv(torch.FromSlice([]float64{2, 0, 0, 4}, 2, 2)))
	err := torch.Try(func() { linalg.Inv(torch.Zeros(2, 2)) })
	fmt.Println(errors.Is(err, torch.ErrLinAlg))
	// Output:
	// tensor([[0.5000, 0.0000],
	//         [0.0000, 0.2500]], dtype=torch.float64)
	// true
}

// Where zeros are possible the pseudo-inverse gives the smallest solution.
func ExamplePinv() {
	inverse := linalg.Pinv(torch.FromSlice([]float64{2, 0, 0, 0}, 2, 2))
	fmt.Printf("%.2f\n", torch.Matrix[float64](inverse.Abs()))
	// Output: [[0.50 0.00] [0.00 0.00]]
}

func ExampleDet() {
	a := torch.FromSlice([]float64{1, 2, 3, 4}, 2, 2)
	fmt.Printf("%.1f\n", linalg.Det(a).Float64())
	batch := torch.Eye(2).Expand(3, 2, 2)
	fmt.Println(linalg.Det(batch)) // of each matrix of a batch
	// Output:
	// -2.0
	// tensor([1., 1., 1.])
}

func ExampleNorm() {
	x := torch.FromSlice([]float64{3, -4, 0, 5}, 2, 2)
	fmt.Println(linalg.Norm(x, linalg.NormOptions{Dim: []int{1}}))         // of the rows
	fmt.Println(linalg.VectorNorm(x, linalg.VectorNormOptions{Ord: 1}))    // sum of magnitudes
	fmt.Println(linalg.MatrixNorm(x, 1), linalg.NormStr(x, "fro").Round()) // largest column sum
	// Output:
	// tensor([5., 5.], dtype=torch.float64)
	// tensor(12., dtype=torch.float64)
	// tensor(9., dtype=torch.float64) tensor(7., dtype=torch.float64)
}

func ExampleMatrixRank() {
	fmt.Println(linalg.MatrixRank(torch.FromSlice([]float32{1, 2, 2, 4}, 2, 2)))
	// Output: tensor(1)
}

// Fibonacci's numbers.
func ExampleMatrixPower() {
	step := torch.FromSlice([]float64{1, 1, 1, 0}, 2, 2)
	fmt.Println(linalg.MatrixPower(step, 10).Index(0, 1).Float64())
	// Output: 55
}

// The order of the products is chosen so that the least is computed.
func ExampleMultiDot() {
	a, b, c := torch.Ones(2, 100), torch.Ones(100, 2), torch.Ones(2, 3)
	fmt.Println(linalg.MultiDot(a, b, c))
	// Output:
	// tensor([[200., 200., 200.],
	//         [200., 200., 200.]])
}

func ExampleCross() {
	x, y := torch.FromSlice([]int{1, 0, 0}), torch.FromSlice([]int{0, 1, 0})
	fmt.Println(linalg.Cross(x, y))
	// Output: tensor([0, 0, 1])
}
