package cifarslice

import (
	"bytes"
	_ "embed"
	"fmt"

	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/datasets/internal/sheet"
)

// Two contact sheets of real CIFAR-10 images, ten a row and one column a class:
// the first 110 of each class in data_batch_1.bin, the first 25 in test_batch.bin.
var (
	//go:embed train.png
	trainSheet []byte
	//go:embed test.png
	testSheet []byte
)

const (
	perRow    = 10
	side      = 32
	trainRows = 110
	testRows  = 25
)

// Load returns the 1,100 images to train on or the 250 to test with. Their classes take turns,
// so that every [datasets.CIFAR10.Head] of a multiple of ten is balanced.
func Load(train bool) *datasets.CIFAR10 {
	encoded, rows := testSheet, testRows
	if train {
		encoded, rows = trainSheet, trainRows
	}
	pixels, err := sheet.Decode(bytes.NewReader(encoded), perRow*side, rows*side)
	if err != nil {
		panic(fmt.Sprintf("cifarslice: %v", err)) // the sheet is part of the program
	}
	const size = 3 * sheet.Plane
	d := &datasets.CIFAR10{Images: make([]byte, perRow*rows*size), Labels: make([]uint8, perRow*rows)}
	for i := range d.Labels {
		corner := i/perRow*side*pixels.Stride + i%perRow*side*4
		sheet.Planes(d.Images[i*size:], pixels.Pix[corner:], side, pixels.Stride)
		d.Labels[i] = uint8(i % perRow)
	}
	return d
}
