package main

import (
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
)

// config is what the flags say. What the run computes is in recipe; the rest is how and
// where.
type config struct {
	recipe
	amp           bool
	ampDType      torch.DType // float32 without -amp
	device        torch.Device
	workers       int
	threads       int
	dataDir       string
	limit         int
	printFreq     int
	channelsLast  bool
	benchmark     bool
	deterministic bool
	resume, save  string
	logdir        string
	evaluate      bool
	synthetic     bool
	dist          bool
	patience      time.Duration // with processes that do not answer
	group         *dist.Group   // nil without -dist
	ranks         int           // 0 without -dist; each time that torchrun starts them there may be others

	given map[string]bool // flags that the user wrote
}

// recipe is what a run has to have in common with the one whose checkpoint it resumes.
type recipe struct {
	Epochs      int     `json:"epochs"`
	Batch       int     `json:"b"`
	LR          float64 `json:"lr"`
	Momentum    float64 `json:"momentum"`
	WeightDecay float64 `json:"wd"`
	Seed        uint64  `json:"seed"`
	Graph       bool    `json:"graph"`
	Images      int     `json:"images"` // to train on
}

// defaults are values for which a run on that kind of device takes a reasonable time.
type defaults struct {
	epochs, batch int
	lr            float64
	limit         int // images to train on; 0 is all
}

var (
	onCPU  = defaults{epochs: 1, batch: 16, lr: 0.0125, limit: 2000}
	onCUDA = defaults{epochs: 30, batch: 512, lr: 0.4, limit: 0}
)

// parseFlags reads the command line. For -h it prints the flags to out and returns
// flag.ErrHelp.
func parseFlags(args []string, out io.Writer) (*config, error) {
	c := &config{given: map[string]bool{}}
	var device, dtype string
	fs := flag.NewFlagSet("resnet18", flag.ContinueOnError)
	c.register(fs, &device, &dtype)
	if err := parse(fs, args, out,
		"resnet18 trains ResNet-18 on CIFAR-10. Its flags are those of PyTorch's ImageNet example:"); err != nil {
		return nil, err
	}
	fs.Visit(func(f *flag.Flag) { c.given[f.Name] = true })
	if err := c.check(device, dtype); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *config) register(fs *flag.FlagSet, device, dtype *string) {
	either := func(what string, cpu, cuda any) string {
		return fmt.Sprintf("%s (default %v on a CPU, %v on CUDA)", what, cpu, cuda)
	}
	fs.BoolVar(&c.amp, "amp", false, "compute in mixed precision")
	fs.StringVar(dtype, "amp-dtype", "", either("`dtype` of mixed precision: bf16 or fp16", "bf16", "fp16"))
	fs.StringVar(device, "device", "", "cpu, cuda or cuda:`N` (default cuda where there is a card)")
	fs.IntVar(&c.Epochs, "epochs", 0, either("passes over the training images", onCPU.epochs, onCUDA.epochs))
	fs.BoolVar(&c.dist, "dist", false, "train with all processes that torchrun has started; with -save go on from that file if it is there")
	fs.DurationVar(&c.patience, "dist-timeout", dist.DefaultTimeout, "with -dist: how long to wait for a process that does not answer")
	fs.IntVar(&c.Batch, "b", 0, either("images in a batch of each process", onCPU.batch, onCUDA.batch))
	fs.Float64Var(&c.LR, "lr", 0, either("highest learning rate of the one-cycle schedule", onCPU.lr, onCUDA.lr))
	fs.Float64Var(&c.Momentum, "momentum", 0.9, "momentum of SGD")
	fs.Float64Var(&c.WeightDecay, "wd", 5e-4, "weight decay")
	fs.IntVar(&c.workers, "j", min(4, runtime.NumCPU()), "workers that prepare batches; 0 is none")
	fs.StringVar(&c.dataDir, "data", "",
		"`folder` with cifar-10-batches-bin, or \"slice\" for the few images in the program (default a folder in the user's cache)")
	fs.IntVar(&c.limit, "limit", 0, either("images to train on, and a fifth as many to validate on; 0 is all", onCPU.limit, onCUDA.limit))
	fs.Uint64Var(&c.Seed, "seed", 0, "seed of weights, order and augmentation")
	fs.IntVar(&c.printFreq, "p", 10, "print every `N`-th batch")
	fs.BoolVar(&c.channelsLast, "channels-last", true, "keep images and weights in channels_last")
	fs.BoolVar(&c.benchmark, "cudnn-benchmark", true, "let cuDNN try its algorithms and take the fastest")
	fs.BoolVar(&c.deterministic, "deterministic", false, "the same bits in every run, also on CUDA")
	fs.BoolVar(&c.Graph, "graph", false, "record the training step as a CUDA graph and replay it; a last batch that is not full is left out")
	fs.StringVar(&c.resume, "resume", "", "go on from the checkpoint in `file`")
	fs.StringVar(&c.save, "save", "", "write a checkpoint to `file` after every epoch and when interrupted")
	fs.StringVar(&c.logdir, "logdir", "", "keep figures, curves and sensors of the run in `folder`, also for TensorBoard")
	fs.BoolVar(&c.evaluate, "e", false, "only validate")
	fs.BoolVar(&c.synthetic, "synthetic", false, "random images, to measure speed")
	fs.IntVar(&c.threads, "threads", 0, "threads of an operation on the CPU (default libtorch's choice)")
}

