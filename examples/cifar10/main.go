// Cifar10 trains the network of PyTorch's tutorial "Training a Classifier" on CIFAR-10.
//
//	go run ./examples/cifar10
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

var (
	root     = flag.String("data", "", "folder with cifar-10-batches-bin in it (default a `folder` in the user's cache)")
	slice    = flag.Bool("slice", false, "the 1,350 images that are built into the program")
	limit    = flag.Int("limit", 0, "images to train on, and a fifth as many to test with; 0 is all")
	epochs   = flag.Int("epochs", 2, "passes over the images")
	size     = flag.Int("b", 0, "images in a batch; 0 is 4, and 512 with -fast")
	rate     = flag.Float64("lr", 1e-3, "learning rate")
	momentum = flag.Float64("momentum", 0.9, "momentum of SGD")
	seed     = flag.Uint64("seed", 0, "seed of weights and order")
	every    = flag.Int("p", 2000, "print every `N`-th batch")
	logdir   = flag.String("logdir", "", "keep figures, curves and sensors of the run in `folder`, also for TensorBoard")
	fast     = flag.Bool("fast", false, "train another network by a recipe for speed, for which -lr and -momentum do not count")
)

// Net is the tutorial's: scores [N, 10] of images [N, 3, 32, 32]. The tags are the names in a
// state dict.
type Net struct {
	Conv1 *nn.Conv2d    `torch:"conv1"`
	Pool  *nn.MaxPool2d `torch:"pool"`
	Conv2 *nn.Conv2d    `torch:"conv2"`
	FC1   *nn.Linear    `torch:"fc1"`
	FC2   *nn.Linear    `torch:"fc2"`
	FC3   *nn.Linear    `torch:"fc3"`
}

func newNet() *Net {
	return &Net{nn.NewConv2d(3, 6, 5), nn.NewMaxPool2d(2), nn.NewConv2d(6, 16, 5),
		nn.NewLinear(16*5*5, 120), nn.NewLinear(120, 84), nn.NewLinear(84, 10)}
}

// Forward implements [nn.Layer].
func (n *Net) Forward(x torch.Tensor) torch.Tensor {
	x = n.Pool.Forward(n.Conv1.Forward(x).ReLU())
	x = n.Pool.Forward(n.Conv2.Forward(x).ReLU())
	x = n.FC1.Forward(x.Flatten(1)).ReLU()
	return n.FC3.Forward(n.FC2.Forward(x).ReLU())
}

func main() {
	flag.Parse()
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	defer torch.Recover(&err)
	torch.ManualSeed(*seed)
	dev := torch.DefaultDevice()
	if *fast {
		return runFast(ctx, out, dev)
	}
	log, err := openLog()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog(log)) }()
	training, classes, err := open(ctx, out, true)
	if err != nil {
		return err
	}
	test, _, err := open(ctx, out, false)
	if err != nil {
		return err
	}
	net := nn.To(newNet(), dev)
	opt := optim.NewSGD(nn.Parameters(net), *rate, optim.SGDOptions{Momentum: *momentum})
	for epoch := range *epochs {
		loss := &meter.Average{Name: "Loss"}
		progress := newProgress(out, epoch, training.Len(), log, loss)
		for batch, err := range training.Epoch(ctx, epoch) {
			if err != nil {
				return err
			}
			l := F.CrossEntropy(net.Forward(normalise(batch.Input, dev)), batch.Target.To(dev))
			l.Backward()
			opt.Step()
			opt.ZeroGrad()
			loss.Add(l, batch.Len())
			progress.Step(batch.Len())
		}
		progress.Close()
		if err := sense(out, log, progress.First+progress.Done); err != nil {
			return err
		}
	}

	right, err := judge(ctx, net, test, len(classes), dev)
	if err != nil {
		return err
	}
	report(out, classes, right)
	return nil
}
