package gocv

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	_ "image/gif"  // IMRead reads it
	_ "image/jpeg" // IMRead reads it
	_ "image/png"  // IMRead reads it
	"os"
)

// IMReadFlag says how an image is read.
type IMReadFlag int

// How an image is read.
const (
	IMReadGrayScale IMReadFlag = 0 // in one channel
	IMReadColor     IMReadFlag = 1 // in three channels: blue, green, red
)

// IMRead reads an image from a file. Where that fails the Mat is empty.
func IMRead(name string, flags IMReadFlag) Mat {
	data, err := os.ReadFile(name)
	if err != nil {
		return NewMat()
	}
	m, err := IMDecode(data, flags)
	if err != nil {
		return NewMat()
	}
	return m
}

// IMDecode reads an image from memory: a JPEG, PNG or GIF.
func IMDecode(buf []byte, flags IMReadFlag) (Mat, error) {
	img, _, err := image.Decode(bytes.NewReader(buf))
	if err != nil {
		return NewMat(), err
	}
	if gray, ok := img.(*image.Gray); ok && flags == IMReadGrayScale {
		return ImageGrayToMatGray(gray)
	}
	m, err := ImageToMatRGB(img)
	if err == nil && flags == IMReadGrayScale {
		CvtColor(m, &m, ColorBGRToGray)
	}
	return m, err
}

// ImageToMatRGB makes a Mat of an image, in three channels: blue, green, red.
func ImageToMatRGB(img image.Image) (Mat, error) { return fromImage(img, MatTypeCV8UC3), nil }

// ImageToMatRGBA makes a Mat of an image, in four channels: blue, green, red, alpha.
func ImageToMatRGBA(img image.Image) (Mat, error) { return fromImage(img, MatTypeCV8UC4), nil }

func fromImage(img image.Image, kind MatType) Mat {
	bounds := img.Bounds()
	m := NewMatWithSize(bounds.Dy(), bounds.Dx(), kind)
	at := m.p.bytes
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b, a := img.At(x, y).RGBA()
			at[0], at[1], at[2] = byte(b>>8), byte(g>>8), byte(r>>8)
			if kind == MatTypeCV8UC4 {
				at[3] = byte(a >> 8)
			}
			at = at[kind.channels():]
		}
	}
	return m
}

// ImageGrayToMatGray makes a Mat of one channel of an image.
func ImageGrayToMatGray(img *image.Gray) (Mat, error) {
	bounds := img.Bounds()
	m := NewMatWithSize(bounds.Dy(), bounds.Dx(), MatTypeCV8UC1)
	for y := range bounds.Dy() {
		from := img.PixOffset(bounds.Min.X, bounds.Min.Y+y)
		copy(m.p.bytes[y*m.p.step:(y+1)*m.p.step], img.Pix[from:])
	}
	return m, nil
}

// ToImage makes an image of a Mat of bytes: gray if there is one channel, else of blue, green, red and perhaps alpha.
func (m *Mat) ToImage() (image.Image, error) {
	if m.p.kind.float() || len(m.p.dims) != 2 {
		return nil, errors.New("ToImage: the Mat is no image of bytes")
	}
	size, pixels, n := image.Rect(0, 0, m.Cols(), m.Rows()), m.ToBytes(), m.Channels()
	if n == 1 {
		return &image.Gray{Pix: pixels, Stride: m.Cols(), Rect: size}, nil
	}
	img := image.NewRGBA(size)
	for i := range m.Total() {
		p := pixels[i*n:]
		c := color.RGBA{p[2], p[1], p[0], 255}
		if n == 4 {
			c.A = p[3]
		}
		img.SetRGBA(i%m.Cols(), i/m.Cols(), c)
	}
	return img, nil
}

// ColorConversionCode says which colours become which.
type ColorConversionCode int

// What CvtColor can do with images of bytes.
const (
	ColorBGRToRGB  ColorConversionCode = 4 // swap blue and red; ColorRGBToBGR is the same
	ColorBGRToGray ColorConversionCode = 6 // one channel
)

// CvtColor writes src to dst in other colours.
func CvtColor(src Mat, dst *Mat, code ColorConversionCode) {
	from := src.p.dense()
	if from.kind != MatTypeCV8UC3 {
		panic("CvtColor: the image does not have three channels of bytes")
	}
	switch code {
	case ColorBGRToRGB:
		for p := from.bytes; len(p) > 0; p = p[3:] {
			p[0], p[2] = p[2], p[0]
		}
		dst.put(from)
	case ColorBGRToGray:
		to := zeros(MatTypeCV8UC1, from.dims...)
		for i := range to.bytes {
			p := from.bytes[3*i:]
			to.bytes[i] = byte((int(p[0])*1868 + int(p[1])*9617 + int(p[2])*4899 + 1<<13) >> 14)
		}
		dst.put(to)
	default:
		panic("CvtColor: the stand-in for gocv knows ColorBGRToRGB and ColorBGRToGray alone")
	}
}
