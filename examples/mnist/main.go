// Mnist trains a small convolutional network to read handwritten digits.
//
//	go run ./examples/mnist
package main

import (
	"context"
	"io"

	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/examples/internal/train"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/vision/datasets"
)

// SimpleCNN is two convolutions and two linear layers: scores [N, 10] of images
// [N, 1, 28, 28].
type SimpleCNN struct {
	Conv1 *nn.Conv2d  `torch:"conv1"`
	Conv2 *nn.Conv2d  `torch:"conv2"`
	FC1   *nn.Linear  `torch:"fc1"`
	Drop  *nn.Dropout `torch:"dropout"`
	FC2   *nn.Linear  `torch:"fc2"`
}

func newSimpleCNN() *SimpleCNN {
	padded := nn.ConvOptions{Padding: 1}
	return &SimpleCNN{
		Conv1: nn.NewConv2d(1, 32, 3, padded),
		Conv2: nn.NewConv2d(32, 64, 3, padded),
		FC1:   nn.NewLinear(64*7*7, 128),
		Drop:  nn.NewDropout(0.5),
		FC2:   nn.NewLinear(128, 10),
	}
}

// Forward implements [nn.Layer].
func (n *SimpleCNN) Forward(x torch.Tensor) torch.Tensor {
	x = F.MaxPool2d(n.Conv1.Forward(x).ReLU(), 2)
	x = F.MaxPool2d(n.Conv2.Forward(x).ReLU(), 2)
	x = n.FC1.Forward(x.Reshape(x.Size(0), -1)).ReLU()
	return n.FC2.Forward(n.Drop.Forward(x))
}

func main() { cli.Main("mnist", command) }

func command(ctx context.Context, args []string, out io.Writer) error {
	f := train.NewFlags("mnist", "mnist trains a small convolutional network on MNIST.", train.Defaults{Epochs: 3, Batch: 64, LR: 1e-3, Every: 100})
	images := f.AddImages("mnist")
	drawn := f.Bool("drawn", false, "digits that the program draws itself, instead of MNIST")
	if err := f.Parse(args, out); err != nil {
		return err
	}
	if *drawn && images.Root != "" {
		return cli.Usagef("-drawn needs no -data")
	}
	return f.Run(func() error { return learn(ctx, f, images, *drawn) })
}

func learn(ctx context.Context, f *train.Flags, images *train.Images, drawn bool) error {
	open := func(training bool) (train.Half, error) { return openMNIST(ctx, f, images, training) }
	if drawn {
		open = func(training bool) (train.Half, error) {
			return draw(images.Count(training, 60_000), f.Seed, training), nil
		}
	}
	halves, err := f.Loaders(images, open)
	if err != nil {
		return err
	}
	model := newSimpleCNN()
	defer nn.Close(model)
	nn.To(model, f.Device)
	opt := optim.NewAdam(nn.Parameters(model), f.LR)
	defer opt.Close()
	return f.Classify(ctx, model, opt, halves, normalise)
}

// normalise brings pixels to mean 0 and standard deviation 1.
func normalise(pixels torch.Tensor) torch.Tensor {
	const mean, std = 0.1307, 0.3081
	return pixels.DivScalar(255).SubScalar(mean).DivScalar(std)
}

func openMNIST(ctx context.Context, f *train.Flags, images *train.Images, training bool) (train.Half, error) {
	set, err := datasets.LoadMNIST(ctx, images.Root, training, datasets.MNISTOptions{Logf: f.Printf})
	if err != nil {
		return train.Half{}, err
	}
	pixels, labels := set.Head(images.Count(training, set.Len())).Tensors()
	return train.Half{Images: pixels, Labels: labels}, nil
}
