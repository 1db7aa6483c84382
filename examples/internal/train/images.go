package train

import (
	"context"

	"github.com/libtorch-go/libtorch/examples/internal/meter"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// A Half is the training or the test images of a data set, uint8 [N, channels, side, side],
// and their labels, int64 [N].
type Half struct{ Images, Labels torch.Tensor }

// Count is how many of the images of a half to use.
func (i *Images) Count(training bool, all int) int {
	const trainPerTest = 5
	n := i.Limit
	if !training {
		n = max(1, n/trainPerTest)
	}
	if i.Limit == 0 || n > all {
		return all
	}
	return n
}

// Halves are loaders of both halves, into pinned memory where the images go to a card.
type Halves struct{ Training, Test *data.Loader[data.Batch] }

// Loaders opens both halves and says how large they are; the training images are shuffled.
func (f *Flags) Loaders(images *Images, open func(training bool) (Half, error)) (h Halves, err error) {
	o := data.LoaderOptions{BatchSize: f.Batch, Seed: f.Seed, Workers: images.Workers, PinMemory: f.Device.IsCUDA()}
	load := func(training bool) (l *data.Loader[data.Batch], n int, err error) {
		half, err := open(training)
		if err != nil {
			return nil, 0, err
		}
		o.Shuffle = training
		l, err = data.NewLoader(data.NewTensorDataset(half.Images, half.Labels), o)
		return l, half.Labels.Size(0), err
	}
	training, n, err := load(true)
	if err != nil {
		return h, err
	}
	test, m, err := load(false)
	if err != nil {
		return h, err
	}
	f.Printf("%s: %d images to train on, %d to test with, on %v", f.Name(), n, m, f.Device)
	return Halves{training, test}, nil
}

// Classify trains a classifier, scores [N, classes] of images [N, channels, side, side], by
// cross entropy, and tests it after every epoch. normalise gets the pixels as float32 from 0
// to 255, on the device. With -graph the step is a CUDA graph.
func (f *Flags) Classify(ctx context.Context, model nn.Layer, opt optim.Optimizer, h Halves,
	normalise func(torch.Tensor) torch.Tensor) error {
	prepare := func(input, target torch.Tensor) (images, labels torch.Tensor) {
		pixels := input.To(f.Device, torch.NonBlocking).To(torch.Float32)
		return normalise(pixels), target.To(f.Device, torch.NonBlocking)
	}
	s := Stepper{Optimizer: opt, Batch: f.Batch, Step: func(in []torch.Tensor) []torch.Tensor {
		images, labels := prepare(in[0], in[1])
		loss := F.CrossEntropy(model.Forward(images), labels)
		loss.Backward()
		opt.Step()
		opt.ZeroGrad()
		return []torch.Tensor{loss}
	}}
	defer s.Close()
	if f.graph {
		s.Record(f.Device)
	}
	step := func(b data.Batch) (torch.Tensor, error) {
		out, err := s.Run(b.Input, b.Target)
		if err != nil {
			return torch.Tensor{}, err
		}
		return out[0], nil
	}
	return f.loop(ctx, h.Training, step, func(int) error { return f.test(ctx, model, h.Test, prepare) })
}

// test prints how many percent of the test images are classified right.
func (f *Flags) test(ctx context.Context, model nn.Layer, loader *data.Loader[data.Batch],
	prepare func(input, target torch.Tensor) (images, labels torch.Tensor)) (err error) {
	top1 := meter.NewAverageMeter("Acc@1", "%6.2f", meter.Average)
	defer top1.Reset()
	p := meter.NewProgressMeter(f.out, loader.Len(), "Test: ", top1)
	defer p.Close()
	nn.Eval(model)
	defer nn.Train(model)
	torch.Inference(func() {
		done := 0
		for b, failed := range loader.Epoch(ctx, 0) {
			if err = failed; err != nil {
				return
			}
			images, labels := prepare(b.Input, b.Target)
			right := model.Forward(images).ArgMaxDim(1).Eq(labels)
			top1.Add(right.To(torch.Float32).Mean().MulScalar(100), b.Len())
			done++
			p.Advance(done, b.Len())
		}
	})
	if err == nil {
		p.DisplaySummary()
	}
	return err
}
