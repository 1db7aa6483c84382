package main

import (
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/examples/internal/train"
	"github.com/libtorch-go/libtorch/torch"
)

const side = 28

// segments are the strokes of a digit on a calculator, as bits: top, upper left and right,
// middle, lower left and right, bottom.
var segments = [10]uint8{0b1110111, 0b0100100, 0b1011101, 0b1101101, 0b0101110, 0b1101011, 0b1111011, 0b0100101, 0b1111111, 0b1101111}

// strokes are the corners of the segments, in units of half the digit's width: x, y, width, height.
var strokes = [7][4]int{{0, 0, 2, 0}, {0, 0, 0, 2}, {2, 0, 0, 2}, {0, 2, 2, 0}, {0, 2, 0, 2}, {2, 2, 0, 2}, {0, 4, 2, 0}}

// draw makes n images of digits, of several sizes and places, with noise.
func draw(n int, seed uint64, training bool) train.Half {
	stream := uint64(0)
	if training {
		stream = 1
	}
	r := rand.New(rand.NewPCG(seed, stream))
	pixels, labels := make([]uint8, n*side*side), make([]int64, n)
	for i := range n {
		image, digit := pixels[i*side*side:(i+1)*side*side], i%10
		labels[i] = int64(digit)
		for p := range image {
			image[p] = uint8(r.IntN(60))
		}
		unit := 3 + r.IntN(3)
		x, y := 2+r.IntN(side-4-2*unit), 2+r.IntN(side-4-4*unit)
		for s, at := range strokes {
			if segments[digit]>>s&1 == 1 {
				line(image, x+at[0]*unit, y+at[1]*unit, at[2]*unit, at[3]*unit)
			}
		}
	}
	return train.Half{Images: torch.FromSlice(pixels, n, 1, side, side), Labels: torch.FromSlice(labels)}
}

// line draws a stroke two pixels wide.
func line(image []uint8, x, y, width, height int) {
	for dy := range height + 2 {
		for dx := range width + 2 {
			image[(y+dy)*side+x+dx] = 255
		}
	}
}
