package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/watch"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
)

// open is a loader of the training or the test images, uint8 [N, 3, 32, 32], and the names of
// the classes. The images to train on are shuffled.
func open(ctx context.Context, out io.Writer, training bool) (*data.Loader[data.Batch], []string, error) {
	images, labels, err := tensorsOf(ctx, out, training)
	if err != nil {
		return nil, nil, err
	}
	loader, err := data.NewLoader(data.NewTensorDataset(images, labels),
		data.LoaderOptions{BatchSize: cmp.Or(*size, 4), Shuffle: training, Seed: *seed})
	return loader, (*datasets.CIFAR10)(nil).Classes(), err
}

// tensorsOf are the training or the test images, uint8 [N, 3, 32, 32], as many as -limit says, and their classes.
func tensorsOf(ctx context.Context, out io.Writer, training bool) (images, labels torch.Tensor, err error) {
	set, err := load(ctx, out, training)
	if err != nil {
		return images, labels, err
	}
	if n := *limit; n > 0 && training {
		set = set.Head(n)
	} else if n > 0 {
		set = set.Head((n + 4) / 5)
	}
	fmt.Fprintf(out, "%d images, for training: %v\n", set.Len(), training)
	images, labels = set.Tensors()
	return images, labels, nil
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

// judge counts, for each class, the images that are classified right, in percent.
func judge(ctx context.Context, net *Net, test *data.Loader[data.Batch], classes int, dev torch.Device) (right []meter.Average, err error) {
	right = make([]meter.Average, classes)
	torch.Inference(func() {
		for batch, failed := range test.Epoch(ctx, 0) {
			if err = failed; err != nil {
				return
			}
			predicted := torch.Values[int](net.Forward(normalise(batch.Input, dev)).ArgMaxDim(1))
			for i, class := range torch.Values[int](batch.Target) {
				hit := 0.0
				if predicted[i] == class {
					hit = 100
				}
				right[class].Update(hit, 1)
			}
		}
	})
	return right, err
}

// openLog opens the folder of the run; without -logdir there is none, and it is nil.
func openLog() (*watch.Run, error) {
	if *logdir == "" {
		return nil, nil
	}
	return watch.Open(*logdir)
}

// closeLog ends the files, and tells whether all of them was written.
func closeLog(log *watch.Run) error {
	if log == nil {
		return nil
	}
	return log.Close()
}

// sense tells what the machine does at a step of the run.
func sense(out io.Writer, log *watch.Run, step int) error {
	if log == nil {
		return nil
	}
	reading, err := log.Sense(step)
	fmt.Fprintln(out, reading)
	return err
}

// newProgress shows how an epoch goes, in the run's folder as well.
func newProgress(out io.Writer, epoch, batches int, log *watch.Run, loss *meter.Average) *meter.Progress {
	progress := meter.NewProgress(out, fmt.Sprintf("Epoch: [%d]", epoch), batches, loss)
	progress.Every, progress.Tag, progress.First = *every, "train/", epoch*batches
	if log != nil {
		progress.Logs = []meter.Log{log}
	}
	return progress
}
