package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/vision/models"
)

// config is what the flags say.
type config struct {
	models, modes  []string
	convs          []shape
	batches        []int
	size           int
	seed           uint64
	device         torch.Device
	byShape        bool
	time           float64
	plan           plan
	json, csv, svg string
	values         map[string][]string // of the axes that have a flag in the command line
	choices        []choice

	given   map[string]bool
	written map[string]*string // lists as they were written, by flag
}

// byDefault are the networks that are measured if no flag names one, and their batches.
var byDefault = map[bool]struct{ models, batches string }{
	false: {"resnet18", "8"},
	true:  {"resnet18,resnet50,vgg16", "1,32"},
}

// parseFlags reads the command line. For -h it prints the flags to out and returns
// flag.ErrHelp.
func parseFlags(args []string, out io.Writer) (*config, error) {
	c := &config{values: map[string][]string{}, given: map[string]bool{}, written: map[string]*string{}}
	fs := flag.NewFlagSet("cudnnbench", flag.ContinueOnError)
	c.register(fs)
	if err := cli.Parse(fs, args, out,
		"cudnnbench measures what the switches of cuDNN, and on a CPU those of oneDNN, are worth:"); err != nil {
		return nil, err
	}
	fs.Visit(func(f *flag.Flag) { c.given[f.Name] = true })
	return c, c.check()
}

func (c *config) register(fs *flag.FlagSet) {
	list := func(name, value, usage string) { c.written[name] = fs.String(name, value, usage) }
	list("model", "", fmt.Sprintf("a `list` of networks: %s (default %s on a CPU, %s on CUDA; none with -conv)",
		strings.Join(models.Names(), ", "), byDefault[false].models, byDefault[true].models))
	fs.Func("conv", "a convolution: input and weight as `64x56x56,128x3x3`, then what is not the default of s1,p0,d1,g1 "+
		"(stride, padding, dilation, groups), and bias; may be repeated", func(text string) error {
		s, err := parseShape(text)
		c.convs = append(c.convs, s)
		return err
	})
	fs.BoolVar(&c.byShape, "shapes", false, "measure each convolution of the networks alone")
	list("b", "", fmt.Sprintf("a `list` of batch sizes (default %s on a CPU, %s on CUDA)", byDefault[false].batches, byDefault[true].batches))
	list("mode", "forward,train", "a `list` of forward and train")
	fs.IntVar(&c.size, "size", 224, "height and width of the networks' images")
	for _, a := range axes {
		list(a.name, "", a.help())
	}
	list("device", "", "cpu, cuda or cuda:`N` (default cuda where there is a card)")
	fs.Float64Var(&c.time, "time", 3, "`seconds` to measure each setting for; an iteration that is longer than its share runs once in a round")
	fs.IntVar(&c.plan.rounds, "rounds", 20, "rounds, in which the settings run by turns")
	fs.IntVar(&c.plan.warmup, "warmup", 3, "iterations before the first round")
	fs.Uint64Var(&c.seed, "seed", 0, "seed of weights and images")
	fs.StringVar(&c.json, "json", "", "write everything measured to `file`")
	fs.StringVar(&c.csv, "csv", "", "write a row for each setting to `file`")
	fs.StringVar(&c.svg, "svg", "", "draw a chart into `file`")
}

// check refuses values that make no sense, before anything is loaded.
func (c *config) check() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"size", float64(c.size)}, {"time", c.time}, {"warmup", float64(c.plan.warmup)}, {"rounds", float64(c.plan.rounds)}} {
		if err := cli.Positive(f.name, f.value); err != nil {
			return err
		}
	}
	if least := roundsFor(usual); c.plan.rounds < least {
		return cli.Usagef("-rounds is %d, expected at least %d: fewer give no interval of 95 %%", c.plan.rounds, least)
	}
	c.plan.round = c.time / float64(c.plan.rounds)
	var err error
	if c.device, err = cli.Device(*c.written["device"]); err != nil {
		return err
	}
	if c.byShape && c.given["conv"] && !c.given["model"] {
		return cli.Usagef("-shapes is about networks: give some with -model")
	}
	if err := c.checkLists(); err != nil {
		return err
	}
	return c.checkFiles()
}

func (c *config) checkLists() (err error) {
	if c.modes, err = words("mode", *c.written["mode"], []string{"forward", "train"}); err != nil {
		return err
	}
	if c.given["model"] {
		if c.models, err = words("model", *c.written["model"], models.Names()); err != nil {
			return err
		}
	}
	if c.given["b"] {
		if c.batches, err = batches(*c.written["b"]); err != nil {
			return err
		}
	}
	for _, a := range axes {
		if c.given[a.name] {
			if c.values[a.name], err = a.parse(*c.written[a.name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// words reads a list of known words.
func words(name, text string, known []string) (list []string, err error) {
	return axis{name: name, words: known}.parse(text)
}

func batches(text string) (list []int, err error) {
	sizes, err := axis{name: "b"}.parse(text)
	if err != nil {
		return nil, err
	}
	for _, size := range sizes {
		n, err := strconv.Atoi(size)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// checkFiles finds out beforehand that a file cannot be written.
func (c *config) checkFiles() error {
	for _, f := range []struct{ name, path string }{{"json", c.json}, {"csv", c.csv}, {"svg", c.svg}} {
		if f.path == "" {
			continue
		}
		dir := filepath.Dir(f.path)
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = fs.ErrNotExist
		}
		if err != nil {
			return cli.Usagef("-%s %s: there is no folder %s to write it to", f.name, f.path, dir)
		}
	}
	return nil
}

// settle finds the device, and fills in what depends on it.
func (c *config) settle() (err error) {
	if c.device, err = cli.OpenDevice(c.device); err != nil {
		return err
	}
	def := byDefault[c.device.IsCUDA()]
	if c.models == nil && c.convs == nil {
		c.models = strings.Split(def.models, ",")
	}
	if c.batches == nil {
		if c.batches, err = batches(def.batches); err != nil {
			return err
		}
	}
	for _, a := range axes {
		text := a.defaultFor(c.device)
		switch {
		case text == "" && c.given[a.name]:
			return cli.Usagef("-%s: there is no such switch on the %v; it has %s", a.name, c.device, c.axisFlags())
		case text == "":
			continue
		}
		values := c.values[a.name]
		if values == nil {
			if values, err = a.parse(text); err != nil {
				return err
			}
		}
		c.choices = append(c.choices, choice{a, values})
	}
	return nil
}

// axisFlags lists the flags of what the device has.
func (c *config) axisFlags() string {
	var list []string
	for _, a := range axes {
		if a.defaultFor(c.device) != "" {
			list = append(list, "-"+a.name)
		}
	}
	return strings.Join(list, ", ")
}

// works are the workloads.
func (c *config) works() (list []workload) {
	var kinds []workload
	for _, name := range c.models {
		kinds = append(kinds, workload{Model: name, Size: c.size})
	}
	for _, s := range c.convs {
		kinds = append(kinds, workload{Conv: s.String()})
	}
	for _, w := range kinds {
		for _, w.Batch = range c.batches {
			for _, w.Mode = range c.modes {
				w.Seed = c.seed
				list = append(list, w)
			}
		}
	}
	return slices.Clip(list)
}
