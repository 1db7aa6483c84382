package main

import (
	"maps"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
)

// Fifty steps from the same weights and the same CIFAR-10 images: every loss, and all
// weights and buffers after the last step, have Python's bits. One difference in the last
// bit of one gradient would have grown into all of them by then.
func TestResNet18FiftySteps(t *testing.T) {
	if testing.Short() {
		t.Skip("fifty training steps on both sides take half a minute")
	}
	const steps, batch = 50, 2
	torch.SetNumThreads(1)
	for _, precision := range []string{"fp32", "bf16"} {
		t.Run(precision, func(t *testing.T) {
			torchtest.NoLeaks(t)
			name := "ResNet-18 " + precision
			inputs := startingPoint(steps * batch)
			training, err := newTraining(name, inputs, batch)
			require.NoError(t, err)

			// Python has its own copy of the inputs by file: both sides run at once.
			losses := make(chan []int32, 1)
			go func() { losses <- training.losses(steps) }()
			want := peer.Run(t, "python/parity.py", inputs, name, strconv.Itoa(batch), strconv.Itoa(steps))
			got := <-losses

			require.Equal(t, torch.Values[int32](want["losses"]), got, "bits of the losses")
			for _, bits := range got {
				require.False(t, math.IsNaN(float64(math.Float32frombits(uint32(bits)))), "a NaN is equal to too much")
			}
			compared := 0
			for name, tensor := range nn.StateDict(training.model) {
				require.Contains(t, want, name)
				torchtest.Equal(t, tensor, want[name])
				compared++
			}
			require.Equal(t, len(want)-1, compared, "tensors in the state")
		})
	}
}

// startingPoint is n images of CIFAR-10 with their labels, and the weights of a new model.
func startingPoint(n int) map[string]torch.Tensor {
	torch.ManualSeed(18)
	inputs := maps.Collect(nn.StateDict(newModel()))
	images, labels := cifarslice.Load(true).Head(n).Tensors()
	inputs["images"], inputs["labels"] = images.To(torch.Float32).DivScalar(127.5).SubScalar(1), labels
	return inputs
}
