package export

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// An infinite number is seen by the results whose kernel it meets, and by no neighbours, though two numbers of bfloat16 are multiplied
// at once.
func TestOwnConvolutionsInfinity(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		o := F.ConvOptions{Padding: []int{1, 1}}
		for _, dtype := range []torch.DType{torch.Float32, torch.BFloat16} {
			x, w := torch.RandN(2, 3, 9, 8), torch.RandN(24, 3, 3, 3).To(dtype)
			x.Index(0, 1, 4, 5).FillInPlace(math.Inf(1))
			want := F.Conv2d(x, w.To(torch.Float32), torch.Tensor{}, o).IsFinite()
			got, ok := ownConvolution(t, ownForm{}, x.To(dtype), w, torch.Tensor{}, torch.Tensor{}, []int{1, 1}, []int{1, 1}, "none")
			if ok {
				require.True(t, got.IsFinite().Equal(want), dtype)
			}
		}
	})
}

// What is not a number stays so behind every activation, as with torch's.
func TestOwnConvolutionsNaN(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		for activation := range activations {
			for _, dtype := range []torch.DType{torch.Float32, torch.BFloat16} {
				for _, tile := range []int{0, 2, 4, eachAlone} {
					x, w := torch.Full([]int{1, 16, 4, 4}, math.NaN()).To(dtype), torch.Ones(32, 16, 3, 3).To(dtype)
					if tile == eachAlone {
						w = torch.Ones(16, 1, 3, 3).To(dtype)
					}
					var none torch.Tensor
					y, ok := ownConvolution(t, ownForm{tile: tile}, x, w, none, none, []int{1, 1}, []int{1, 1}, activation)
					if ok {
						require.True(t, y.IsNaN().All().Item().(bool), activation)
					}
				}
			}
		}
	})
}
