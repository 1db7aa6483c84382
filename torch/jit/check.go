package jit

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/internal/refused"
)

// ErrFormat is matched by every error that means: this is not a sound file of torch.jit.save.
var ErrFormat = errors.New("not a sound file of torch.jit.save")

func malformed(format string, args ...any) error {
	return refused.Because(ErrFormat, format, args...)
}

// named makes an error of the zip file's or a pickle's one of the file's.
func named(err error) error {
	if errors.Is(err, archive.ErrFormat) || errors.Is(err, pickle.ErrFormat) || errors.Is(err, pickle.ErrBudget) {
		return malformed("%w", err)
	}
	return err
}

const (
	mostSource  = 256 << 20 // bytes of all compressed records
	mostNested  = 256       // brackets and blocks of the source, one in the other: the compiler needs stack for each
	mostDeep    = 256       // values in a pickle, one in the other: as many calls free them
	mostPickled = 48 << 20  // bytes that a pickle may take besides eight times its size
)

// file is a file that was checked.
type file struct {
	*archive.Archive
	debug bool // what it says of the original source is sound
}

// check refuses files that libtorch would read wrongly, or not survive: those whose sums differ, whose pickles are
// unsound, whose tensors lie outside of their storages, or whose source nests without end. What the code does it cannot know.
func check(r io.ReaderAt, size int64) (f *file, err error) {
	f = &file{debug: true}
	if f.Archive, err = archive.OpenPacked(r, size); err != nil {
		return nil, named(err)
	}
	a := f.Archive
	if err := checkKind(a); err != nil {
		return nil, err
	}
	packed := int64(0)
	for _, rec := range a.Records {
		if rec.Packed {
			packed += rec.Size
		}
		if packed > mostSource || packed < 0 {
			return nil, malformed("its compressed records have more than %d bytes", mostSource)
		}
	}
	for name, rec := range a.Records {
		var err error
		switch {
		case strings.HasSuffix(name, ".py"):
			err = checkSource(a, rec)
		case name == "data.pkl", name == "constants.pkl": // those that are read
			_, err = checkPickle(a, rec)
		case strings.HasSuffix(name, ".debug_pkl"):
			var v any
			v, err = checkPickle(a, rec)
			if f.debug = f.debug && err == nil && debugSound(v); !errors.Is(err, archive.ErrFormat) {
				err = nil
			}
		case rec.Packed:
			_, err = a.Content(rec, mostSource)
		default:
			err = checkSum(r, rec)
		}
		if err != nil {
			return nil, named(err)
		}
	}
	return f, nil
}

// checkKind tells whether it is a file of torch.jit.save, and what it is instead.
func checkKind(a *archive.Archive) error {
	has := func(name string) bool { _, ok := a.Records[name]; return ok }
	switch {
	case has("data.pkl") && has("constants.pkl"):
		return nil
	case has("archive_format") || has("models/model.json") || has("serialized_exported_program.json"):
		return malformed("it is a program of torch.export, which package torch/export reads")
	case has("data.pkl"):
		return malformed("it holds data of torch.save, which package torch/pt reads")
	}
	return malformed("the zip file has no data.pkl and constants.pkl")
}

func checkSum(r io.ReaderAt, rec archive.Record) error {
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(r, rec.Data, rec.Size)); err != nil {
		return err
	}
	if got := sum.Sum32(); got != rec.CRC {
		return malformed("the sum of record %q is %08x, expected %08x", rec.Name, got, rec.CRC)
	}
	return nil
}

// checkSource bounds how deep a source nests.
func checkSource(a *archive.Archive, rec archive.Record) error {
	b, err := a.Content(rec, mostSource)
	if err != nil {
		return err
	}
	depth, indent := 0, 0
	for _, c := range b {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '\n':
			indent = 0
			continue
		case ' ':
			if indent >= 0 {
				indent++
			}
			if indent > 2*mostNested {
				return malformed("the source %q nests more than %d deep", rec.Name, mostNested)
			}
			continue
		}
		indent = -1
		if depth > mostNested {
			return malformed("the source %q nests more than %d deep", rec.Name, mostNested)
		}
	}
	return nil
}

// checkPickle reads a pickle as data, and compares the tensors in it with their storages.
func checkPickle(a *archive.Archive, rec archive.Record) (v any, err error) {
	b, err := a.Content(rec, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	v, end, err := pickle.Read(strings.NewReader(string(b)), 0, rec.Size, pickle.Limits{Budget: mostPickled + 8*rec.Size})
	if err != nil {
		return nil, fmt.Errorf("%q: %w", rec.Name, err)
	}
	if end != rec.Size {
		return nil, malformed("%d bytes follow the pickle %q", rec.Size-end, rec.Name)
	}
	base := rec.Name[strings.LastIndexByte(rec.Name, '/')+1:] // data.pkl has its storages in data/
	c := pickled{storages: a.Records, folder: strings.TrimSuffix(base, ".pkl") + "/", seen: map[any]int{}}
	return v, c.check(v, 0)
}

// pickled looks at the values of a pickle.
type pickled struct {
	storages map[string]archive.Record
	folder   string      // of the pickle's storages: "data/"
	seen     map[any]int // the values that were looked at, and how deep they were
}

func (p *pickled) check(v any, depth int) error {
	if depth > mostDeep {
		return malformed("a pickle nests more than %d deep", mostDeep)
	}
	switch v.(type) {
	case *pickle.Tuple, *pickle.List, *pickle.Dict, *pickle.Object, *pickle.Ref:
		if at, known := p.seen[v]; known && at >= depth {
			return nil
		}
		p.seen[v] = depth
	}
	switch v := v.(type) {
	case *pickle.Tuple:
		return p.all(*v, depth)
	case *pickle.List:
		return p.all(*v, depth)
	case *pickle.Dict:
		return p.items(*v, depth)
	case *pickle.Object:
		if err := p.tensor(v); err != nil {
			return err
		}
		if err := errors.Join(p.all(v.Args, depth), p.all(v.List, depth), p.items(v.Dict, depth)); err != nil {
			return err
		}
		return p.check(v.State, depth+1)
	case *pickle.Ref:
		_, _, err := p.storage(v)
		return err
	}
	return nil
}

func (p *pickled) all(list []any, depth int) error {
	for _, v := range list {
		if err := p.check(v, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (p *pickled) items(list []pickle.Item, depth int) error {
	for _, item := range list {
		if err := errors.Join(p.check(item.Key, depth+1), p.check(item.Value, depth+1)); err != nil {
			return err
		}
	}
	return nil
}
