package pt

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/internal/refused"
	"github.com/libtorch-go/libtorch/internal/tensorfile"
	"github.com/libtorch-go/libtorch/torch"
)

// ErrFormat is matched by every error that means: this is not a sound file of torch.save.
var ErrFormat = errors.New("not a sound file of torch.save")

// ErrTorchScript is the error for a program of torch.jit.save, which package torch/jit loads. It comes with [ErrFormat].
var ErrTorchScript = errors.New("it is a TorchScript program, which torch.jit.save wrote, and no data")

// malformed is an error that matches [ErrFormat].
func malformed(format string, args ...any) error {
	return refused.Because(ErrFormat, format, args...)
}

// bytesAt reads n bytes.
func bytesAt(r io.ReaderAt, at int64, n int) ([]byte, error) {
	b, err := archive.BytesAt(r, at, n)
	return b, named(err)
}

// LoadOptions are the rarer arguments of [Load], [Read] and [LoadStateDict].
type LoadOptions struct {
	Device    torch.Device // where all tensors go, PyTorch's map_location; default: the CPU, wherever they were
	MMap      bool         // map the file into memory and read what is used; nobody may shorten it meanwhile
	Globals   []string     // classes and functions that are let through as data: "argparse.Namespace"
	Verify    bool         // compare what is read with the zip file's sums; what is mapped is not read
	MaxMemory int          // bytes for what is no tensor; default: the size of the file and 48 MB
}

// Load reads a file of torch.save, and returns all of its value or an error. The page of the package
// says which Go values stand for Python's. Tensors are on the CPU unless Device says where.
//
// An error that matches [ErrFormat] means that the file is damaged, or none of torch.save's; a
// *[GlobalError] names a class that has to be permitted.
func Load(path string, opts ...LoadOptions) (any, error) {
	o := option.One(opts)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("pt: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("pt: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("pt: %s: expected a file, found %v", path, info.Mode().Type())
	}
	v, err := load(f, info.Size(), o, path)
	if err != nil {
		return nil, fmt.Errorf("pt: %s: %w", path, err)
	}
	return v, nil
}

// Read is [Load] of a file that is open already, or in memory. It cannot be mapped.
func Read(r io.ReaderAt, size int64, opts ...LoadOptions) (any, error) {
	o := option.One(opts)
	if o.MMap {
		return nil, errors.New("pt: only a file with a name can be mapped: use Load")
	}
	v, err := load(r, size, o, "")
	if err != nil {
		return nil, fmt.Errorf("pt: %w", err)
	}
	return v, nil
}

// LoadStateDict reads a file that holds one state dict of a module, for nn.LoadStateDict:
//
//	state, err := pt.LoadStateDict("resnet18.pth")
//	err = nn.LoadStateDict(model, state)
//
// A checkpoint of several parts is read by [Load].
func LoadStateDict(path string, opts ...LoadOptions) (map[string]torch.Tensor, error) {
	v, err := Load(path, opts...)
	if err != nil {
		return nil, err
	}
	dict, ok := v.(*Dict)
	if !ok {
		Close(v)
		return nil, fmt.Errorf("pt: %s holds %s, expected a state dict", path, kind(v))
	}
	tensors, err := dict.Tensors()
	if err != nil {
		Close(v)
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return tensors, nil
}

// source is where a file's parts lie, whichever format it has.
type source struct {
	value    any // of the pickle
	storages map[string]*storage
	swap     bool
	pickled  int64 // bytes of pickles
}

func load(r io.ReaderAt, size int64, o LoadOptions, path string) (v any, err error) {
	d := &decoder{builders: allBuilders(), globals: map[string]bool{}}
	for _, name := range o.Globals {
		d.globals[name] = true
	}
	const floor = 48 << 20
	limits := pickle.Limits{Budget: int64(o.MaxMemory), Allow: d.allow}
	if o.MaxMemory == 0 {
		limits.Budget = size + floor
	}
	src, err := open(r, size, limits, o.Verify)
	if err != nil {
		return nil, err
	}
	d.storages, d.most = src.storages, 1<<20+4*int(src.pickled)
	d.loader = loader{r: r, swap: src.swap, device: o.Device, verify: o.Verify}
	if err := d.check(src.value); err != nil {
		return nil, err
	}
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				if o.MMap {
					d.loader.mapped, err = tensorfile.Map(path, size)
				}
				if err == nil {
					err = d.loader.load(d.wanted)
				}
				if err == nil {
					v, err = d.build(src.value)
				}
			})
		})
	})
	if err = errors.Join(err, broken); err != nil {
		torch.Close(d.made...)
		return nil, err
	}
	return v, nil
}

