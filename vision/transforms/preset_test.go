package transforms

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// The preset is torchvision's, whose tensor path is a few lines of Python.
func TestImageClassificationEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	torch.Scope(func() {
		bytes := torch.TensorOptions{DType: torch.Uint8}
		inputs := peer.Tensors{
			"wide": bytes.RandIntN(256, 3, 300, 401), "high": bytes.RandIntN(256, 3, 97, 55),
			"batch": bytes.RandIntN(256, 2, 3, 40, 63), "numbers": torch.Rand(3, 50, 73),
		}
		want := peer.Run(t, "testdata/preset.py", inputs)
		for name, x := range inputs {
			torchtest.Equal(t, ImageClassification{}.Apply(x), want[name])
			small := ImageClassification{Resize: 37, Crop: 30, Mean: &[3]float64{0.5, 0.5, 0.5}, Std: &[3]float64{0.25, 0.5, 1}}
			torchtest.Equal(t, small.Apply(x), want[name+" small"])
			torchtest.Equal(t, ImageClassification{Interpolation: "bicubic"}.Apply(x), want[name+" bicubic"])
		}
		for want, x := range map[string]torch.Tensor{
			"got [4 8 8]":                     torch.Ones(4, 8, 8),
			"got [8 8]":                       torch.Ones(8, 8),
			"got 130 x 2 pixels, 224 and 256": torch.Ones(3, 2, 130),
			"got 0 x 2 pixels":                torch.Ones(3, 2, 0),
		} {
			require.ErrorContains(t, torch.Try(func() { ImageClassification{}.Apply(x) }), want)
		}
		require.ErrorContains(t, torch.Try(func() { ImageClassification{Interpolation: "nearest"}.Apply(torch.Ones(3, 9, 9)) }), `got "nearest"`)
		require.ErrorContains(t, torch.Try(func() { ImageClassification{Crop: 300}.Apply(torch.Ones(3, 9, 9)) }), "300 and 256")
	})
}