// check refuses values that make no sense, before anything is loaded.
func (c *config) check(device, dtype string) error {
	for _, f := range []struct {
		name     string
		value    float64
		positive bool
	}{
		{"epochs", float64(c.Epochs), true},
		{"b", float64(c.Batch), true},
		{"lr", c.LR, true},
		{"momentum", c.Momentum, false},
		{"wd", c.WeightDecay, false},
		{"j", float64(c.workers), false},
		{"limit", float64(c.limit), false},
		{"p", float64(c.printFreq), true},
		{"dist-timeout", c.patience.Seconds(), true},
		{"threads", float64(c.threads), true},
	} {
		if err := inRange(f.name, f.value, f.positive); err != nil && c.given[f.name] {
			return err
		}
	}
	if c.Momentum >= 1 {
		return usagef("-momentum is %v, expected less than 1", c.Momentum)
	}
	if c.dist && c.Graph {
		return usagef("-graph and -dist do not go together")
	}
	if c.synthetic && c.dataDir != "" {
		return usagef("-synthetic needs no -data")
	}
	if err := c.checkDType(dtype); err != nil {
		return err
	}
	var err error
	c.device, err = parseDevice(device)
	return err
}

func (c *config) checkDType(dtype string) error {
	switch strings.ToLower(dtype) {
	case "":
	case "bf16", "bfloat16":
		c.ampDType = torch.BFloat16
	case "fp16", "float16", "half":
		c.ampDType = torch.Float16
	default:
		return usagef("-amp-dtype is %q, expected bf16 or fp16", dtype)
	}
	if dtype != "" && !c.amp {
		return usagef("-amp-dtype %s needs -amp", dtype)
	}
	return nil
}

// settle fills in what depends on the device, which has to be known by now.
func (c *config) settle() {
	d := onCPU
	if c.device.IsCUDA() {
		d = onCUDA
	}
	fill(c, "epochs", &c.Epochs, d.epochs)
	fill(c, "b", &c.Batch, d.batch)
	fill(c, "lr", &c.LR, d.lr)
	fill(c, "limit", &c.limit, d.limit)
	fill(c, "cudnn-benchmark", &c.benchmark, !c.deterministic)
	switch {
	case !c.amp:
		c.ampDType = torch.Float32
	case c.ampDType.IsZero() && c.device.IsCUDA():
		c.ampDType = torch.Float16
	case c.ampDType.IsZero():
		c.ampDType = torch.BFloat16
	}
}

func fill[T any](c *config, name string, at *T, def T) {
	if !c.given[name] {
		*at = def
	}
}
