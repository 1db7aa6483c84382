package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/examples/internal/clitest"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

func TestFindsThePlane(t *testing.T) {
	torchtest.NoLeaks(t)
	out := clitest.Run(t, command, "-device", "cpu", "-noise", "0.01")
	require.Contains(t, out, "Epoch: [4][32/32]\tLoss ")
	var a, b, c float64
	_, err := fmt.Sscanf(out[strings.Index(out, "done: "):], "done: y = %f a %f b %f", &a, &b, &c)
	require.NoError(t, err, out)
	require.InDeltaSlice(t, []float64{2, -3, 1}, []float64{a, b, c}, 0.01)
}

func TestMistakes(t *testing.T) {
	clitest.Fails(t, "linear", 2, "-n is 0, expected more than 0", "-n", "0")
	clitest.Fails(t, "linear", 2, "-noise is -1, expected 0 or more", "-noise", "-1")
	clitest.Fails(t, "linear", 2, "-lr is NaN", "-lr", "NaN")
}

func TestInterrupt(t *testing.T) {
	text := clitest.Signal(t, syscall.SIGINT, "Epoch: [0][", "-device", "cpu", "-epochs", "1000000", "-p", "1")
	require.Regexp(t, `^linear: interrupted in epoch \d+ after batch \d+ of 32\n$`, text)
}
