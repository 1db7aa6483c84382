package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/examples/internal/clitest"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

func TestFocalLoss(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(1)
		scores := torch.TensorOptions{DType: torch.Float64}.RandN(6, 3).SetRequiresGrad(true)
		target := torch.FromSlice([]int{0, 2, 1, 1, 0, 2})
		torchtest.AllClose(t, FocalLoss(scores, target, 0), F.CrossEntropy(scores, target))
		certain := torch.FromSlice([]float64{30, 0, 0, 0, 0, 0}, 2, 3)
		require.InDelta(t, 4.0/9*1.0986122886681098/2, FocalLoss(certain, torch.FromSlice([]int{0, 1}), 2).Float64(), 1e-9)

		FocalLoss(scores, target, 2).Backward()
		const step = 1e-6
		nudge := torch.ZerosLike(scores)
		nudge.At(3, 1).Set(step)
		torch.NoGrad(func() {
			slope := (FocalLoss(scores.Add(nudge), target, 2).Float64() - FocalLoss(scores.Sub(nudge), target, 2).Float64()) / (2 * step)
			require.InDelta(t, slope, scores.Grad().Index(3, 1).Float64(), 1e-8)
		})
	})
}

func TestFindsTheRareOnes(t *testing.T) {
	torchtest.NoLeaks(t)
	out := clitest.Run(t, command, "-device", "cpu")
	_, last, _ := strings.Cut(out, "done: ")
	var found, all int
	_, err := fmt.Sscanf(last, "%d of %d rare points found", &found, &all)
	require.NoError(t, err, out)
	require.InDelta(t, 100, all, 30)
	require.Greater(t, found, all*9/10)
}

func TestMistakes(t *testing.T) {
	clitest.Fails(t, "customloss", 2, "-gamma is -1, expected 0 or more", "-gamma", "-1")
	clitest.Fails(t, "customloss", 2, "-rare is 1, expected a part between 0 and 1", "-rare", "1")
}

func TestInterrupt(t *testing.T) {
	text := clitest.Signal(t, syscall.SIGINT, "Epoch: [1][", "-device", "cpu", "-epochs", "100000", "-p", "1")
	require.Regexp(t, `^customloss: interrupted in epoch \d+ after batch \d+ of 63\n$`, text)
}
