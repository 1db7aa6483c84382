package transforms

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Parts have the form that was asked for, and enough of a box whose middle is in them.
func TestRandomIoUCrop(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		s := Sample{Image: torch.Zeros(3, 60, 80), Boxes: torch.FromNested([][]float32{{10, 10, 40, 50}, {60, 5, 70, 20}})}
		cut := RandomIoUCrop{MinScale: 0.4, MaxScale: 0.9, MinAspectRatio: 0.8, MaxAspectRatio: 1.5, SamplerOptions: []float64{0.3}}
		for seed := range uint64(200) {
			steps := cut.plan(s, rand.New(rand.NewPCG(seed, 0)))
			require.Len(t, steps, 2, "a part was found")
			part := steps[0].(crop)
			form := float64(part.Width) / float64(part.Height)
			require.True(t, 0.8 <= form && form <= 1.5, form)
			require.True(t, part.Width >= 32 && part.Width <= 72 && part.Height >= 24 && part.Height <= 54, part)
			require.True(t, part.Left >= 0 && part.Left+part.Width <= 80 && part.Top >= 0 && part.Top+part.Height <= 60, part)
			inside, best := part.has([][]float64{{10, 10, 40, 50}, {60, 5, 70, 20}})
			require.GreaterOrEqual(t, best, 0.3)
			out := cut.Apply(s, rand.New(rand.NewPCG(seed, 0)))
			require.Equal(t, []int{3, part.Height, part.Width}, out.Image.Shape())
			for i, box := range torch.Matrix[float32](out.Boxes) {
				require.Equal(t, inside[i], box[2] > box[0] && box[3] > box[1], "box %d is %v", i, box)
			}
		}
		r := rand.New(rand.NewPCG(0, 0))
		require.Empty(t, RandomIoUCrop{SamplerOptions: []float64{1}}.plan(s, r), "1 leaves the image as it is")
		require.Empty(t, RandomIoUCrop{SamplerOptions: []float64{0.99}, MaxScale: 0.4}.plan(s, r), "so does what cannot be met")
		none := Sample{Image: s.Image, Boxes: s.Boxes.Narrow(0, 0, 0)}
		require.Empty(t, RandomIoUCrop{}.plan(none, r))
		require.ErrorContains(t, torch.Try(func() { RandomIoUCrop{}.Apply(Sample{Image: s.Image}, nil) }), "the sample has no boxes")
	})
}
