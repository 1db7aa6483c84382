package train

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/torch"
)

// Defaults are those of the flags that all trainers have.
type Defaults struct {
	Epochs, Batch int
	LR            float64
	Every         int // default 10
}

// Flags are the command line of a trainer. Flags of its own are added by the methods of the
// flag set, before Parse.
type Flags struct {
	*flag.FlagSet
	Epochs, Batch, Every int
	LR                   float64
	Seed                 uint64
	Device               torch.Device

	intro, device string
	images        *Images
	graph         bool
	out           io.Writer
}

// NewFlags makes the flags of the trainer of that name; -h begins with the introduction.
func NewFlags(name, intro string, d Defaults) *Flags {
	if d.Every == 0 {
		d.Every = 10
	}
	f := &Flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), intro: intro}
	f.IntVar(&f.Epochs, "epochs", d.Epochs, "passes over the samples")
	f.IntVar(&f.Batch, "b", d.Batch, "samples in a batch")
	f.Float64Var(&f.LR, "lr", d.LR, "learning rate")
	f.Uint64Var(&f.Seed, "seed", 0, "seed of weights, order and all else that is random")
	f.IntVar(&f.Every, "p", d.Every, "print every `N`-th batch")
	f.StringVar(&f.device, "device", "", "cpu, cuda or cuda:`N` (default cuda where there is a card)")
	return f
}

// Images are flags for a data set of images.
type Images struct {
	Root    string // where the files are
	Limit   int    // images to train on; 0 is all
	Workers int
}

// AddImages adds flags for a data set, whose files are in folder, and for [Flags.Classify].
func (f *Flags) AddImages(folder string) *Images {
	f.images = &Images{}
	f.StringVar(&f.images.Root, "data", "", "folder with "+folder+" in it (default a `folder` in the user's cache)")
	f.IntVar(&f.images.Limit, "limit", 0, "images to train on, and a fifth as many to test with; 0 is all")
	f.IntVar(&f.images.Workers, "j", 1, "workers that prepare batches; 0 is none")
	AddGraph(f.FlagSet, &f.graph)
	return f.images
}

// Parse reads the command line, opens libtorch and seeds it. What the run prints goes to out.
func (f *Flags) Parse(args []string, out io.Writer) error {
	f.out = out
	if err := cli.Parse(f.FlagSet, args, out, f.intro+" Its flags:"); err != nil {
		return err
	}
	checks := []error{
		cli.Positive("epochs", float64(f.Epochs)), cli.Positive("b", float64(f.Batch)),
		cli.Positive("lr", f.LR), cli.Positive("p", float64(f.Every)),
	}
	if f.images != nil {
		checks = append(checks, cli.NotNegative("limit", float64(f.images.Limit)), cli.NotNegative("j", float64(f.images.Workers)))
	}
	for _, err := range checks {
		if err != nil {
			return err // the first error only: a mistake is one line
		}
	}
	return f.setUp()
}

func (f *Flags) setUp() error {
	dev, err := cli.Device(f.device)
	if err != nil {
		return err
	}
	if f.Device, err = cli.OpenDevice(dev); err != nil {
		return err
	}
	torch.ManualSeed(f.Seed)
	return CheckGraph(f.graph, f.Device)
}

// Run runs the training itself. Tensors made in it are freed at its end, except for modules
// and optimizers, and a panic of libtorch becomes its error.
func (f *Flags) Run(training func() error) (err error) {
	thrown := torch.Try(func() { torch.Scope(func() { err = training() }) })
	return errors.Join(thrown, err)
}

// Printf prints a line.
func (f *Flags) Printf(format string, args ...any) { fmt.Fprintf(f.out, format+"\n", args...) }