// open finds the value and the storages of a file of either format.
func open(r io.ReaderAt, size int64, l pickle.Limits, verify bool) (source, error) {
	magic, err := bytesAt(r, 0, int(min(size, 4)))
	switch {
	case err != nil:
		return source{}, err
	case string(magic) == "PK\x03\x04":
		return openZip(r, size, l, verify)
	case len(magic) == 0:
		return source{}, malformed("the file is empty")
	}
	return openLegacy(r, size, l)
}

// check goes over the value without making tensors.
func (d *decoder) check(v any) error {
	d.done, d.busy = map[any]decoded{}, map[any]bool{}
	_, _, err := d.value(v, 0)
	return err
}

// build goes over it again and makes them.
func (d *decoder) build(v any) (any, error) {
	d.building = true
	clear(d.done)
	own, _, err := d.value(v, 0)
	return own, err
}

// openZip finds the parts of a file of today's format.
func openZip(r io.ReaderAt, size int64, l pickle.Limits, verify bool) (src source, err error) {
	a, err := archive.OpenPacked(r, size) // a program's source is compressed
	if err == nil && a.Records["constants.pkl"].Name != "" {
		return src, malformed("%w", ErrTorchScript)
	}
	if err == nil {
		a, err = archive.Open(r, size)
	}
	if err != nil {
		return src, named(err)
	}
	main, ok := a.Records["data.pkl"]
	if !ok {
		return src, malformed("the zip file has no data.pkl: torch.save did not write it")
	}
	if verify {
		if err := verified(r, main); err != nil {
			return src, err
		}
	}
	order, err := a.Text("byteorder")
	if err != nil {
		return src, named(err)
	}
	switch order {
	case "", "little":
	case "big":
		src.swap = true
	default:
		return src, malformed("the byte order %s", show(order))
	}
	var refs []*pickle.Ref
	l.Refs = &refs
	var end int64
	if src.value, end, err = pickle.Read(r, main.Data, main.Data+main.Size, l); err != nil {
		return src, named(err)
	}
	if end != main.Data+main.Size {
		return src, malformed("%d bytes follow the pickle", main.Data+main.Size-end)
	}
	src.pickled = main.Size
	src.storages = map[string]*storage{}
	return src, eachRef(refs, func(id refID) error {
		rec, ok := a.Records["data/"+id.key]
		if !ok {
			return malformed("there is no record of storage %q", id.key)
		}
		if id.size > rec.Size {
			return malformed("storage %q has %d bytes, its record %d", id.key, id.size, rec.Size)
		}
		if src.storages[id.key] == nil {
			src.storages[id.key] = &storage{key: id.key, dtype: id.dtype, at: rec.Data, size: rec.Size, crc: &rec.CRC}
		}
		return nil
	})
}

func eachRef(refs []*pickle.Ref, see func(refID) error) error {
	for _, ref := range refs {
		id, err := parseRef(ref)
		if err != nil {
			return err
		}
		if err := see(id); err != nil {
			return err
		}
	}
	return nil
}

// named makes an error of the zip file's or the pickle's one of the file's.
func named(err error) error {
	switch {
	case errors.Is(err, pickle.ErrFormat), errors.Is(err, archive.ErrFormat):
		return malformed("%w", err)
	case errors.Is(err, pickle.ErrBudget):
		return fmt.Errorf("%w; LoadOptions.MaxMemory permits more", err)
	}
	return err
}
