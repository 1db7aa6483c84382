// Cifar10 trains the network of PyTorch's tutorial "Training a Classifier" on CIFAR-10.
//
//	go run ./examples/cifar10
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/examples/internal/train"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
)

// Net is the tutorial's: scores [N, 10] of images [N, 3, 32, 32].
type Net struct {
	Conv1 *nn.Conv2d `torch:"conv1"`
	Conv2 *nn.Conv2d `torch:"conv2"`
	FC1   *nn.Linear `torch:"fc1"`
	FC2   *nn.Linear `torch:"fc2"`
	FC3   *nn.Linear `torch:"fc3"`
}

func newNet() *Net {
	return &Net{
		Conv1: nn.NewConv2d(3, 6, 5),
		Conv2: nn.NewConv2d(6, 16, 5),
		FC1:   nn.NewLinear(16*5*5, 120),
		FC2:   nn.NewLinear(120, 84),
		FC3:   nn.NewLinear(84, 10),
	}
}

// Forward implements [nn.Layer].
func (n *Net) Forward(x torch.Tensor) torch.Tensor {
	x = F.MaxPool2d(n.Conv1.Forward(x).ReLU(), 2)
	x = F.MaxPool2d(n.Conv2.Forward(x).ReLU(), 2)
	x = n.FC1.Forward(x.Reshape(x.Size(0), -1)).ReLU()
	return n.FC3.Forward(n.FC2.Forward(x).ReLU())
}

func main() { cli.Main("cifar10", command) }

func command(ctx context.Context, args []string, out io.Writer) error {
	f := train.NewFlags("cifar10", "cifar10 trains the network of PyTorch's tutorial on CIFAR-10.",
		train.Defaults{Epochs: 2, Batch: 4, LR: 1e-3, Every: 2000})
	momentum := f.Float64("momentum", 0.9, "momentum of SGD")
	images := f.AddImages("cifar-10-batches-bin")
	slice := f.Bool("slice", false, "the 1,350 images that are built into the program")
	if err := f.Parse(args, out); err != nil {
		return err
	}
	if *slice && images.Root != "" {
		return cli.Usagef("-slice needs no -data")
	}
	if err := cli.NotNegative("momentum", *momentum); err != nil {
		return err
	}
	return f.Run(func() error { return learn(ctx, f, images, *slice, *momentum) })
}

func learn(ctx context.Context, f *train.Flags, images *train.Images, slice bool, momentum float64) error {
	halves, err := f.Loaders(images, func(training bool) (half train.Half, err error) {
		set, err := open(ctx, f, images.Root, training, slice)
		if err == nil {
			half.Images, half.Labels = set.Head(images.Count(training, set.Len())).Tensors()
		}
		return half, err
	})
	if err != nil {
		return err
	}
	model := newNet()
	defer nn.Close(model)
	nn.To(model, f.Device)
	opt := optim.NewSGD(nn.Parameters(model), f.LR, optim.SGDOptions{Momentum: momentum})
	defer opt.Close()
	return f.Classify(ctx, model, opt, halves, normalise)
}

// open returns one half of the data set, or of the part that is in the program.
func open(ctx context.Context, f *train.Flags, root string, training, slice bool) (*datasets.CIFAR10, error) {
	if slice {
		return cifarslice.Load(training), nil
	}
	set, err := datasets.LoadCIFAR10(ctx, root, training, datasets.CIFAR10Options{Logf: f.Printf})
	if errors.Is(err, datasets.ErrUnavailable) {
		err = fmt.Errorf("%w; -slice takes the 1,350 images in this program", err)
	}
	return set, err
}

// normalise brings pixels to the range from -1 to 1.
func normalise(pixels torch.Tensor) torch.Tensor { return pixels.DivScalar(127.5).SubScalar(1) }
