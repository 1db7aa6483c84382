package jit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"unsafe"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pin"
	"github.com/libtorch-go/libtorch/torch"
)

// LoadOptions are the rarer arguments of [LoadTrusted] and [ReadTrusted].
type LoadOptions struct {
	Device     torch.Device      // where all tensors go, PyTorch's map_location; default: the CPU, wherever they were
	SHA256     string            // what the file is known by, in hexadecimal; another is refused before anything else looks at it
	ExtraFiles map[string][]byte // receives the extra files of torch.jit.save whose names are its keys
}

// LoadTrusted reads a module of torch.jit.save. The file is a program: it can do what this process may, so it has to come from
// somebody who is trusted, and SHA256 says that it is the one that is meant. A file that is damaged is an error that matches
// [ErrFormat].
func LoadTrusted(path string, opts ...LoadOptions) (*Module, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	m, err := load(b, option.One(opts))
	if err != nil {
		return nil, fmt.Errorf("jit: %s: %w", path, err)
	}
	return m, nil
}

// ReadTrusted is [LoadTrusted] of what r returns up to its end.
func ReadTrusted(r io.Reader, opts ...LoadOptions) (*Module, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	m, err := load(b, option.One(opts))
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	return m, nil
}

// load makes a module of a file's bytes: those that are compared with the sum and checked are those that libtorch reads.
func load(b []byte, o LoadOptions) (m *Module, err error) {
	if err := pin.Check(pin.Sum(b), o.SHA256); err != nil {
		return nil, err
	}
	a, err := check(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	for name := range o.ExtraFiles {
		if rec, ok := a.Records["extra/"+name]; ok {
			if o.ExtraFiles[name], err = a.Content(rec, rec.Size); err != nil {
				return nil, named(err)
			}
		}
	}
	defer torch.Recover(&err)
	if o.Device.IsZero() {
		o.Device = torch.CPU
	}
	var c cgo.Call
	c.Begin(cgo.OpScriptLoad)
	c.Int(len(b))
	c.Code(bridge.Code(o.Device))
	c.Bool(a.debug)
	if failed := c.RunData(unsafe.Pointer(unsafe.SliceData(b))); failed != nil {
		failed.Op = "jit.load"
		explain(failed)
		bridge.Fail(failed)
	}
	return adopt(&c, nil)
}
