package sheet

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
)

// Plane is the number of pixels of an image, in each of its three colours.
const Plane = 32 * 32

// Decode reads a PNG, which has to be an opaque 8-bit RGB image of that size.
func Decode(r io.Reader, width, height int) (*image.RGBA, error) {
	var head bytes.Buffer
	config, err := png.DecodeConfig(io.TeeReader(r, &head))
	if err != nil {
		return nil, err
	}
	// Asked before the pixels are read: the header may promise any size.
	if config.Width != width || config.Height != height || config.ColorModel != color.RGBAModel {
		return nil, fmt.Errorf("a sheet of %dx%d pixels where %dx%d in 8-bit RGB are expected", config.Width, config.Height, width, height)
	}
	img, err := png.Decode(io.MultiReader(&head, r))
	if err != nil {
		return nil, err
	}
	return img.(*image.RGBA), nil // what image/png makes of that colour model
}

// Planes separates the colours of one image: pix has its RGBA pixels, width of them at each
// multiple of stride, dst gets the red, the green and the blue plane.
func Planes(dst, pix []byte, width, stride int) {
	red, green, blue := dst[:Plane], dst[Plane:2*Plane], dst[2*Plane:3*Plane]
	for i := range Plane {
		at := i/width*stride + i%width*4
		red[i], green[i], blue[i] = pix[at], pix[at+1], pix[at+2]
	}
}
