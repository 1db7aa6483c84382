package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/vision/datasets"
)

// open makes the loaders of the images to train on and to test with.
func open(ctx context.Context, out io.Writer, dev torch.Device) (training, test *data.Loader[data.Batch], err error) {
	if training, err = loader(ctx, out, dev, true); err != nil {
		return nil, nil, err
	}
	test, err = loader(ctx, out, dev, false)
	return training, test, err
}

// loader is that of the training or the test images, into pinned memory where they go to a
// card. Images are uint8 [N, 1, 28, 28]; those to train on are shuffled.
func loader(ctx context.Context, out io.Writer, dev torch.Device, training bool) (*data.Loader[data.Batch], error) {
	n := *limit
	if !training {
		n = (n + 4) / 5
	}
	images, labels, err := load(ctx, out, training, n)
	if err != nil {
		return nil, err
	}
	o := data.LoaderOptions{BatchSize: *size, Seed: *seed, Workers: *workers, PinMemory: dev.IsCUDA()}
	o.Shuffle, o.DropLast = training, training && *graph // the batches of a graph are of one size
	return data.NewLoader(data.NewTensorDataset(images, labels), o)
}

// load is the first n images with their labels, or all of them if n is 0.
func load(ctx context.Context, out io.Writer, training bool, n int) (images, labels torch.Tensor, err error) {
	if *drawn {
		if n == 0 {
			n = 10_000
		}
		images, labels = draw(n, *seed, training)
		return images, labels, nil
	}
	logf := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	set, err := datasets.LoadMNIST(ctx, *root, training, datasets.MNISTOptions{Logf: logf})
	if err != nil {
		return images, labels, err
	}
	if n > 0 {
		set = set.Head(n)
	}
	images, labels = set.Tensors()
	return images, labels, nil
}

// normalise brings bytes to the device, as numbers of mean 0 and deviation 1.
func normalise(images torch.Tensor, dev torch.Device) torch.Tensor {
	pixels := images.To(dev, torch.NonBlocking).To(torch.Float32).DivScalar(255)
	return pixels.SubScalar(0.1307).DivScalar(0.3081)
}

const side = 28

// segments are the strokes of a digit on a calculator, as bits: top, upper left and right,
// middle, lower left and right, bottom.
var segments = [10]uint8{0b1110111, 0b0100100, 0b1011101, 0b1101101, 0b0101110, 0b1101011, 0b1111011, 0b0100101, 0b1111111, 0b1101111}

// strokes are the corners of the segments, in units of half the digit's width: x, y, width, height.
var strokes = [7][4]int{{0, 0, 2, 0}, {0, 0, 0, 2}, {2, 0, 0, 2}, {0, 2, 2, 0}, {0, 2, 0, 2}, {2, 2, 0, 2}, {0, 4, 2, 0}}

// draw makes n images of digits, of several sizes and places, with noise.
func draw(n int, seed uint64, training bool) (images, labels torch.Tensor) {
	stream := uint64(0)
	if training {
		stream = 1
	}
	r := rand.New(rand.NewPCG(seed, stream))
	pixels, digits := make([]uint8, n*side*side), make([]int64, n)
	for i := range n {
		image, digit := pixels[i*side*side:(i+1)*side*side], i%10
		digits[i] = int64(digit)
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
	return torch.FromSlice(pixels, n, 1, side, side), torch.FromSlice(digits)
}

// line draws a stroke two pixels wide.
func line(image []uint8, x, y, width, height int) {
	for dy := range height + 2 {
		for dx := range width + 2 {
			image[(y+dy)*side+x+dx] = 255
		}
	}
}
