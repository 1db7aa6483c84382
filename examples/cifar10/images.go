package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
)

// open is a loader of the training or the test images, uint8 [N, 3, 32, 32], and the names of
// the classes. The images to train on are shuffled.
func open(ctx context.Context, out io.Writer, training bool) (*data.Loader[data.Batch], []string, error) {
	set, err := load(ctx, out, training)
	if err != nil {
		return nil, nil, err
	}
	if n := *limit; n > 0 && training {
		set = set.Head(n)
	} else if n > 0 {
		set = set.Head((n + 4) / 5)
	}
	images, labels := set.Tensors()
	fmt.Fprintf(out, "%d images, for training: %v\n", set.Len(), training)
	loader, err := data.NewLoader(data.NewTensorDataset(images, labels), data.LoaderOptions{BatchSize: *size, Shuffle: training, Seed: *seed})
	return loader, set.Classes(), err
}

func load(ctx context.Context, out io.Writer, training bool) (*datasets.CIFAR10, error) {
	if *slice {
		return cifarslice.Load(training), nil
	}
	set, err := datasets.LoadCIFAR10(ctx, *root, training, datasets.CIFAR10Options{Logf: func(format string, args ...any) {
		fmt.Fprintf(out, format+"\n", args...)
	}})
	if errors.Is(err, datasets.ErrUnavailable) {
		err = fmt.Errorf("%w; -slice takes the 1,350 images in this program", err)
	}
	return set, err
}

// normalise brings bytes to the device, as numbers from -1 to 1.
func normalise(images torch.Tensor, dev torch.Device) torch.Tensor {
	return images.To(dev).To(torch.Float32).DivScalar(127.5).SubScalar(1)
}

// report prints how many percent of the images of each class are classified right.
func report(out io.Writer, classes []string, right []meter.Average) {
	var all meter.Average
	for i := range right {
		fmt.Fprintf(out, "%-10s %5.1f %%\n", classes[i], right[i].Avg())
		all.Update(right[i].Avg(), right[i].Count())
	}
	fmt.Fprintf(out, " * Acc@1 %.3f of %d test images\n", all.Avg(), all.Count())
}
