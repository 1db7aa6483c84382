package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/vision/models"
)

// config is what the flags say. What the run computes is in recipe; the rest is how and where.
type config struct {
	recipe
	data           string
	limit          int
	workers        int
	evaluate       bool
	resume, output string
	saveEvery      int
	logdir         string
	printFreq      int
	device         string
	threads        int
	channelsLast   bool
	deterministic  bool
	dist           bool

	dev   torch.Device
	dtype torch.DType // float32 without -amp
	group *dist.Group // nil without -dist
}

// recipe is what a run has to have in common with the one whose checkpoint it goes on from.
type recipe struct {
	Arch           string  `json:"arch"`
	Pretrained     bool    `json:"pretrained"`
	Images         int     `json:"images"`          // to train on
	Ranks          int     `json:"ranks,omitempty"` // that train together, with -dist
	Epochs         int     `json:"epochs"`
	Batch          int     `json:"b"`
	Seed           uint64  `json:"seed"`
	AMP            bool    `json:"amp"`
	Opt            string  `json:"opt"`
	LR             float64 `json:"lr"`
	Momentum       float64 `json:"momentum"`
	WeightDecay    float64 `json:"wd"`
	ClipGradNorm   float64 `json:"clip-grad-norm"`
	LabelSmoothing float64 `json:"label-smoothing"`
	MixUp          float64 `json:"mixup-alpha"`
	CutMix         float64 `json:"cutmix-alpha"`
	AutoAugment    string  `json:"auto-augment"`
	RandomErase    float64 `json:"random-erase"`
	Crop           int     `json:"train-crop-size"`
	ValResize      int     `json:"val-resize-size"`
	ValCrop        int     `json:"val-crop-size"`
	Scheduler      string  `json:"lr-scheduler"`
	WarmupEpochs   int     `json:"lr-warmup-epochs"`
	WarmupDecay    float64 `json:"lr-warmup-decay"`
	StepSize       int     `json:"lr-step-size"`
	Gamma          float64 `json:"lr-gamma"`
	MinLR          float64 `json:"lr-min"`
	EMA            bool    `json:"model-ema"`
	EMASteps       int     `json:"model-ema-steps"`
	EMADecay       float64 `json:"model-ema-decay"`
}

// parse reads the command line. For -h it prints the flags to out and returns flag.ErrHelp.
func parse(args []string, out io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("imagenet", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.register(fs)
	c.registerRecipe(fs)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(out, "imagenet trains a classifier on the photographs in DIR/train and measures it on those in DIR/val:")
		fs.SetOutput(out)
		fs.PrintDefaults()
		return nil, err
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case err == nil:
		err = c.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w (-h lists the flags)", err)
	}
	return c, nil
}

func (c *config) register(fs *flag.FlagSet) {
	fs.StringVar(&c.data, "data", "", "`DIR` with the folders train and val, which have a folder for each class")
	fs.IntVar(&c.limit, "limit", 0, "images to train on, drawn at random, and a fifth as many to measure with; 0 is all")
	fs.IntVar(&c.workers, "j", min(4, runtime.NumCPU()), "workers that prepare batches; 0 is none")
	fs.BoolVar(&c.evaluate, "e", false, "only measure")
	fs.StringVar(&c.output, "output-dir", "", "`folder` in which checkpoints are kept, and from which the run goes on")
	fs.StringVar(&c.resume, "resume", "", "begin from the checkpoint in `file`")
	fs.IntVar(&c.saveEvery, "save-every", 500, "batches from checkpoint to checkpoint, beside the one after each epoch")
	fs.StringVar(&c.logdir, "logdir", "", "keep figures, curves and sensors of the run in `folder`, also for TensorBoard")
	fs.IntVar(&c.printFreq, "p", 10, "print every `N`-th batch")
	fs.StringVar(&c.device, "device", "", "cpu, cuda or cuda:`N` (default cuda where there is a card)")
	fs.IntVar(&c.threads, "threads", 0, "threads of an operation on the CPU (default libtorch's choice)")
	fs.BoolVar(&c.channelsLast, "channels-last", true, "keep images and weights in channels_last")
	fs.BoolVar(&c.deterministic, "deterministic", false, "the same bits in every run, also on CUDA")
	fs.BoolVar(&c.dist, "dist", false, "train with the other processes that torchrun has started; -b is of each")
}

