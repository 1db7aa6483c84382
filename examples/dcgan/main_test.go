package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// Fifty steps of both networks equal Python's to the bit: every weight, every statistic of the
// batch norms, both mean losses.
func TestFiftyStepsEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		const steps, size, width = 50, 8, 8
		images := torch.Rand(steps*size, 1, 32, 32).MulScalar(2).SubScalar(1)
		loader, err := data.NewLoader(data.NewTensorDataset(images, torch.Tensor{}), data.LoaderOptions{BatchSize: size, Shuffle: true})
		require.NoError(t, err)
		torch.ManualSeed(0)
		g := newGAN(*nz, width, torch.CPU)
		defer g.optD.Close()
		defer g.optG.Close()
		var lossD, lossG meter.Average
		progress := meter.NewProgress(io.Discard, "", steps, &lossD, &lossG)
		require.NoError(t, g.train(t.Context(), loader, 0, &lossD, &lossG, progress))

		want := peer.Run(t, "testdata/dcgan.py", peer.Tensors{"images": images}, "8", "100", "8")
		require.Equal(t, want["lossD"].Float64(), lossD.Avg())
		require.Equal(t, want["lossG"].Float64(), lossG.Avg())
		for prefix, net := range map[string]nn.Sequential{"G.": g.G, "D.": g.D} {
			for name, x := range nn.StateDict(net) {
				torchtest.Equal(t, x, want[prefix+name])
			}
		}
	})
}
