package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

const (
	classes = 10
	side    = 32

	// CIFAR-10 has 50,000 images to train on and 10,000 to validate on.
	trainPerVal = 5
)

// A half is the training or the validation images.
type half struct {
	images torch.Tensor // uint8 [N, 3, 32, 32]
	labels torch.Tensor // int64 [N]
	of     int          // how many there would be
}

func (h half) len() int { return h.images.Size(0) }

// imageSets is what a run learns from and is measured by.
type imageSets struct {
	train, val half
	source     string // where they come from
}

// Close frees the images.
func (s *imageSets) Close() { torch.Close(s.train.images, s.train.labels, s.val.images, s.val.labels) }

// openImages obtains the images, as many as the flags ask for. It reports its steps to
// out.
func openImages(ctx context.Context, c *config, out io.Writer) (*imageSets, error) {
	if c.synthetic {
		return syntheticImages(c), nil
	}
	train, val, err := loadCIFAR10(ctx, c.dataDir, out)
	if err != nil {
		return nil, err
	}
	sets := &imageSets{source: "CIFAR-10"}
	if c.dataDir == sliceName {
		sets.source = "the slice of CIFAR-10 in this program"
	}
	n, m := c.counts(train.Len(), val.Len())
	sets.train, sets.val = takeHalf(train, n), takeHalf(val, m)
	return sets, nil
}

// counts are how many images to train and to validate on, of those that exist. A limit
// keeps the proportion of the two.
func (c *config) counts(train, val int) (int, int) {
	if c.limit == 0 {
		return train, val
	}
	return min(c.limit, train), min(max(1, c.limit/trainPerVal), val)
}

// sliceName, as -data, stands for the images that are compiled into the program.
const sliceName = "slice"

func loadCIFAR10(ctx context.Context, root string, out io.Writer) (train, val *datasets.CIFAR10, err error) {
	if root == sliceName {
		return cifarslice.Load(true), cifarslice.Load(false), nil
	}
	options := datasets.CIFAR10Options{Logf: func(format string, args ...any) {
		fmt.Fprintf(out, format+"\n", args...)
	}}
	train, err = datasets.LoadCIFAR10(ctx, root, true, options)
	if err == nil {
		val, err = datasets.LoadCIFAR10(ctx, root, false, options)
	}
	if errors.Is(err, datasets.ErrUnavailable) {
		err = fmt.Errorf("%w; -data %s takes the 1,350 images in this program", err, sliceName)
	}
	return train, val, err
}

func takeHalf(set *datasets.CIFAR10, n int) half {
	images, labels := set.Head(n).Tensors()
	return half{images, labels, set.Len()}
}

// syntheticImages are random, and as many as CIFAR-10 has.
func syntheticImages(c *config) *imageSets {
	random := func(n, of int) half {
		pixels, class := torch.TensorOptions{DType: torch.Uint8}, torch.TensorOptions{DType: torch.Int64}
		return half{pixels.RandIntN(256, n, 3, side, side), class.RandIntN(classes, n), of}
	}
	const train, val = 50_000, 50_000 / trainPerVal
	n, m := c.counts(train, val)
	return &imageSets{random(n, train), random(m, val), "random images"}
}

// newLoaders makes the loader of each half; that of the training images shuffles and
// augments them.
func newLoaders(c *config, sets *imageSets) (train, val *data.Loader[data.Batch], err error) {
	options := data.LoaderOptions{BatchSize: c.Batch, Seed: c.Seed, Workers: c.workers, PinMemory: c.device.IsCUDA()}
	val, err = data.NewLoader(data.NewTensorDataset(sets.val.images, sets.val.labels), options)
	if err != nil {
		return nil, nil, err
	}
	options.Sampler, options.DropLast = data.Random(sets.train.len(), c.Seed), c.Graph
	if c.group != nil {
		options.Sampler = data.Shard(options.Sampler, c.rank(), c.ranks)
		options.Seed += uint64(c.rank()) // of the augmentation
	}
	augmented := data.Map(data.NewTensorDataset(sets.train.images, sets.train.labels), augment)
	train, err = data.NewLoader(augmented, options)
	if err == nil && train.Len() == 0 {
		err = usagef("-graph needs whole batches, but %d images are fewer than -b %d", sets.train.len(), c.Batch)
	}
	return train, val, err
}

// augment cuts each image out of a frame of 4 black pixels at a random place, and mirrors
// half of them.
func augment(b data.Batch, r *rand.Rand) data.Batch {
	b.Input = transforms.EachRandomHorizontalFlip(transforms.EachRandomCrop(b.Input, side, 4, r), r)
	return b
}
