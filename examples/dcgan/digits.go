package main

import (
	"context"
	"flag"
	"log"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/vision/datasets"
)

var (
	root   = flag.String("data", "", "folder with mnist in it (default a `folder` in the user's cache)")
	limit  = flag.Int("limit", 0, "images to learn from; 0 is all")
	epochs = flag.Int("epochs", 2, "passes over the images")
	size   = flag.Int("b", 64, "images in a batch")
	seed   = flag.Uint64("seed", 0, "seed of weights, order and noise")
)

// initialise is the tutorial's weights_init: convolutions are drawn around 0, scales of batch norms around 1.
func initialise(module any) {
	switch m := module.(type) {
	case *nn.Conv2d:
		nninit.Normal(m.Weight, 0, 0.02)
	case *nn.ConvTranspose2d:
		nninit.Normal(m.Weight, 0, 0.02)
	case *nn.BatchNorm2d:
		nninit.Normal(m.Weight, 1, 0.02)
		nninit.Constant(m.Bias, 0)
	}
}

// digits is a loader of MNIST's images, with a frame around them: [N, 1, 32, 32] from -1 to 1.
func digits(ctx context.Context) (*data.Loader[data.Batch], error) {
	set, err := datasets.LoadMNIST(ctx, *root, true, datasets.MNISTOptions{Logf: log.Printf})
	if err != nil {
		return nil, err
	}
	if *limit > 0 {
		set = set.Head(*limit)
	}
	bytes, labels := set.Tensors()
	images := F.Pad(bytes.To(torch.Float32).DivScalar(127.5).SubScalar(1), []int{2, 2, 2, 2}, F.PadOptions{Value: -1})
	return data.NewLoader(data.NewTensorDataset(images, labels), data.LoaderOptions{BatchSize: *size, Shuffle: true, Seed: *seed})
}
