package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/examples/internal/clitest"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

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

func TestFitsTheSine(t *testing.T) {
	torchtest.NoLeaks(t)
	out := clitest.Run(t, command, "-device", "cpu")
	_, last, found := strings.Cut(out, "done: sin x = ")
	require.True(t, found, out)
	var a, b, c, d float64
	_, err := fmt.Sscanf(last, "%f %f P3(%f %f x)", &a, &b, &c, &d)
	require.NoError(t, err, last)
	require.InDeltaSlice(t, []float64{0, -2.2, 0, 0.256}, []float64{a, b, c, d}, 0.1, "PyTorch's tutorial ends there")
}

func TestMistakes(t *testing.T) {
	clitest.Fails(t, "customfunction", 2, "-epochs is 0, expected more than 0", "-epochs", "0")
}

func TestInterrupt(t *testing.T) {
	text := clitest.Signal(t, syscall.SIGINT, "Epoch: [1][", "-device", "cpu", "-epochs", "1000000", "-p", "1")
	require.Regexp(t, `^customfunction: interrupted in epoch \d+ after batch \d+ of 40\n$`, text)
}
