package datasets

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/vision/imageio"
)

// readIndices reads a PNG whose pixels are numbers, uint8 [H, W]: places in a palette, or greys.
func readIndices(path string) (torch.Tensor, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("datasets: %w", err)
	}
	const mostPixels = 64_000_000
	config, err := png.DecodeConfig(bytes.NewReader(raw))
	if err == nil && config.Width > mostPixels/max(1, config.Height) {
		err = fmt.Errorf("%d x %d pixels", config.Width, config.Height)
	}
	var img image.Image
	if err == nil {
		img, err = png.Decode(bytes.NewReader(raw))
	}
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("datasets: %s: %w: %w", path, imageio.ErrFormat, err)
	}
	size := img.Bounds().Size()
	switch img := img.(type) {
	case *image.Paletted:
		return torch.FromSlice(img.Pix, size.Y, size.X), nil
	case *image.Gray:
		return torch.FromSlice(img.Pix, size.Y, size.X), nil
	}
	return torch.Tensor{}, fmt.Errorf("datasets: %s: %w: its pixels are no numbers", path, imageio.ErrFormat)
}
