package pt

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/libtorch-go/libtorch/internal/archive"
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
	a := archive.NewWriter(w, "archive")
	a.Text("data.pkl", text.String())
	a.Text(".format_version", "1")
	a.Text(".storage_alignment", fmt.Sprint(archive.Alignment))
	a.Text("byteorder", "little")
	buffer := make([]byte, piece)
	for _, p := range e.order {
		a.Record("data/"+p.key, p.high-p.low, func(w io.Writer) error { return p.write(w, buffer) })
	}
	a.Text("version", "3\n")
	a.Text(".data/serialization_id", a.ID())
	return a.Finish()
}
