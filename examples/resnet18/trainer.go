package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/watch"
	"github.com/libtorch-go/libtorch/vision/models"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// A trainer is a run: the network and everything that trains and measures it.
type trainer struct {
	*config
	out        io.Writer
	log        *watch.Run // nil without -logdir
	sets       *imageSets
	train, val *data.Loader[data.Batch]

	model     *models.ResNet
	net       nn.Layer                  // what is trained: the model, or ddp
	ddp       *dist.DDP[*models.ResNet] // nil without -dist
	opt       *optim.SGD
	sched     *lr.Schedule
	scaler    *amp.GradScaler
	mean, std torch.Tensor // of the pixels, for each colour

	epoch, batch int     // where training stands: the next batch is this one
	best         float64 // the highest accuracy so far, in percent

	start  time.Time
	images int           // trained on
	busy   time.Duration // what that took
}

// newTrainer builds everything new, or as the checkpoint to resume says.
func newTrainer(c *config, sets *imageSets, out io.Writer) (*trainer, error) {
	t := &trainer{config: c, out: out, sets: sets, start: time.Now()}
	t.Images = sets.train.len()
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
	if t.resume != "" {
		err = t.load(t.resume)
	}
	if err == nil {
		err = t.spread()
	}
	if err == nil && t.logdir != "" && t.leads() {
		t.log, err = watch.Open(t.logdir)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Close frees everything that the run holds except the images. Its error is that of the files of -logdir.
func (t *trainer) Close() error {
	if t.ddp != nil {
		t.ddp.Close()
	}
	nn.Close(t.model)
	t.opt.Close()
	t.scaler.Close()
	torch.Close(t.mean, t.std)
	if t.log == nil {
		return nil
	}
	return t.log.Close()
}

// run trains to the end, or only validates where there is nothing to train.
func (t *trainer) run(ctx context.Context) error {
	work := t.learn
	if t.evaluate || t.epoch == t.Epochs {
		work = t.validate
	}
	accuracy, err := work(ctx)
	if err != nil {
		return err
	}
	t.summary(accuracy)
	return nil
}

// trained adds an epoch to what the last line tells, and says whether it waited for its data and, with -logdir, what the machine did.
func (t *trainer) trained(m *meters) error {
	t.images += m.images * max(1, t.ranks)
	t.busy += time.Since(m.start)
	t.printf("%v", t.train.Stats().Since(m.before))
	if t.log == nil {
		return nil
	}
	reading, err := t.log.Sense(m.progress.First + m.progress.Done)
	t.printf("%v", reading)
	return err
}

// format is the memory format of images and weights.
func (t *trainer) format() torch.MemoryFormat {
	if t.channelsLast {
		return torch.ChannelsLast
	}
	return torch.ContiguousFormat
}

// prepare brings a batch to the device, in the form that the network wants.
func (t *trainer) prepare(input, target torch.Tensor) (images, labels torch.Tensor) {
	images = input.To(t.device, torch.NonBlocking).To(torch.Float32, t.format())
	return transforms.EachNormalize(images, t.mean, t.std), target.To(t.device, torch.NonBlocking)
}
