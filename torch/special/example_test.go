package special_test

import (
	"fmt"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/special"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// The normal distribution and its quantiles.
func ExampleNdtr() {
	p := special.Ndtr(torch.FromSlice([]float64{-1.96, 0, 1.96}))
	fmt.Printf("%.3f\n", p)
	fmt.Printf("%.2f\n", special.Ndtri(p))
	// Output:
	// tensor([0.025, 0.500, 0.975], dtype=torch.float64)
	// tensor([-1.96,  0.00,  1.96], dtype=torch.float64)
}

func ExampleErf() {
	x := torch.FromSlice([]float64{0, 0.5, 3})
	fmt.Printf("%.4f\n%.4f\n", special.Erf(x), special.Erfc(x))
	// Output:
	// tensor([0.0000, 0.5205, 1.0000], dtype=torch.float64)
	// tensor([1.0000, 0.4795, 0.0000], dtype=torch.float64)
}

// 0·log 0 is 0 here, not NaN.
func ExampleXLogY() {
	p := torch.FromSlice([]float64{0, 0.5, 0.5})
	fmt.Printf("%.4f\n", special.XLogY(p, p).Sum().Neg()) // the entropy
	fmt.Printf("%.4f\n", special.Entr(p).Sum())           // the same
	// Output:
	// 0.6931
	// 0.6931
}

// Factorials: Γ(n+1) = n!.
func ExampleGammaLn() {
	fmt.Println(special.GammaLn(torch.FromSlice([]float64{5, 6})).Exp().Round())
	// Output: tensor([ 24., 120.], dtype=torch.float64)
}

func ExampleExpit() {
	x := torch.FromSlice([]float64{-100, 0, 100})
	fmt.Println(special.Expit(x))
	fmt.Println(special.Logit(torch.FromSlice([]float64{0.5})))
	// Output:
	// tensor([3.7201e-44, 5.0000e-01, 1.0000e+00], dtype=torch.float64)
	// tensor([0.], dtype=torch.float64)
}

// Small numbers do not vanish beside 1.
func ExampleLog1p() {
	x := torch.FromSlice([]float64{1e-20})
	fmt.Println(x.AddScalar(1).Log().Float64(), special.Log1p(x).Float64())
	fmt.Println(x.Exp().SubScalar(1).Float64(), special.Expm1(x).Float64())
	// Output:
	// 0 1e-20
	// 0 1e-20
}

func ExampleBesselJ0() {
	fmt.Printf("%.4f\n", special.BesselJ0(torch.FromSlice([]float64{0, 2.4048})).Abs())
	// Output: tensor([1.0000, 0.0000], dtype=torch.float64)
}

func ExampleLegendrePolynomialPScalar() {
	x := torch.FromSlice([]float64{-1, 0, 1})
	fmt.Println(special.LegendrePolynomialPScalar(x, 2))
	// Output: tensor([ 1.0000, -0.5000,  1.0000], dtype=torch.float64)
}

func ExampleZetaScalar() {
	fmt.Printf("%.4f\n", special.ZetaScalar(torch.FromSlice([]float64{2, 4}), 1)) // π²/6, π⁴/90
	// Output: tensor([1.6449, 1.0823], dtype=torch.float64)
}
