package main

import (
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/examples/internal/clitest"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

// Three hundred images are too few to do well on others, but the network learns them.
func TestLearnsRealImages(t *testing.T) {
	torchtest.NoLeaks(t)
	args := []string{"-device", "cpu", "-slice", "-limit", "300", "-b", "10", "-lr", "0.01", "-epochs", "8", "-p", "30", "-j", "0"}
	out := clitest.Run(t, command, args...)
	require.Contains(t, out, "cifar10: 300 images to train on, 60 to test with, on cpu\n")
	require.Len(t, regexp.MustCompile(`(?m)^ \* Acc@1 \d+\.\d{3}$`).FindAllString(out, -1), 8)
	var losses []float64
	for _, found := range regexp.MustCompile(`\[30/30\]\tLoss \S+ \((.*)\)`).FindAllStringSubmatch(out, -1) {
		loss, err := strconv.ParseFloat(found[1], 64)
		require.NoError(t, err)
		losses = append(losses, loss)
	}
	require.Len(t, losses, 8)
	require.InDelta(t, 2.3, losses[0], 0.05, "the entropy of ten classes")
	require.Less(t, losses[7], 0.9*losses[0], out)
}

func TestMistakes(t *testing.T) {
	clitest.Fails(t, "cifar10", 2, "-graph needs a CUDA device, this run is on the cpu", "-graph", "-device", "cpu")
	clitest.Fails(t, "cifar10", 2, "-slice needs no -data", "-slice", "-data", ".")
	clitest.Fails(t, "cifar10", 2, "-momentum is -1, expected 0 or more", "-momentum", "-1")
	clitest.Fails(t, "cifar10", 2, "-j is -2, expected 0 or more", "-j", "-2")
}

func TestInterrupt(t *testing.T) {
	text := clitest.Signal(t, syscall.SIGINT, "Epoch: [0][", "-device", "cpu", "-slice", "-p", "1", "-b", "1")
	require.Regexp(t, `^cifar10: interrupted in epoch 0 after batch \d+ of 1100\n$`, text)
}
