package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// The derivative is that of the same polynomial made of libtorch's own operators.
func TestDerivative(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.TensorOptions{DType: torch.Float64}.Linspace(-2, 2, 9)
		own, known := x.Clone().SetRequiresGrad(true), x.Clone().SetRequiresGrad(true)
		y := torch.Apply1(legendre3{}, own)
		z := known.Mul(known).Mul(known).MulScalar(2.5).Sub(known.MulScalar(1.5))
		torchtest.AllClose(t, y, z)
		y.Square().Sum().Backward()
		z.Square().Sum().Backward()
		torchtest.AllClose(t, own.Grad(), known.Grad())
	})
}

// The program prints the figures of PyTorch's tutorial, run in Python beside it.
func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	var out bytes.Buffer
	require.NoError(t, run(&out))
	want := peer.Run(t, "testdata/legendre.py", nil, "2000", "5e-6")
	var lines string
	for i, loss := range torch.Values[float64](want["losses"]) {
		lines += fmt.Sprintf("%d %.6f\n", 100*i+99, loss)
	}
	p := torch.Values[float64](want["result"])
	require.Equal(t, lines+fmt.Sprintf("y = %.6f %+.6f * P3(%.6f %+.6f x)\n", p[0], p[1], p[2], p[3]), out.String())
	require.InDeltaSlice(t, []float64{0, -2.208, 0, 0.255}, p, 0.01, "the tutorial ends there")
}
