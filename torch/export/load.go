package export

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/refused"
	"github.com/libtorch-go/libtorch/torch"
)

// LoadOptions are the rarer arguments of [Load] and [Read].
type LoadOptions struct {
	Operators []string // permitted beyond those of aten that compute: "torchvision::nms", "mylib::*"
	MaxMemory int      // bytes for what is no tensor; default: the size of the file and 48 MB

	// Device is where the program will be, wherever it was exported; see [Program.To]. Default: where it was, which is an error on a
	// machine that has no such device.
	Device torch.Device
}

// Load reads a program that Python's torch.export.save or [Program.Save] wrote, and verifies it. Its tensors live until
// they are closed or collected; [Program.Close] closes them all.
//
// An error that matches [ErrFormat] means that the file is damaged, or no exported program; an [OperatorError] names an
// operator that is not permitted.
func Load(path string, opts ...LoadOptions) (*Program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("export: %s: expected a file, found %v", path, info.Mode().Type())
	}
	p, err := load(f, info.Size(), option.One(opts))
	if err != nil {
		return nil, fmt.Errorf("export: %s: %w", path, err)
	}
	return p, nil
}

// Read is [Load] of a file that is open already, or in memory.
func Read(r io.ReaderAt, size int64, opts ...LoadOptions) (*Program, error) {
	p, err := load(r, size, option.One(opts))
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return p, nil
}

// file is a program's zip file.
type file struct {
	*archive.Archive
	r      io.ReaderAt
	budget int64
	device torch.Device // of all tensors, whatever the file says; none for that
}

func load(r io.ReaderAt, size int64, o LoadOptions) (*Program, error) {
	const floor = 48 << 20
	f := &file{r: r, budget: int64(o.MaxMemory)}
	if o.MaxMemory == 0 {
		f.budget = size + floor
	}
	var err error
	if f.Archive, err = archive.Open(r, size); err != nil {
		return nil, sound(err)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	model, err := f.model()
	if err != nil {
		return nil, err
	}
	p, err := read(f, model)
	if err != nil {
		return nil, err
	}
	p.operators = o.Operators
	f.device = counted(o.Device)
	if !f.device.IsZero() {
		p.Graph.place(f.device)
	}
	if err := p.loadTensors(f, model); err != nil {
		p.Close()
		return nil, err
	}
	if err := p.Verify(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// sound makes an error of the zip file's one of the program's.
func sound(err error) error {
	if errors.Is(err, archive.ErrFormat) {
		return malformed("%w", err)
	}
	return err
}

// check compares what a file says of itself with what is read here.
func (f *file) check() error {
	for _, w := range []struct{ record, want string }{{"archive_format", "pt2"}, {"archive_version", "0"}, {"byteorder", "little"}} {
		text, err := f.Text(w.record)
		switch {
		case err != nil:
			return sound(err)
		case text == "" && w.record == "archive_format":
			return malformed("it is no .pt2: its zip file has no record %q", w.record)
		case text != w.want && (text != "" || w.record != "byteorder"):
			return malformed("%s is %q, expected %q", w.record, text, w.want)
		}
	}
	return nil
}

// model is the name of the only program in the file.
func (f *file) model() (name string, err error) {
	for record := range f.Records {
		if strings.HasPrefix(record, "data/aotinductor/") {
			return "", malformed("it holds machine code of AOTInductor's (%s), which this package does not run", record)
		}
		own, ok := strings.CutPrefix(record, "models/")
		if !ok {
			continue
		}
		own, ok = strings.CutSuffix(own, ".json")
		if !ok || name != "" {
			return "", malformed("expected one program in the folder models, found %q as well", record)
		}
		name = own
	}
	if name == "" {
		return "", malformed("it has no program: there is no record models/model.json")
	}
	return name, nil
}

// bytes reads a record; it is charged to the budget.
func (f *file) bytes(name string) ([]byte, error) {
	rec, ok := f.Records[name]
	if !ok {
		return nil, malformed("record %q is missing", name)
	}
	if f.budget -= rec.Size; f.budget < 0 {
		return nil, malformed("record %q has %d bytes, more than LoadOptions.MaxMemory permits", name, rec.Size)
	}
	b, err := archive.BytesAt(f.r, rec.Data, int(rec.Size))
	return b, sound(err)
}

// parse reads a record of JSON.
func (f *file) parse(name string, see func(*parser)) error {
	b, err := f.bytes(name)
	if err != nil {
		return err
	}
	p := &parser{b: b, budget: f.budget, path: []string{name}}
	see(p)
	f.budget = p.budget + int64(len(b)) // the text itself is garbage now
	return p.end()
}

// read reads all of a program but its tensors.
func read(f *file, model string) (p *Program, err error) {
	if err := f.parse("models/"+model+".json", func(j *parser) { p = decodeProgram(j) }); err != nil {
		return nil, err
	}
	if samples := "data/sample_inputs/" + model + ".pt"; f.Records[samples].Size > 0 {
		if p.samples, err = f.bytes(samples); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// OperatorError is the error of a program that calls an operator which is not permitted.
type OperatorError struct {
	Operator string // "aten::from_file"
	Node     string // in the program
	Reason   string
}

// Error says which operator is refused and why.
func (e *OperatorError) Error() string {
	return refused.Line(fmt.Sprintf("operator %s of node %q is refused: %s", e.Operator, e.Node, e.Reason))
}

// tensorsOf reads the tensors of one of the two folders.
func (p *Program) tensorsOf(f *file, config, folder string) (map[string]torch.Tensor, error) {
	var list []payload
	if err := f.parse(config, func(j *parser) { list = j.payloads() }); err != nil {
		return nil, err
	}
	storages, all := map[string]torch.Tensor{}, map[string]torch.Tensor{}
	for _, own := range list {
		var t torch.Tensor
		var err error
		broken := torch.Try(func() { t, err = own.load(f, folder, storages) })
		if err = errors.Join(err, broken); err != nil {
			closeAll(all)
			return nil, malformed("tensor %q: %w", own.name, err)
		}
		all[own.name] = t
	}
	return all, nil
}

func closeAll(all map[string]torch.Tensor) {
	for _, t := range all {
		t.Close()
	}
}

func (p *Program) loadTensors(f *file, model string) (err error) {
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				p.StateDict, err = p.tensorsOf(f, "data/weights/"+model+"_weights_config.json", "data/weights/")
				if err == nil {
					p.Constants, err = p.tensorsOf(f, "data/constants/"+model+"_constants_config.json", "data/constants/")
				}
			})
		})
	})
	return errors.Join(err, broken)
}
