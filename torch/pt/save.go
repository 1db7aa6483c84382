package pt

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/torch"
)

// Save writes a value as torch.save does, whole or not at all; Python's torch.load reads it, with
// weights_only=True unless it holds an [Object] or a frozenset.
//
//	err := pt.Save("model.pt", nn.StateDict(model))
//	err := pt.Save("checkpoint.pt", map[string]any{
//		"model": nn.StateDict(model), "optimizer": opt.StateDict(), "epoch": 7,
//	})
//
// It takes all that [Load] returns, state dicts as nn.StateDict returns them, numbers of all kinds, and slices,
// arrays (which become tuples) and maps of such, in the order of their keys. Tensors may be on any
// device and of any layout but MKL-DNN's. Tensors whose memory overlaps or touches share it in the
// file, which has no bytes of a storage that none of them reaches: a slice of a large tensor makes a small file.
func Save(path string, value any) error {
	if err := atomicfile.Write(path, func(w io.Writer) error { return Write(w, value) }); err != nil {
		return fmt.Errorf("pt: cannot write %s: %w", path, err)
	}
	return nil
}

// Write writes a value as [Save] does. Where a value cannot be written it writes nothing and returns an
// error that says which.
func Write(w io.Writer, value any) (err error) {
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() { err = write(w, value) })
		})
	})
	return cmp.Or(err, broken)
}

func write(w io.Writer, value any) error {
	e := &encoder{tensors: map[torch.Tensor]*pickle.Object{}, dicts: map[*Dict]*pickle.Object{}, plain: map[*Dict]*pickle.Dict{}}
	v, err := e.value(value, 0)
	if err != nil {
		return err
	}
	e.complete()
	for _, do := range e.later {
		do()
	}
	var text bytes.Buffer
	if err := pickle.Write(&text, v); err != nil {
		return err
	}
	a := &archiveWriter{w: w}
	a.text("data.pkl", text.String())
	a.text(".format_version", "1")
	a.text(".storage_alignment", fmt.Sprint(alignment))
	a.text("byteorder", "little")
	buffer := make([]byte, piece)
	for _, p := range e.order {
		a.record("data/"+p.key, p.high-p.low, func(w io.Writer) error { return p.write(w, buffer) })
	}
	a.text("version", "3\n")
	a.text(".data/serialization_id", a.id())
	return a.finish()
}

// id are forty digits that depend on all that was written.
func (a *archiveWriter) id() string {
	sum := sha256.New()
	for _, rec := range a.done {
		_, _ = fmt.Fprintln(sum, rec.name, rec.size, rec.crc)
	}
	digest := sum.Sum(nil)
	return fmt.Sprintf("%020d%020d", binary.LittleEndian.Uint64(digest), binary.LittleEndian.Uint64(digest[8:]))
}
