package profiler

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// Result is a recording. Any number of goroutines may read it.
type Result struct {
	events []*Event
	plan   plan
	trace  *trace
}

func newResult(profile uint64, p plan) *Result {
	r := &Result{plan: p, trace: &trace{profile: profile}}
	runtime.SetFinalizer(r, func(r *Result) { r.trace.close() }) // not a cleanup: see cgo.Handle
	var c cgo.Call
	c.Begin(cgo.OpProfilerEvents)
	c.Word(profile)
	bridge.Done(&c)
	r.events = assemble(decode(c.Reader(0), c.WordResult(1)))
	return r
}

// Events are all events in the order of their beginnings, each before its children. The slice
// belongs to the Result.
func (r *Result) Events() []*Event { return r.events }

// ExportChromeTrace writes the recording to a file that Perfetto and chrome://tracing open, as kineto
// makes it; compressed, where the name ends in .gz. The file is there whole or not at all.
func (r *Result) ExportChromeTrace(path string) error {
	if r.trace == nil {
		return errors.New("torch/profiler: there is no trace: nothing was recorded")
	}
	file, size, err := r.trace.open()
	if err != nil {
		return fmt.Errorf("torch/profiler: cannot make the trace: %w", err)
	}
	err = atomicfile.Write(path, func(w io.Writer) error {
		text := io.NewSectionReader(file, 0, size)
		if !strings.HasSuffix(path, ".gz") {
			_, err := io.Copy(w, text)
			return err
		}
		z := gzip.NewWriter(w)
		_, err := io.Copy(z, text)
		return errors.Join(err, z.Close())
	})
	runtime.KeepAlive(r)
	if err != nil {
		return fmt.Errorf("torch/profiler: cannot write the trace to %s: %w", path, err)
	}
	return nil
}

// Close frees what is kept for the trace; the Events remain. Closing twice does nothing.
func (r *Result) Close() {
	if r.trace != nil {
		r.trace.close()
	}
}

// trace is kineto's part of a recording. kineto writes it to a file, and does so once: from then
// on that file, which has no name any more, is the trace.
type trace struct {
	mu      sync.Mutex
	profile uint64 // the address of libtorch's object, or 0
	file    *os.File
}

func (t *trace) open() (*os.File, int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		if t.profile == 0 {
			return nil, 0, os.ErrClosed
		}
		if err := t.save(); err != nil {
			return nil, 0, err
		}
	}
	info, err := t.file.Stat()
	if err != nil {
		return nil, 0, err
	}
	return t.file, info.Size(), nil
}

func (t *trace) save() error {
	dir, err := os.MkdirTemp("", "libtorch-go-trace-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "kineto.json")
	err = torch.Try(func() {
		var c cgo.Call
		c.Begin(cgo.OpSaveProfile)
		c.Word(t.profile)
		c.Str(made)
		bridge.Done(&c)
	})
	if err != nil {
		return err
	}
	from, err := os.Open(made)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(dir, "trace.json"))
	if err != nil {
		return err
	}
	if err := decodeTrace(to, from); err != nil {
		return errors.Join(err, to.Close())
	}
	t.file = to
	return t.free()
}

func (t *trace) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
	_ = t.free() // it fails after torch.Shutdown alone
}

func (t *trace) free() error {
	profile := t.profile
	t.profile = 0
	if profile == 0 {
		return nil
	}
	return torch.Try(func() {
		var c cgo.Call
		c.Begin(cgo.OpFreeProfile)
		c.Word(profile)
		bridge.Done(&c)
	})
}
