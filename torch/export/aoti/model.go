package aoti

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/halves"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pin"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
)

// LoadOptions are the rarer arguments of [LoadTrusted].
type LoadOptions struct {
	Model   string       // of those in the package; default: "model", or the only one
	SHA256  string       // what the file is known by, in hexadecimal; another is refused before anything else looks at it
	Runners int          // calls that compute at the same time; default: 1
	Device  torch.Device // which card, of the kind that was compiled for; default: the current one
	Inputs  []Input      // what the inputs are, where the package does not say it, or where less is wanted than it takes
}

// Model is a model of a package. Several goroutines may run it.
type Model struct {
	h         *cgo.Handle
	info      Info
	constants []Constant
	signature export.ModuleCallSignature
	device    torch.Device
	places    chan struct{} // one for each runner
	closed    sync.Once
	dir       string // of the files that a card's kernels are read from when they first run
}

// LoadTrusted opens a model of a package. The package is machine code: it can do what this process may, so it has to come from
// somebody who is trusted, and SHA256 says that it is the one that is meant. A file that is damaged is an error that matches [ErrFormat].
func LoadTrusted(path string, opts ...LoadOptions) (*Model, error) {
	m, err := load(path, option.One(opts))
	if err != nil {
		return nil, fmt.Errorf("aoti: %s: %w", path, err)
	}
	return m, nil
}

// load makes a private copy of the file first: what is compared with the sum and checked is what is opened.
func load(path string, o LoadOptions) (m *Model, err error) {
	if o.Runners < 0 {
		return nil, fmt.Errorf("LoadOptions.Runners is %d", o.Runners)
	}
	dir, err := os.MkdirTemp("", "libtorch-go-aoti-")
	if err != nil {
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			os.RemoveAll(dir)
		}
	}()
	file, err := private(path, filepath.Join(dir, "package"), o.SHA256)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p, err := open(file)
	if err != nil {
		return nil, err
	}
	c, err := p.contents(p.choose(o.Model))
	if err != nil {
		return nil, err
	}
	m = &Model{info: c.info, device: c.info.Device, places: make(chan struct{}, max(o.Runners, 1)), dir: filepath.Join(dir, "model")}
	if err := m.describe(o); err != nil {
		return nil, err
	}
	if err := p.unpack(c, m.dir); err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	if err := m.start(p, c); err != nil {
		return nil, err
	}
	keep = m.device.IsCUDA()
	return m, nil
}

