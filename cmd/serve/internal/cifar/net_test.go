package cifar

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
)

// The weights know the images of CIFAR-10 that are in this repository and that they were not trained on.
func TestWeights(t *testing.T) {
	torchtest.NoLeaks(t)
	require.Less(t, len(Weights), 1<<20)
	torch.Scope(func() {
		file, err := safetensors.Read(bytes.NewReader(Weights), int64(len(Weights)))
		require.NoError(t, err)
		net := nn.Eval(New())
		require.NoError(t, nn.LoadStateDict(net, file.Tensors))
		set := cifarslice.Load(false)
		require.Equal(t, set.Classes(), Classes())
		images, labels := set.Tensors()
		torch.Inference(func() {
			right := net.Forward(images.To(torch.Float32).DivScalar(255)).ArgMaxDim(1).Eq(labels)
			require.Greater(t, right.To(torch.Float32).Mean().Float64(), 0.82, "86.75 % of all 10,000")
		})
	})
}
