package datasets

import (
	"bytes"
	_ "embed"
	"fmt"
	"image"
	"image/png"
)

// Two contact sheets of real CIFAR-10 images, ten a row and one column a class:
// the first 110 of each class in data_batch_1.bin, the first 25 in test_batch.bin.
var (
	//go:embed slice/train.png
	trainSheet []byte
	//go:embed slice/test.png
	testSheet []byte
)

// CIFAR10Slice returns the part of the data set that is compiled into the program:
// 1,100 images to train on or 250 to test with. Their classes take turns, so that
// every [CIFAR10.Head] of a multiple of ten is balanced.
func CIFAR10Slice(train bool) *CIFAR10 {
	sheet := testSheet
	if train {
		sheet = trainSheet
	}
	d, err := readSheet(sheet)
	if err != nil {
		panic(err) // the sheet is part of the program
	}
	return d
}

func readSheet(encoded []byte) (*CIFAR10, error) {
	img, err := png.Decode(bytes.NewReader(encoded))
	if err != nil {
		return nil, fmt.Errorf("datasets: built-in slice: %w", err)
	}
	const perRow = 10
	rows := img.Bounds().Dy() / cifarSide
	sheet, err := rgba(img, perRow*cifarSide, rows*cifarSide)
	if err != nil {
		return nil, fmt.Errorf("datasets: built-in slice: %w", err)
	}
	d := newCIFAR10(perRow * rows)
	d.Fallback = true
	for i := range perRow * rows {
		corner := i/perRow*cifarSide*sheet.Stride + i%perRow*cifarSide*4
		d.Images = d.Images[:len(d.Images)+cifarImage]
		planes(d.Images[i*cifarImage:], sheet.Pix[corner:], cifarSide, sheet.Stride)
		d.Labels = append(d.Labels, uint8(i%perRow))
	}
	return d, nil
}

// rgba returns img, which has to be an opaque 8-bit RGB image of that size, as
// what image/png makes of such a file.
func rgba(img image.Image, width, height int) (*image.RGBA, error) {
	sheet, ok := img.(*image.RGBA)
	if want := image.Rect(0, 0, width, height); !ok || sheet.Rect != want {
		return nil, fmt.Errorf("a sheet of %v, %T, where %v in 8-bit RGB is expected", img.Bounds(), img, want)
	}
	return sheet, nil
}

// planes separates the colours of one image: pix has its RGBA pixels, width of
// them at each multiple of stride, dst gets the three planes.
func planes(dst, pix []byte, width, stride int) {
	red, green, blue := dst[:cifarPlane], dst[cifarPlane:2*cifarPlane], dst[2*cifarPlane:cifarImage]
	for i := range cifarPlane {
		at := i/width*stride + i%width*4
		red[i], green[i], blue[i] = pix[at], pix[at+1], pix[at+2]
	}
}
