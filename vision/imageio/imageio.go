package imageio

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	_ "image/gif" // Decode reads them
	_ "image/jpeg"
	"image/png"
	"io"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// ErrFormat is in the error of [Decode] for what is no image, or a damaged one, or too large.
var ErrFormat = errors.New("not an image that can be read")

// DecodeOptions are the rarer arguments of [Decode].
type DecodeOptions struct {
	MaxPixels int // an image of more is an error before it is decoded; default 64 million
}

// Decode reads a JPEG, PNG or GIF image: uint8 [3, H, W], red, green and blue, on the CPU. What is
// transparent lies on black. It returns [ErrFormat] for anything else, and for an image that is
// damaged or too large; an error of r is in it, too.
func Decode(r io.Reader, opts ...DecodeOptions) (torch.Tensor, error) {
	most := option.One(opts).MaxPixels
	if most == 0 {
		most = 64_000_000
	}
	var head bytes.Buffer
	config, _, err := image.DecodeConfig(io.TeeReader(r, &head))
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("imageio: %w: expected a JPEG, PNG or GIF image: %w", ErrFormat, err)
	}
	if config.Width < 1 || config.Height < 1 || config.Width > most/config.Height {
		return torch.Tensor{}, fmt.Errorf("imageio: %w: it has %d x %d pixels, expected 1 to %d in all", ErrFormat, config.Width,
			config.Height, most)
	}
	img, _, err := image.Decode(io.MultiReader(&head, r))
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("imageio: %w: it is damaged: %w", ErrFormat, err)
	}
	area := img.Bounds()
	flat := image.NewRGBA(image.Rect(0, 0, area.Dx(), area.Dy()))
	draw.Draw(flat, flat.Bounds(), image.Black, image.Point{}, draw.Src)
	draw.Draw(flat, flat.Bounds(), img, area.Min, draw.Over)
	planes := make([]uint8, 3*area.Dx()*area.Dy())
	n := area.Dx() * area.Dy()
	for i := range n {
		planes[i], planes[n+i], planes[2*n+i] = flat.Pix[4*i], flat.Pix[4*i+1], flat.Pix[4*i+2]
	}
	return torch.FromSlice(planes, 3, area.Dy(), area.Dx()), nil
}

// GridOptions are the rarer arguments of [Grid].
type GridOptions struct {
	NRow    int  // images in a row; default 8
	Padding *int // pixels between them, and around them all; default 2
}

// Grid lays images [N, C, H, W] out in rows, as one image [C, height, width] of the same dtype with
// 0 in between: torchvision's make_grid. It panics with a *torch.Error for another number of
// dimensions, or no images.
func Grid(images torch.Tensor, opts ...GridOptions) torch.Tensor {
	o := option.One(opts)
	columns, pad := 8, 2
	if o.NRow > 0 {
		columns = o.NRow
	}
	if o.Padding != nil {
		pad = *o.Padding
	}
	if images.Dim() != 4 || images.Size(0) == 0 || pad < 0 {
		torch.Throw("grid", torch.KindValue, "expected images [N, C, H, W] and padding of 0 or more, got a tensor of shape %v and %d",
			images.Shape(), pad)
	}
	n, c, h, w := images.Size(0), images.Size(1), images.Size(2)+pad, images.Size(3)+pad
	columns = min(columns, n)
	rows := (n + columns - 1) / columns
	var grid torch.Tensor
	torch.NoGrad(func() {
		torch.Scope(func() {
			grid = torch.TensorOptions{DType: images.DType(), Device: images.Device()}.Zeros(c, rows*h+pad, columns*w+pad).Keep()
			for i := range n {
				place := grid.Narrow(1, i/columns*h+pad, h-pad).Narrow(2, i%columns*w+pad, w-pad)
				place.CopyInPlace(images.Select(0, i))
			}
		})
	})
	return grid
}

// Save writes an image [1, H, W] or [3, H, W] as a PNG file, whole or not at all. Bytes are taken as they are,
// floating-point numbers from 0 to 1. It returns an error where the file cannot be written, and
// for other shapes and dtypes.
func Save(path string, img torch.Tensor) error {
	picture, err := toImage(img)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error { return png.Encode(w, picture) })
}

// toImage copies a tensor into an image.
func toImage(img torch.Tensor) (*image.RGBA, error) {
	if img.Dim() != 3 || img.Size(0) != 1 && img.Size(0) != 3 {
		return nil, fmt.Errorf("imageio: the image has shape %v, expected [1, H, W] or [3, H, W]", img.Shape())
	}
	height, width := img.Size(1), img.Size(2)
	var pixels []uint8
	err := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				if img.DType() != torch.Uint8 { // as torchvision's save_image rounds
					img = img.MulScalar(255).AddScalar(0.5).Clamp(0, 255).To(torch.Uint8)
				}
				pixels = torch.Values[uint8](img.Expand(3, -1, -1))
			})
		})
	})
	if err != nil {
		return nil, err
	}
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	n := height * width
	for i := range n {
		at := picture.Pix[4*i : 4*i+4]
		at[0], at[1], at[2], at[3] = pixels[i], pixels[n+i], pixels[2*n+i], 255
	}
	return picture, nil
}
