package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/examples/internal/train"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/vision/models"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// A trainer is a run: the network and everything that trains and measures it.
type trainer struct {
	*config
	out        io.Writer
	sets       *imageSets
	train, val *data.Loader[data.Batch]

	model     *models.ResNet
	opt       *optim.SGD
	sched     *lr.Schedule
	scaler    *amp.GradScaler
	stepper   train.Stepper
	mean, std torch.Tensor // of the pixels, for each colour

	epoch, batch int     // where training stands: the next batch is this one
	best         float64 // the highest accuracy so far, in percent

	start   time.Time
	trained int           // images
	busy    time.Duration // what that took
}

// newTrainer builds everything new, or as the checkpoint to resume says.
func newTrainer(c *config, sets *imageSets, out io.Writer) (*trainer, error) {
	t := &trainer{config: c, out: out, sets: sets, start: time.Now()}
	var err error
	if t.train, t.val, err = newLoaders(c, sets); err != nil {
		return nil, err
	}
	t.model = models.ResNet18(classes, models.ResNetOptions{Stem: models.CIFARStem})
	nn.To(t.model, t.device, t.format())
	t.opt = optim.NewSGD(nn.Parameters(t.model), t.LR, optim.SGDOptions{
		Momentum: t.Momentum, WeightDecay: t.WeightDecay, Nesterov: t.Momentum > 0,
	})
	t.sched = lr.OneCycle(t.opt, t.LR, t.Epochs*t.train.Len(), lr.OneCycleOptions{FixedMomentum: true})
	t.scaler = amp.NewGradScaler(t.device, amp.GradScalerOptions{DType: t.ampDType})
	t.mean = torch.FromSlice([]float32{125.3, 123.0, 113.9}).To(t.device)
	t.std = torch.FromSlice([]float32{63.0, 62.1, 66.7}).To(t.device)
	t.stepper = train.Stepper{Step: t.step, Optimizer: t.opt, Batch: t.Batch}
	if c.graph {
		t.stepper.Record(t.device)
	}
	if t.resume != "" {
		if err := t.load(t.resume); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// Close frees everything that the run holds except the images.
func (t *trainer) Close() {
	t.stepper.Close()
	nn.Close(t.model)
	t.opt.Close()
	t.scaler.Close()
	torch.Close(t.mean, t.std)
}

// format is the memory format of images and weights.
func (t *trainer) format() torch.MemoryFormat {
	if t.channelsLast {
		return torch.ChannelsLast
	}
	return torch.ContiguousFormat
}

// run trains to the end, or only validates where there is nothing to train.
func (t *trainer) run(ctx context.Context) error {
	if t.evaluate || t.epoch == t.Epochs {
		accuracy, err := t.validate(ctx)
		if err != nil {
			return err
		}
		t.summary(accuracy)
		return nil
	}
	var accuracy float64
	for t.epoch < t.Epochs {
		err := t.trainEpoch(ctx)
		if err == nil {
			accuracy, err = t.validate(ctx)
		}
		if err != nil {
			return t.stopped(err)
		}
		t.best = max(t.best, accuracy)
		t.epoch, t.batch = t.epoch+1, 0
		if err := t.store(); err != nil {
			return err
		}
	}
	t.summary(accuracy)
	return nil
}

// trainEpoch trains on every image once, except for the batches that were done before.
func (t *trainer) trainEpoch(ctx context.Context) error {
	nn.Train(t.model)
	p := t.newPass(fmt.Sprintf("Epoch: [%d]", t.epoch), t.train.Len(), t.batch)
	defer p.Close()
	for batch, err := range t.train.EpochFrom(ctx, t.epoch, t.batch) {
		if err != nil {
			return err
		}
		p.gotData()
		out, err := t.stepper.Run(batch.Input, batch.Target)
		if err != nil {
			return err
		}
		t.sched.Step()
		t.batch++
		p.add(out[0], out[1], out[2])
	}
	torch.Synchronize(t.device)
	t.trained += p.images
	t.busy += time.Since(p.start)
	return nil
}

// step trains on images and labels, and returns the loss, the scores and the labels.
func (t *trainer) step(in []torch.Tensor) []torch.Tensor {
	images, labels := t.prepare(in[0], in[1])
	var scores, loss torch.Tensor
	amp.Autocast(t.device, t.ampDType, func() {
		scores = t.model.Forward(images)
		loss = F.CrossEntropy(scores, labels)
	})
	t.scaler.Scale(loss).Backward()
	t.scaler.Step(t.opt)
	t.opt.ZeroGrad()
	return []torch.Tensor{loss, scores, labels}
}

// prepare brings a batch to the device, in the form that the network wants.
func (t *trainer) prepare(input, target torch.Tensor) (images, labels torch.Tensor) {
	images = input.To(t.device, torch.NonBlocking).To(torch.Float32, t.format())
	return transforms.Normalize(images, t.mean, t.std), target.To(t.device, torch.NonBlocking)
}

// stopped handles an error in the middle of an epoch and returns the error to report. After
// a signal it stores the state of the run first.
func (t *trainer) stopped(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	text := fmt.Sprintf("interrupted in epoch %d after batch %d of %d", t.epoch, t.batch, t.train.Len())
	if t.save == "" {
		return cli.Interruptedf("%s; nothing is stored without -save", text)
	}
	if err := t.store(); err != nil {
		return err
	}
	return cli.Interruptedf("%s; -resume %s goes on from there", text, t.save)
}
