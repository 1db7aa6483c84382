package imageio

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	_ "image/jpeg" // image.Decode reads these
	_ "image/png"

	_ "golang.org/x/image/webp"

	"github.com/libtorch-go/libtorch/torch"
)

// decodeGo decodes with a decoder in Go.
func decodeGo(file []byte, o DecodeOptions) (torch.Tensor, error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("expected a JPEG, PNG, GIF or WebP image: %w", err)
	}
	if err := plausible(config.Width, config.Height, o.MaxPixels, possible(format, config, len(file))); err != nil {
		return torch.Tensor{}, err
	}
	img, err := first(file, format, config)
	if err != nil {
		return torch.Tensor{}, fmt.Errorf("it is damaged: %w", err)
	}
	if size := img.Bounds().Size(); size.X != config.Width || size.Y != config.Height {
		return torch.Tensor{}, fmt.Errorf("it is damaged: it has %d x %d pixels, and its header tells of %d x %d", size.X, size.Y,
			config.Width, config.Height)
	}
	rows := rowsOf(img)
	if lossy, ok := img.(*image.YCbCr); ok && format == "webp" {
		rows = webpRows(lossy, opaque)
	} else if lossy, ok := img.(*image.NYCbCrA); ok {
		rows = webpRows(&lossy.YCbCr, func(x, y int) uint8 { return lossy.A[y*lossy.AStride+x] })
	}
	if o.Mode != "UNCHANGED" {
		return pixels(rows, img, channels[o.Mode]), nil
	}
	if whole, ok := img.(*image.NRGBA); ok && format == "webp" && whole.Opaque() {
		return pixels(rows, img, 3), nil
	}
	return unchanged(rows, img), nil
}

// possible is how many pixels a file of n bytes can have.
func possible(format string, config image.Config, n int) int {
	switch format {
	case "jpeg":
		return n * jpegPixels
	case "png":
		bits := 8 // a pixel of palettes and of grey may have one bit only; then Go makes bytes of it
		switch config.ColorModel {
		case color.RGBA64Model, color.NRGBA64Model:
			bits = 48
		case color.RGBAModel, color.NRGBAModel:
			bits = 24
		case color.Gray16Model:
			bits = 16
		default:
			bits = 1
		}
		return n * pngBytes * 8 / bits
	}
	return 1 << 40
}

// first is the image, or the first of a GIF on its canvas.
func first(file []byte, format string, config image.Config) (img image.Image, err error) {
	defer func() {
		if p := recover(); p != nil { // a decoder that a file has led astray
			err = fmt.Errorf("%v", p)
		}
	}()
	if format != "gif" {
		img, _, err = image.Decode(bytes.NewReader(file))
		return img, err
	}
	frame, err := gif.Decode(bytes.NewReader(file))
	canvas := image.Rect(0, 0, config.Width, config.Height)
	if err != nil || frame.Bounds() == canvas {
		return frame, err
	}
	whole := image.NewNRGBA(canvas)
	draw.Draw(whole, frame.Bounds(), frame, frame.Bounds().Min, draw.Src)
	return whole, nil
}

// Grey of colours: the integers of Pillow, and of torchvision for CMYK.
func luma(r, g, b uint8) uint8 {
	return uint8((uint32(r)*19595 + uint32(g)*38470 + uint32(b)*7471 + 0x8000) >> 16)
}

// pixels makes 1 to 4 channels of bytes of an image: grey or red, green and blue, with or without alpha.
func pixels(rows func(y int, row []uint8), img image.Image, n int) torch.Tensor {
	size := img.Bounds().Size()
	out := make([]uint8, size.X*size.Y*n)
	row := make([]uint8, 4*size.X)
	at := 0
	for y := range size.Y {
		rows(y, row)
		for x := 0; x < len(row); x += 4 {
			r, g, b, a := row[x], row[x+1], row[x+2], row[x+3]
			switch n {
			case 1:
				out[at] = luma(r, g, b)
			case 2:
				out[at], out[at+1] = luma(r, g, b), a
			case 3:
				out[at], out[at+1], out[at+2] = r, g, b
			default:
				out[at], out[at+1], out[at+2], out[at+3] = r, g, b, a
			}
			at += n
		}
	}
	return torch.FromSlice(out, size.Y, size.X, n).Permute(2, 0, 1)
}

// rowsOf writes row y of an image as red, green, blue and alpha, which colours are not multiplied by.
func rowsOf(img image.Image) func(y int, row []uint8) {
	min, width := img.Bounds().Min, img.Bounds().Dx()
	switch img := img.(type) {
	case *image.NRGBA:
		return func(y int, row []uint8) { copy(row, img.Pix[y*img.Stride:]) }
	case *image.Gray:
		return func(y int, row []uint8) {
			for x, v := range img.Pix[y*img.Stride : y*img.Stride+width] {
				row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = v, v, v, 255
			}
		}
	case *image.Paletted:
		var palette [256]color.NRGBA
		for i, c := range img.Palette {
			palette[i] = color.NRGBAModel.Convert(c).(color.NRGBA)
		}
		return func(y int, row []uint8) {
			for x, i := range img.Pix[y*img.Stride : y*img.Stride+width] {
				c := palette[i]
				row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = c.R, c.G, c.B, c.A
			}
		}
	case *image.YCbCr:
		return func(y int, row []uint8) {
			for x := range width {
				c := img.YCbCrAt(min.X+x, min.Y+y)
				row[4*x+3] = 255
				row[4*x], row[4*x+1], row[4*x+2] = color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			}
		}
	}
	return func(y int, row []uint8) {
		for x := range width {
			c := color.NRGBAModel.Convert(img.At(min.X+x, min.Y+y)).(color.NRGBA)
			row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = c.R, c.G, c.B, c.A
		}
	}
}

// unchanged keeps the channels and the bits of an image.
func unchanged(rows func(y int, row []uint8), img image.Image) torch.Tensor {
	switch img := img.(type) {
	case *image.Gray:
		return pixels(rows, img, 1)
	case *image.Gray16, *image.NRGBA64, *image.RGBA64:
		return deep(img)
	case interface{ Opaque() bool }:
		if _, alpha := img.(*image.NRGBA); !alpha && img.Opaque() {
			return pixels(rows, img.(image.Image), 3)
		}
	}
	return pixels(rows, img, 4)
}

// deep makes uint16 of an image of 16 bits.
func deep(img image.Image) torch.Tensor {
	area, n := img.Bounds(), 4
	switch img.(type) {
	case *image.Gray16:
		n = 1
	case *image.RGBA64: // PNG's decoder makes this of images without alpha
		n = 3
	}
	out := make([]uint16, 0, area.Dx()*area.Dy()*n)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			c := color.NRGBA64Model.Convert(img.At(x, y)).(color.NRGBA64)
			out = append(out, []uint16{c.R, c.G, c.B, c.A}[:n]...)
		}
	}
	return torch.FromSlice(out, area.Dy(), area.Dx(), n).Permute(2, 0, 1)
}
