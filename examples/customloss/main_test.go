package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

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

// The program prints the figures of its twin in Python, and finds what is rare.
func TestEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	want := peer.Run(t, "testdata/customloss.py", nil, "2", "0.05", "2000", "10", "32", "0.01")
	var lines string
	for epoch, loss := range torch.Values[float64](want["losses"]) {
		lines += fmt.Sprintf("epoch %d: loss %.6f\n", epoch, loss)
	}
	found, rare := want["found"].Int(), want["rare"].Int()
	require.Equal(t, lines+fmt.Sprintf("%d of %d rare points found, cross entropy %.4f\n", found, rare, want["entropy"].Float64()),
		out.String())
	require.Greater(t, found, rare*9/10)
}