// private copies a file to one of this process alone and compares its sum.
func private(path, to, sum string) (*os.File, error) {
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := pin.Copy(file, from, sum); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// choose is the name of the model that is meant.
func (p *pack) choose(name string) string {
	if names := p.names(); name == "" && len(names) == 1 {
		return names[0]
	}
	return cmp.Or(name, "model")
}

// describe settles what the inputs are.
func (m *Model) describe(o LoadOptions) error {
	if !o.Device.IsZero() {
		if o.Device.Type() != m.device.Type() {
			return fmt.Errorf("it was compiled for %v, not for %v", m.device, o.Device)
		}
		m.device = o.Device
	}
	if o.Inputs == nil && m.info.Inputs == nil {
		return ErrUnknownInputs
	}
	if m.info.Inputs != nil && o.Inputs != nil && len(o.Inputs) != len(m.info.Inputs) {
		return fmt.Errorf("LoadOptions.Inputs has %d inputs, the package %d", len(o.Inputs), len(m.info.Inputs))
	}
	for i, in := range o.Inputs {
		if err := in.check(); err != nil {
			return fmt.Errorf("LoadOptions.Inputs: %w", err)
		}
		if m.info.Inputs != nil && in.Strides == nil && len(in.Sizes) == len(m.info.Inputs[i].Sizes) {
			o.Inputs[i].Strides = m.info.Inputs[i].Strides
		}
	}
	if o.Inputs != nil {
		m.info.Inputs = o.Inputs
	}
	return nil
}

// start opens the library with libtorch's runner.
func (m *Model) start(p *pack, c *contents) (err error) {
	defer torch.Recover(&err)
	if err := fitsProcessor(m.info.Metadata["AOTI_CPU_ISA"]); err != nil {
		return err
	}
	file, err := p.elf(c)
	if err != nil {
		return err
	}
	absent, err := halves.Provide(file)
	if err != nil {
		return err
	}
	if err := halves.Misfit(file, absent); err != nil {
		return err
	}
	var call cgo.Call
	call.Begin(cgo.OpAotiLoad)
	call.Str(filepath.Join(m.dir, c.library))
	call.Int(cap(m.places))
	call.Str(kindOf(m.device))
	call.Str(deviceName(m.device))
	call.Str(m.dir)
	var weights *string
	if c.weights != "" {
		weights = new(filepath.Join(m.dir, c.weights))
	}
	call.OptStr(weights)
	if failed := call.RunBack(); failed != nil {
		failed.Op = "aoti.load"
		bridge.Fail(failed)
	}
	m.h = call.Owned(0, cgo.ProgramKind)
	if err := m.learn(); err != nil {
		m.h.Close()
		return err
	}
	return nil
}

func kindOf(d torch.Device) string { kind, _, _ := strings.Cut(d.String(), ":"); return kind }

func deviceName(d torch.Device) string {
	if d.Index() < 0 {
		return kindOf(d)
	}
	return d.String()
}

var capability = regexp.MustCompile(`CPU capability usage: (\w+)`)

// fitsProcessor refuses instructions that this processor lacks, or that libtorch was told not to use. Of processors with other names
// than these nothing is known.
func fitsProcessor(needs string) error {
	steps := []string{"DEFAULT", "AVX2", "AVX512"}
	has := capability.FindStringSubmatch(torch.Config())
	if has == nil {
		return nil
	}
	want, own := slices.Index(steps, needs), slices.Index(steps, has[1])
	if want >= 0 && own >= 0 && want > own {
		return fmt.Errorf("it was compiled for processors with %s, this one has %s", needs, has[1])
	}
	return nil
}

// learn asks the library what it knows of itself.
func (m *Model) learn() error {
	var call cgo.Call
	call.Begin(cgo.OpAotiDescribe)
	call.Object(m.h)
	bridge.DoneBack(&call)
	in, rest, _ := strings.Cut(call.Text(0), "\n")
	out, rest, _ := strings.Cut(rest, "\n")
	var err error
	if m.signature.In, err = export.ParseTreeSpec(in); err != nil {
		return malformed("how its inputs are nested: %w", err)
	}
	if m.signature.Out, err = export.ParseTreeSpec(out); err != nil {
		return malformed("how its outputs are nested: %w", err)
	}
	there := map[string]bool{}
	for line := range strings.Lines(rest) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		number, _ := strconv.ParseInt(words[1], 10, 64)
		c := Constant{Name: words[0], DType: bridge.Enum[torch.DType](number), Shape: []int{}}
		for _, word := range words[2:] {
			n, _ := strconv.Atoi(word)
			c.Shape = append(c.Shape, n)
		}
		m.constants, there[c.Name] = append(m.constants, c), true
	}
	for _, c := range m.info.Constants {
		if !there[c.Name] {
			return errors.New("its weights are not in it: it was compiled with package_constants_in_so=False")
		}
	}
	return nil
}

// Info is what the package says of the model.
func (m *Model) Info() Info { return m.info }

// Device is where the model computes. A card without a number is the current one.
func (m *Model) Device() torch.Device { return m.device }

// Inputs are what the model takes, in the order of the arguments.
func (m *Model) Inputs() []Input { return slices.Clone(m.info.Inputs) }

// Outputs are the names of what it returns: the keys of a dictionary, or "output", or "output_0", "output_1" and so on.
func (m *Model) Outputs() []string { return outputNames(m.signature.Out, m.signature.Out.Leaves()) }

// Constants lists the weights, buffers and other tensors in the package, in the order of their names.
func (m *Model) Constants() []Constant { return slices.Clone(m.constants) }

// Constant is a copy of a constant.
func (m *Model) Constant(name string) (t torch.Tensor, err error) {
	defer torch.Recover(&err)
	var call cgo.Call
	call.Begin(cgo.OpAotiConstant)
	call.Object(m.h)
	call.Str(name)
	bridge.DoneBack(&call)
	return bridge.Tensor[torch.Tensor](call.Handle(0)), nil
}

// Close frees the model once no call computes any more. What it returned lives on.
func (m *Model) Close() {
	m.closed.Do(func() {
		m.h.Close()
		if m.device.IsCUDA() { // else it is gone already
			os.RemoveAll(filepath.Dir(m.dir))
		}
	})
}
