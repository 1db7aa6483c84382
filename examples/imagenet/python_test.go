package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Three epochs in Python, on the same batches from the same weights, end with the same bits in all weights and their average, and
// with the loss that the program prints.
func TestEpochsEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	var out bytes.Buffer
	c, err := parse(tiny(photos(t, 4), "-arch", "shufflenet_v2_x0_5", "-b", "6", "-epochs", "3", "-lr-warmup-epochs", "1",
		"-lr-scheduler", "cosineannealinglr", "-label-smoothing", "0.1", "-mixup-alpha", "0.3", "-cutmix-alpha", "1", "-clip-grad-norm", "0.5",
		"-model-ema", "-model-ema-steps", "2", "-model-ema-decay", "0.9"), &out)
	require.NoError(t, err)
	require.NoError(t, c.settle())
	images, err := openImages(c)
	require.NoError(t, err)
	tr, err := newTrainer(t.Context(), c, images, &out)
	require.NoError(t, err)
	defer func() { require.NoError(t, tr.Close()) }()
	torch.Scope(func() {
		inputs := peer.Tensors{}
		for name, weight := range nn.StateDict(tr.model) {
			inputs[name] = weight.Clone()
		}
		var kept []torch.Tensor
		defer func() { torch.Close(kept...) }() // what was kept belongs to no scope
		for epoch := range c.Epochs {
			for batch, err := range tr.train.Epoch(t.Context(), epoch) {
				require.NoError(t, err)
				i := len(kept) / 2
				kept = append(kept, batch.Input.Keep(), batch.Target.Keep())
				inputs[fmt.Sprint("images ", i)], inputs[fmt.Sprint("targets ", i)] = kept[2*i], kept[2*i+1]
			}
		}
		require.NoError(t, tr.learn(t.Context()))
		want := peer.Run(t, "testdata/train.py", inputs, c.Arch, "3", "0.02", "0.1", "0.5", "0.9", "2")
		require.Contains(t, out.String(), fmt.Sprintf("Loss %.4e (", want["loss"].Float64()))
		for name, weight := range nn.StateDict(tr.model) {
			torchtest.Equal(t, weight, want["model."+name])
		}
		for name, weight := range nn.StateDict(tr.ema) {
			torchtest.Equal(t, weight, want["average."+name])
		}
	})
}
