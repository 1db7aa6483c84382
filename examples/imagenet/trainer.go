package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/optim/swa"
	"github.com/libtorch-go/libtorch/torch/watch"
	"github.com/libtorch-go/libtorch/vision/models"
)

// A trainer is a run: the network and everything that trains and measures it.
type trainer struct {
	*config
	*images
	out io.Writer
	log *watch.Run // nil without -logdir

	model  nn.Layer
	net    nn.Layer            // what is trained: the model, or ddp
	ddp    *dist.DDP[nn.Layer] // nil without -dist
	opt    optimizer
	sched  *lr.Schedule
	scaler *amp.GradScaler
	ema    *swa.AveragedModel[nn.Layer] // nil without -model-ema

	kept *checkpoint.Run
	at   checkpoint.Point // where training stands: the next batch is this one

	start time.Time
	seen  int           // images trained on
	busy  time.Duration // what that took
}

type optimizer interface {
	optim.Optimizer
	Close()
}

// newTrainer builds everything new, and goes on from a checkpoint where there is one.
func newTrainer(ctx context.Context, c *config, images *images, out io.Writer) (t *trainer, err error) {
	t = &trainer{config: c, images: images, out: out, start: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if t.model, err = c.newModel(ctx, len(images.classes)); err != nil {
		return t, err
	}
	nn.To(t.model, c.dev, c.format())
	t.opt = c.newOptimizer(nn.Parameters(t.model))
	t.sched = c.newSchedule(t.opt)
	t.scaler = amp.NewGradScaler(c.dev, amp.GradScalerOptions{DType: c.dtype})
	parts := checkpoint.Parts{"model": t.model, "optimizer": t.opt, "schedule": t.sched, "scaler": t.scaler}
	options := checkpoint.Options{Every: c.saveEvery, Best: 1, Async: true, Recipe: c.recipe, Check: c.sound}
	if c.evaluate { // the network of any run will do
		parts, options.Recipe = checkpoint.Parts{"model": t.model}, nil
	}
	if c.EMA {
		t.ema = swa.NewAveragedModel(t.model, swa.Options{MultiAvgFn: swa.EMAMultiAvgFn(c.emaDecay()), UseBuffers: true})
		parts["average"] = t.ema
	}
	if t.kept, err = checkpoint.Open(c.keptIn(), parts, options); err != nil {
		return t, err
	}
	if err = t.resumeAll(ctx); err == nil {
		err = t.together()
	}
	if err == nil && c.logdir != "" && c.leads() {
		t.log, err = watch.Open(c.logdir)
	}
	return t, err
}

func (c *config) newModel(ctx context.Context, classes int) (nn.Layer, error) {
	if !c.Pretrained {
		return models.New(c.Arch, classes)
	}
	if classes != 1000 {
		return nil, fmt.Errorf("-pretrained weights tell apart 1000 classes, there are %d; examples/finetune replaces the last layer", classes)
	}
	return models.Pretrained(ctx, c.Arch, "DEFAULT")
}

func (c *config) newOptimizer(params []torch.Tensor) optimizer {
	switch c.Opt {
	case "rmsprop":
		return optim.NewRMSprop(params, c.LR, optim.RMSpropOptions{
			Momentum: c.Momentum, WeightDecay: c.WeightDecay, Alpha: new(0.9), Eps: new(0.0316),
		})
	case "adamw":
		return optim.NewAdamW(params, c.LR, optim.AdamOptions{WeightDecay: new(c.WeightDecay)})
	}
	return optim.NewSGD(params, c.LR, optim.SGDOptions{Momentum: c.Momentum, WeightDecay: c.WeightDecay})
}

// newSchedule is stepped once an epoch.
func (c *config) newSchedule(opt optimizer) *lr.Schedule {
	var warmup *lr.Schedule
	if c.WarmupEpochs > 0 {
		warmup = lr.Linear(opt, c.WarmupDecay, 1, c.WarmupEpochs)
	}
	var main *lr.Schedule
	switch c.Scheduler {
	case "cosineannealinglr":
		main = lr.CosineAnnealing(opt, c.Epochs-c.WarmupEpochs, c.MinLR)
	case "exponentiallr":
		main = lr.Exponential(opt, c.Gamma)
	default:
		main = lr.Step(opt, c.StepSize, c.Gamma)
	}
	if warmup == nil {
		return main
	}
	return lr.Sequential([]*lr.Schedule{warmup, main}, []int{c.WarmupEpochs})
}

// emaDecay is what torchvision makes of -model-ema-decay: the average forgets as much in a run, whatever its length.
func (c *config) emaDecay() float64 {
	return 1 - min(1, (1-c.EMADecay)*float64(c.Batch*c.EMASteps)/float64(c.Epochs))
}

// format is the memory format of images and weights.
func (c *config) format() torch.MemoryFormat {
	if c.channelsLast {
		return torch.ChannelsLast
	}
	return torch.ContiguousFormat
}

// Close waits for the last checkpoint and frees everything that the run holds.
func (t *trainer) Close() (err error) {
	if t.kept != nil {
		err = t.kept.Close()
	}
	if t.log != nil {
		err = errors.Join(err, t.log.Close())
	}
	if t.ddp != nil {
		t.ddp.Close()
	}
	if t.ema != nil {
		nn.Close(t.ema)
	}
	if t.scaler != nil {
		t.scaler.Close()
		t.opt.Close()
	}
	if t.model != nil {
		nn.Close(t.model)
	}
	return err
}
