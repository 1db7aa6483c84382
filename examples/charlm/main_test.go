package main

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// Fifty steps equal Python's to the bit, and so do the letters that the model then writes.
func TestFiftyStepsEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		const steps, size, context = 50, 8, 24
		letters := newAlphabet(opticks)
		text := torch.FromSlice(letters.encode(opticks[:20_000]))
		torch.ManualSeed(0)
		model := newGPT(len(letters), context, 32, 4, 2)
		opt := optim.NewAdamW(nn.Parameters(model), 2e-3)
		defer opt.Close()
		var losses []float32
		train(model, opt, text, steps, size, context, func(loss torch.Tensor) {
			losses = append(losses, torch.Value[float32](loss))
		})
		written := write(model, text.Narrow(0, 0, 1).View(1, 1), 40, context, 0.8)

		want := peer.Run(t, "testdata/charlm.py", peer.Tensors{"text": text}, strconv.Itoa(len(letters)), "50", "8", "24")
		require.Equal(t, torch.Values[float32](want["losses"]), losses)
		require.Less(t, losses[steps-1], losses[0]-0.5)
		for name, weight := range nn.StateDict(model) {
			torchtest.Equal(t, weight, want[name])
		}
		require.Equal(t, torch.Values[int](want["written"]), written)
	})
}

func TestAlphabet(t *testing.T) {
	letters := newAlphabet([]byte("hello"))
	require.Equal(t, alphabet("ehlo"), letters)
	require.Equal(t, []int{1, 0, 2, 2, 3}, letters.encode([]byte("hello")))
	require.Equal(t, "hello", string(letters.decode(letters.encode([]byte("hello")))))
}
