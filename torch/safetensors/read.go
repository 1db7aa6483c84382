package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/libtorch-go/libtorch/internal/tensorfile"
	"github.com/libtorch-go/libtorch/torch"
)

// MaxHeader is the size up to which a header is read and written: 100 MB, as in the reference
// implementation.
const MaxHeader = 100_000_000

// metadataKey is the header's entry that is not a tensor.
const metadataKey = "__metadata__"

// Every error that means "this is not a valid safetensors file" matches ErrFormat, and one of the kinds that
// the reference implementation tells apart.
var (
	ErrFormat         = errors.New("not a sound safetensors file")
	ErrHeaderTooSmall = errors.New("header too small")
	ErrHeaderTooLarge = errors.New("header too large")
	ErrHeaderLength   = errors.New("invalid header length")
	ErrHeaderUTF8     = errors.New("invalid UTF-8 in header")
	ErrHeaderStart    = errors.New("invalid start character in header")
	ErrHeaderJSON     = errors.New("invalid JSON in header")
	ErrTensorInfo     = errors.New("invalid shape, data type, or offset for tensor")
	ErrDType          = errors.New("unknown data type")
	ErrOffset         = errors.New("invalid offset for tensor")
	ErrIncomplete     = errors.New("incomplete metadata, file not fully covered")
	ErrOverflow       = errors.New("overflow computing buffer size from shape and/or element type")
	ErrTensorNotFound = errors.New("tensor not found")
)

// piece is how many bytes are read and written at a time: they stay in a processor's cache.
const piece = 1 << 20

// File is the content of a safetensors file.
type File struct {
	Tensors  map[string]torch.Tensor // on the CPU
	Metadata map[string]string
}

// Close frees the tensors.
func (f *File) Close() {
	for _, t := range f.Tensors {
		t.Close()
	}
}

// Load reads a file. Several goroutines have the kernel write into the tensors' memory.
func Load(path string) (*File, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	file := &File{Tensors: make(map[string]torch.Tensor, len(r.at)), Metadata: r.Metadata}
	broken := torch.Try(func() {
		torch.Scope(func() {
			var parts []tensorfile.Part
			var places []place
			places = slices.SortedFunc(maps.Values(r.at), func(a, b place) int { return cmp.Compare(a.begin, b.begin) })
			for _, p := range places {
				t := torch.TensorOptions{DType: p.dtype}.Empty(p.shape...)
				file.Tensors[p.name] = t
				parts = append(parts, p.into(t))
			}
			if err = readAll(parts, places); err == nil {
				for name, t := range file.Tensors {
					file.Tensors[name] = t.Keep()
				}
			}
		})
	})
	if err = cmp.Or(err, broken); err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return file, nil
}

// Read reads size bytes of a file, and returns all of its tensors or none. It takes the memory of
// the tensors and a small multiple of the header's.
func Read(r io.Reader, size int64) (*File, error) {
	entries, metadata, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	file := &File{Tensors: make(map[string]torch.Tensor, len(entries)), Metadata: metadata}
	whole := false
	defer func() {
		if !whole {
			file.Close()
		}
	}()
	buffer := make([]byte, min(size, piece))
	for _, e := range entries {
		if err := file.read(r, e, buffer); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", e.name, err)
		}
	}
	whole = true
	return file, nil
}

// read reads the bytes of a tensor, a buffer at a time. The memory of a large tensor is
// libtorch's, which returns an error if there is not enough; Go would end the process.
func (f *File) read(r io.Reader, e entry, buffer []byte) (err error) {
	left := e.end - e.begin
	fill := func(n int64) []byte {
		piece := buffer[:min(n, int64(len(buffer)))]
		if _, failed := io.ReadFull(r, piece); failed != nil {
			err = cutOff(ErrIncomplete, failed)
		}
		return piece
	}
	broken := torch.Try(func() {
		torch.Scope(func() {
			if left <= int64(len(buffer)) {
				if piece := fill(left); err == nil {
					f.Tensors[e.name] = torch.FromBytes(piece, e.dtype, e.shape...).Keep()
				}
				return
			}
			t := torch.TensorOptions{DType: e.dtype}.Empty(e.shape...)
			bytes := t.View(-1).ViewDType(torch.Uint8)
			for at := int64(0); at < left; at += int64(len(buffer)) {
				piece := fill(left - at)
				if err != nil {
					return
				}
				torch.Scope(func() { torch.Fill(bytes.Narrow(0, int(at), len(piece)), piece) })
			}
			f.Tensors[e.name] = t.Keep()
		})
	})
	return cmp.Or(err, broken)
}

// readHeader returns the tensors in the order of their bytes.
func readHeader(r io.Reader, size int64) ([]entry, map[string]string, error) {
	const prefix = 8
	start := make([]byte, prefix)
	if _, err := io.ReadFull(r, start); err != nil {
		return nil, nil, fmt.Errorf("the length of the header: %w", cutOff(ErrHeaderTooSmall, err))
	}
	length := binary.LittleEndian.Uint64(start)
	switch {
	case length > MaxHeader:
		return nil, nil, malformed(ErrHeaderTooLarge, "its header would have %d bytes, the file has %d", length, size)
	case size < prefix || int64(length) > size-prefix:
		return nil, nil, malformed(ErrHeaderLength, "its header would have %d bytes, the file has %d", length, size)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, nil, fmt.Errorf("the header: %w", cutOff(ErrHeaderLength, err))
	}
	entries, metadata, err := parse(header)
	if err != nil {
		return nil, nil, err
	}
	return entries, metadata, checkLayout(entries, size-prefix-int64(length))
}

// cutOff is the error of a read: ErrFormat if the file ends too early, otherwise the reader's
// error.
func cutOff(kind, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed(kind, "the file ends too soon: %w", io.ErrUnexpectedEOF)
	}
	return err
}
