package main

import (
	"fmt"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/examples/internal/clitest"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

func TestReadsDigits(t *testing.T) {
	torchtest.EachDevice(t, func(t *testing.T, dev torch.Device) {
		readsDigits(t, dev.String())
		if dev.IsCUDA() {
			readsDigits(t, dev.String(), "-graph")
		}
	})
}

func readsDigits(t *testing.T, dev string, more ...string) {
	t.Helper()
	torchtest.NoLeaks(t)
	args := append([]string{"-device", dev, "-drawn", "-limit", "1000", "-b", "20", "-lr", "0.003", "-epochs", "3", "-p", "25"}, more...)
	out := clitest.Run(t, command, args...)
	require.Contains(t, out, "mnist: 1000 images to train on, 200 to test with, on "+dev+"\n")
	require.Contains(t, out, "Epoch: [2][50/50]\tLoss ")
	tests := regexp.MustCompile(` \* Acc@1 (.*)\n`).FindAllStringSubmatch(out, -1)
	require.Len(t, tests, 3, out)
	var percent float64
	_, err := fmt.Sscan(tests[2][1], &percent)
	require.NoError(t, err)
	require.Greater(t, percent, 80.0, out)
}

func TestMistakes(t *testing.T) {
	clitest.Fails(t, "mnist", 2, "-graph needs a CUDA device, this run is on the cpu", "-graph", "-device", "cpu")
	clitest.Fails(t, "mnist", 2, "-limit is -1, expected 0 or more", "-limit", "-1")
	clitest.Fails(t, "mnist", 2, "-drawn needs no -data", "-drawn", "-data", ".")
	clitest.Fails(t, "mnist", 2, `-device is "tpu", expected cpu, cuda or cuda:N`, "-device", "tpu")
	clitest.Fails(t, "mnist", 1, "no such file or directory; create it or name another", "-data", t.TempDir()+"/absent")
}

func TestInterrupt(t *testing.T) {
	text := clitest.Signal(t, syscall.SIGTERM, "Epoch: [0][", "-device", "cpu", "-drawn", "-limit", "2000", "-b", "4", "-p", "1")
	require.Regexp(t, `^mnist: interrupted in epoch 0 after batch \d+ of 500\n$`, text)
}
