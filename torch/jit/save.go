package jit

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"syscall"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// SaveOptions are the rarer arguments of [Module.Save] and [Module.Write].
type SaveOptions struct {
	ExtraFiles map[string][]byte // kept in the file beside the module, by name
}

// Save writes the module to a file that torch.jit.load reads, all of it or nothing.
func (m *Module) Save(path string, opts ...SaveOptions) error {
	err := atomicfile.Write(path, func(w io.Writer) error { return m.write(w, option.One(opts)) })
	if err != nil {
		return fmt.Errorf("jit: %w", err)
	}
	return nil
}

// Write writes what [Module.Save] does.
func (m *Module) Write(w io.Writer, opts ...SaveOptions) error {
	if err := m.write(w, option.One(opts)); err != nil {
		return fmt.Errorf("jit: %w", err)
	}
	return nil
}

// write hands w what libtorch writes to a pipe.
func (m *Module) write(w io.Writer, o SaveOptions) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	written := make(chan error, 1)
	go func() {
		_, err := io.Copy(w, out)
		if err != nil {
			_, _ = io.Copy(io.Discard, out) // libtorch writes on: its writer cannot stop
		}
		written <- err
	}()
	err = m.save(in, o)
	return errors.Join(err, in.Close(), <-written)
}

func (m *Module) save(to *os.File, o SaveOptions) (err error) {
	defer torch.Recover(&err)
	var c cgo.Call
	c.Begin(cgo.OpScriptSave)
	c.Object(m.h)
	c.Int(int(to.Fd()))
	c.List(len(o.ExtraFiles))
	for _, name := range slices.Sorted(maps.Keys(o.ExtraFiles)) {
		c.Str(name)
		c.Str(string(o.ExtraFiles[name]))
	}
	m.guard.mu.RLock()
	defer m.guard.mu.RUnlock()
	bridge.Done(&c)
	if n := c.IntResult(0); n != 0 {
		return syscall.Errno(n)
	}
	return nil
}