func (c *config) registerRecipe(fs *flag.FlagSet) {
	fs.StringVar(&c.Arch, "arch", "resnet18", "`network`, by torchvision's name")
	fs.BoolVar(&c.Pretrained, "pretrained", false, "begin with the weights that torchvision published, for ImageNet's 1000 classes")
	fs.IntVar(&c.Epochs, "epochs", 90, "passes over the images")
	fs.IntVar(&c.Batch, "b", 256, "images in a batch")
	fs.Uint64Var(&c.Seed, "seed", 0, "seed of weights, order and augmentation")
	fs.BoolVar(&c.AMP, "amp", false, "compute in mixed precision: float16 on a card, bfloat16 on a CPU")
	fs.StringVar(&c.Opt, "opt", "sgd", "sgd, rmsprop or adamw")
	fs.Float64Var(&c.LR, "lr", 0.1, "first learning rate")
	fs.Float64Var(&c.Momentum, "momentum", 0.9, "momentum of sgd and rmsprop")
	fs.Float64Var(&c.WeightDecay, "wd", 1e-4, "weight decay")
	fs.Float64Var(&c.ClipGradNorm, "clip-grad-norm", 0, "largest norm of the gradients; 0 is any")
	fs.Float64Var(&c.LabelSmoothing, "label-smoothing", 0, "part of the target that is spread over all classes")
	fs.Float64Var(&c.MixUp, "mixup-alpha", 0, "mix images with each other; 0 is not")
	fs.Float64Var(&c.CutMix, "cutmix-alpha", 0, "put parts of images into each other; 0 is not. With -mixup-alpha one of the two is drawn")
	fs.StringVar(&c.AutoAugment, "auto-augment", "", "`policy`: imagenet, ra, ta_wide or augmix (default none)")
	fs.Float64Var(&c.RandomErase, "random-erase", 0, "probability of covering a part of an image")
	fs.IntVar(&c.Crop, "train-crop-size", 224, "pixels of an image's sides in training")
	fs.IntVar(&c.ValResize, "val-resize-size", 256, "pixels of an image's short side before it is cut to measure with")
	fs.IntVar(&c.ValCrop, "val-crop-size", 224, "pixels of an image's sides to measure with")
	fs.StringVar(&c.Scheduler, "lr-scheduler", "steplr", "steplr, cosineannealinglr or exponentiallr, by epochs")
	fs.IntVar(&c.WarmupEpochs, "lr-warmup-epochs", 0, "epochs in which the rate rises to -lr")
	fs.Float64Var(&c.WarmupDecay, "lr-warmup-decay", 0.01, "part of -lr at which it begins to rise")
	fs.IntVar(&c.StepSize, "lr-step-size", 30, "epochs between the falls of steplr")
	fs.Float64Var(&c.Gamma, "lr-gamma", 0.1, "factor of steplr and exponentiallr")
	fs.Float64Var(&c.MinLR, "lr-min", 0, "last rate of cosineannealinglr")
	fs.BoolVar(&c.EMA, "model-ema", false, "also measure the moving average of the weights")
	fs.IntVar(&c.EMASteps, "model-ema-steps", 32, "batches from one step of the average to the next")
	fs.Float64Var(&c.EMADecay, "model-ema-decay", 0.99998, "part of the average that stays after a step, if b x model-ema-steps were epochs")
}

// check refuses values that make no sense, before anything is loaded.
func (c *config) check() error {
	for _, f := range []struct {
		name        string
		value       float64
		least, most float64
	}{
		{"limit", float64(c.limit), 0, math.Inf(1)}, {"j", float64(c.workers), 0, 1024}, {"save-every", float64(c.saveEvery), 1, math.Inf(1)},
		{"p", float64(c.printFreq), 1, math.Inf(1)}, {"threads", float64(c.threads), 0, math.Inf(1)},
		{"epochs", float64(c.Epochs), 1, math.Inf(1)}, {"b", float64(c.Batch), 1, math.Inf(1)},
		{"lr", c.LR, 0, math.Inf(1)}, {"momentum", c.Momentum, 0, 1}, {"wd", c.WeightDecay, 0, math.Inf(1)},
		{"clip-grad-norm", c.ClipGradNorm, 0, math.Inf(1)}, {"label-smoothing", c.LabelSmoothing, 0, 1},
		{"mixup-alpha", c.MixUp, 0, math.Inf(1)}, {"cutmix-alpha", c.CutMix, 0, math.Inf(1)}, {"random-erase", c.RandomErase, 0, 1},
		{"train-crop-size", float64(c.Crop), 1, 1 << 14}, {"val-crop-size", float64(c.ValCrop), 1, float64(c.ValResize)},
		{"val-resize-size", float64(c.ValResize), 1, 1 << 14}, {"lr-warmup-epochs", float64(c.WarmupEpochs), 0, float64(c.Epochs - 1)},
		{"lr-warmup-decay", c.WarmupDecay, 0, 1}, {"lr-step-size", float64(c.StepSize), 1, math.Inf(1)}, {"lr-gamma", c.Gamma, 0, 1},
		{"lr-min", c.MinLR, 0, c.LR}, {"model-ema-steps", float64(c.EMASteps), 1, math.Inf(1)}, {"model-ema-decay", c.EMADecay, 0, 1},
	} {
		switch {
		case f.value >= f.least && f.value <= f.most && !math.IsInf(f.value, 1):
		case math.IsInf(f.most, 1):
			return fmt.Errorf("-%s is %v, expected %v or more", f.name, f.value, f.least)
		default:
			return fmt.Errorf("-%s is %v, expected %v to %v", f.name, f.value, f.least, f.most)
		}
	}
	for _, f := range []struct {
		name, value string
		known       []string
	}{
		{"arch", c.Arch, models.Names()},
		{"opt", c.Opt, []string{"sgd", "rmsprop", "adamw"}},
		{"lr-scheduler", c.Scheduler, []string{"steplr", "cosineannealinglr", "exponentiallr"}},
		{"auto-augment", c.AutoAugment, []string{"", "imagenet", "ra", "ta_wide", "augmix"}},
	} {
		if !slices.Contains(f.known, f.value) {
			return fmt.Errorf("-%s is %q, expected one of %s", f.name, f.value, strings.Join(f.known, " "))
		}
	}
	if c.data == "" {
		return errors.New("-data is missing, expected a folder with the folders train and val")
	}
	return nil
}
