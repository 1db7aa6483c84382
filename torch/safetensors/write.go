package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/torch"
)

var dtypes = map[string]torch.DType{
	"BOOL": torch.Bool, "U8": torch.Uint8, "I8": torch.Int8, "I16": torch.Int16, "I32": torch.Int32, "I64": torch.Int64,
	"U16": torch.Uint16, "U32": torch.Uint32, "U64": torch.Uint64,
	"F16": torch.Float16, "BF16": torch.BFloat16, "F32": torch.Float32, "F64": torch.Float64,
	"F8_E5M2": torch.Float8E5M2, "F8_E4M3": torch.Float8E4M3FN, "C64": torch.Complex64,
}

func nameOf(d torch.DType) (string, bool) {
	for name, dtype := range dtypes {
		if dtype == d {
			return name, true
		}
	}
	return "", false
}

// Save writes tensors and metadata to a file, whole or not at all. The tensors may be on
// any device; they are written in row-major order.
func Save(path string, tensors iter.Seq2[string, torch.Tensor], metadata map[string]string) error {
	if err := atomicfile.Write(path, func(w io.Writer) error { return Write(w, tensors, metadata) }); err != nil {
		return fmt.Errorf("safetensors: cannot write %s: %w", path, err)
	}
	return nil
}

// Write writes tensors and metadata. A tensor that cannot be read, a closed one for
// example, is an error here.
func Write(w io.Writer, tensors iter.Seq2[string, torch.Tensor], metadata map[string]string) (err error) {
	if broken := torch.Try(func() { err = write(w, tensors, metadata) }); broken != nil {
		return broken
	}
	return err
}

type named struct {
	name string
	torch.Tensor
}

func write(w io.Writer, tensors iter.Seq2[string, torch.Tensor], metadata map[string]string) error {
	var list []named // of one pass: a map's order changes from pass to pass
	for name, t := range tensors {
		list = append(list, named{name, t})
	}
	header, err := makeHeader(list, metadata)
	if err != nil {
		return err
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(len(header))); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range list {
		if _, err := w.Write(t.Bytes()); err != nil {
			return fmt.Errorf("tensor %q: %w", t.name, err)
		}
	}
	return nil
}

// makeHeader keeps the order of the tensors, which encoding/json would not.
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
	if len(metadata) > 0 {
		if err := field(metadataKey, metadata); err != nil {
			return nil, err
		}
	}
	at, seen := 0, map[string]bool{metadataKey: true}
	for _, t := range tensors {
		dtype, known := nameOf(t.DType())
		if seen[t.name] || !known {
			return nil, fmt.Errorf("tensor %q of dtype %v cannot be written: its name must be its own and its dtype one of the format's", t.name, t.DType())
		}
		seen[t.name] = true
		end := at + t.NumEl()*t.ElementSize()
		shape := t.Shape()
		err := field(t.name, struct {
			DType   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}{dtype, shape, [2]int{at, end}})
		if err != nil {
			return nil, err
		}
		at = end
	}
	b.WriteByte('}')
	const align = 8 // of the data; the format pads the header with spaces
	for b.Len()%align != 0 {
		b.WriteByte(' ')
	}
	return b.Bytes(), nil
}
