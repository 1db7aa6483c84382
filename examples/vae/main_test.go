package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// Fifty steps, with the noise in them, equal Python's to the bit.
func TestFiftyStepsEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		const steps, size = 50, 16
		images := torch.TensorOptions{DType: torch.Uint8}.RandIntN(256, steps*size, 1, 28, 28)
		loader, err := data.NewLoader(data.NewTensorDataset(images, torch.Tensor{}), data.LoaderOptions{BatchSize: size, Shuffle: true, Seed: 1})
		require.NoError(t, err)
		torch.ManualSeed(1)
		model := newVAE()
		opt := optim.NewAdam(nn.Parameters(model), 1e-3)
		defer opt.Close()
		mean, err := train(t.Context(), model, opt, loader, 0, torch.CPU)
		require.NoError(t, err)

		want := peer.Run(t, "testdata/vae.py", peer.Tensors{"images": images}, "16")
		require.Equal(t, want["mean"].Float64(), mean)
		for name, weight := range nn.StateDict(model) {
			torchtest.Equal(t, weight, want[name])
		}
	})
}
