package imageio

import (
	"image/color"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestDrawingEqualsTorchvision(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(4)
		img := torch.TensorOptions{DType: torch.Uint8}.RandIntN(256, 3, 30, 41)
		boxes := torch.FromSlice([]float64{2, 3, 20, 22, 10.7, 5.2, 40, 29, 15, 15, 16, 28}, 3, 4)
		masks := torch.Rand(3, 30, 41).GtScalar(0.6)
		want := peer.Run(t, "testdata/draw.py", peer.Tensors{"image": img, "boxes": boxes, "masks": masks})
		red := []color.RGBA{{250, 10, 20, 255}}
		all := append(red, color.RGBA{0, 255, 7, 255}, color.RGBA{9, 9, 200, 255})
		torchtest.Equal(t, DrawBoundingBoxes(img, boxes, DrawOptions{Colors: all}), want["thin"])
		torchtest.Equal(t, DrawBoundingBoxes(img, boxes, DrawOptions{Colors: red, Width: 3}), want["thick"])
		torchtest.Equal(t, DrawSegmentationMasks(img, masks, DrawOptions{Colors: all}), want["masks"])
		torchtest.Equal(t, DrawSegmentationMasks(img, masks.Select(0, 0), DrawOptions{Colors: red, Alpha: new(0.3)}), want["one mask"])
		require.Equal(t, img.Shape(), DrawBoundingBoxes(img, boxes.AddScalar(25)).Shape(), "what lies outside is left out")
		for want, fn := range map[string]func(){
			"expected an image uint8 [3, H, W]": func() { DrawBoundingBoxes(img.To(torch.Float32), boxes) },
			"expected boxes [N, 4]":             func() { DrawBoundingBoxes(img, boxes.Flatten()) },
			"box 0 is not left":                 func() { DrawBoundingBoxes(img, boxes.Flip(1)) },
			"2 colours for 3":                   func() { DrawBoundingBoxes(img, boxes, DrawOptions{Colors: all[:2]}) },
			"expected masks of bools":           func() { DrawSegmentationMasks(img, boxes) },
			"the same height and width":         func() { DrawSegmentationMasks(img, masks.Narrow(1, 0, 5)) },
		} {
			require.ErrorContains(t, torch.Try(fn), want)
		}
	})
}
