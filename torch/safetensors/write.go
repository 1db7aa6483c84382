package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"unicode/utf8"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

var dtypes = map[string]torch.DType{
	"BOOL": torch.Bool, "U8": torch.Uint8, "I8": torch.Int8, "I16": torch.Int16, "I32": torch.Int32, "I64": torch.Int64,
	"U16": torch.Uint16, "U32": torch.Uint32, "U64": torch.Uint64,
	"F16": torch.Float16, "BF16": torch.BFloat16, "F32": torch.Float32, "F64": torch.Float64,
	"F8_E5M2": torch.Float8E5M2, "F8_E4M3": torch.Float8E4M3FN,
	"F8_E5M2FNUZ": torch.Float8E5M2FNUZ, "F8_E4M3FNUZ": torch.Float8E4M3FNUZ, "C64": torch.Complex64,
	"F8_E8M0": torch.Float8E8M0FNU, "F4": torch.Float4E2M1FNX2,
}

// packed says whether an element of libtorch's holds two of the format's, along the last dimension.
func packed(d torch.DType) bool { return d == torch.Float4E2M1FNX2 }

// foreign are dtypes of the format that there are no tensors of.
var foreign = []string{"F6_E2M3", "F6_E3M2"}

func nameOf(d torch.DType) (string, bool) {
	for name, dtype := range dtypes {
		if dtype == d {
			return name, true
		}
	}
	return "", false
}

// SaveOptions are the optional arguments of [Save] and [Write].
type SaveOptions struct {
	Metadata map[string]string // what else the file says of itself; default: nothing
}

// Save writes tensors to a file, whole or not at all. The tensors may be on any device; they are
// written in row-major order.
func Save(path string, tensors iter.Seq2[string, torch.Tensor], opts ...SaveOptions) error {
	if err := atomicfile.Write(path, func(w io.Writer) error { return Write(w, tensors, opts...) }); err != nil {
		return fmt.Errorf("safetensors: cannot write %s: %w", path, err)
	}
	return nil
}

// Write writes tensors. It checks all tensors first: if one is closed, has a
// dtype or a layout that the format lacks, or has no values, it writes nothing and returns an
// error with the tensor's name.
func Write(w io.Writer, tensors iter.Seq2[string, torch.Tensor], opts ...SaveOptions) error {
	o := option.One(opts)
	var list []named // of one pass: a map's order changes from pass to pass
	for name, t := range tensors {
		list = append(list, named{name, t})
	}
	header, err := makeHeader(list, o.Metadata)
	if err != nil {
		return err
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(len(header))); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	buffer := make([]byte, piece)
	for _, t := range list {
		if err := t.write(w, buffer); err != nil {
			return fmt.Errorf("tensor %q: %w", t.name, err)
		}
	}
	return nil
}

type named struct {
	name string
	torch.Tensor
}

// write writes the elements in row-major order, a buffer at a time. If their order requires a
// copy of all of them, libtorch makes it and returns an error if there is no memory.
func (t named) write(w io.Writer, buffer []byte) (err error) {
	broken := torch.Try(func() {
		torch.Scope(func() {
			n, item := t.NumEl(), t.ElementSize()
			if n*item <= len(buffer) {
				bridge.Bytes(t.Tensor, buffer[:n*item])
				_, err = w.Write(buffer[:n*item])
				return
			}
			flat := t.Detach().To(torch.CPU).Contiguous().View(-1)
			most := len(buffer) / item
			for at := 0; at < n && err == nil; at += most {
				b := buffer[:min(most, n-at)*item]
				torch.Scope(func() { bridge.Bytes(flat.Narrow(0, at, len(b)/item), b) })
				_, err = w.Write(b)
			}
		})
	})
	return cmp.Or(err, broken)
}

// header is the entry for a tensor in the format's header.
type header struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// describe returns the header of a tensor whose bytes begin at an offset, or an error if
// the tensor has no bytes to write.
func (t named) describe(at int) (h header, err error) {
	if !t.Defined() {
		return h, errors.New("it is undefined")
	}
	broken := torch.Try(func() {
		known := false
		h.DType, known = nameOf(t.DType())
		switch {
		case t.Layout() != torch.Strided:
			err = fmt.Errorf("its layout is %v, which the format lacks; convert it by ToDense", t.Layout())
			return
		case !known:
			err = fmt.Errorf("its dtype is %v, which the format lacks; convert it by To, or by Dequantize", t.DType())
			return
		case t.Device().Type() == torch.DeviceMeta:
			err = errors.New("it is on the meta device, so that it has no values")
			return
		}
		h.Shape = t.Shape()
		size, ok := bytesOf(t.DType(), h.Shape)
		if !ok || size > math.MaxInt-at || len(h.Shape) > mostDims {
			err = fmt.Errorf("shape %v is too large for a file", h.Shape)
		}
		h.Offsets = [2]int{at, at + size}
		if packed(t.DType()) {
			if len(h.Shape) == 0 {
				err = fmt.Errorf("a tensor of %v without dimensions is no whole number of pairs along one", t.DType())
				return
			}
			h.Shape[len(h.Shape)-1] *= 2
		}
	})
	return h, cmp.Or(err, broken)
}

// makeHeader keeps the order of the tensors, which encoding/json would change.
func makeHeader(tensors []named, metadata map[string]string) ([]byte, error) {
	var b bytes.Buffer
	field := func(name string, v any) error {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		value, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
		return nil
	}
	b.WriteByte('{')
	for key, value := range metadata {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("the metadata %q: %q are not UTF-8", key, value)
		}
	}
	if len(metadata) > 0 {
		if err := field(metadataKey, metadata); err != nil {
			return nil, err
		}
	}
	at, seen := 0, map[string]bool{metadataKey: true}
	for _, t := range tensors {
		if seen[t.name] || !utf8.ValidString(t.name) {
			return nil, fmt.Errorf("tensor %q cannot be written: its name must be its own, and UTF-8", t.name)
		}
		seen[t.name] = true
		h, err := t.describe(at)
		if err != nil {
			return nil, fmt.Errorf("tensor %q cannot be written: %w", t.name, err)
		}
		if err := field(t.name, h); err != nil {
			return nil, err
		}
		at = h.Offsets[1]
	}
	b.WriteByte('}')
	const align = 8 // of the data; the format pads the header with spaces
	for b.Len()%align != 0 {
		b.WriteByte(' ')
	}
	if b.Len() > MaxHeader {
		return nil, fmt.Errorf("the header would have %d bytes, and readers take no more than %d", b.Len(), MaxHeader)
	}
	return b.Bytes(), nil
}
