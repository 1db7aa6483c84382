package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// MaxHeader is the size up to which a header is read: 100 MB, as in the reference
// implementation.
const MaxHeader = 100 << 20

// metadataKey is the header's entry that is no tensor.
const metadataKey = "__metadata__"

// ErrFormat is matched by every error that means "this is not a sound safetensors file".
var ErrFormat = errors.New("not a sound safetensors file")

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

// Load reads a file.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("safetensors: %s: expected a file, found %v", path, info.Mode().Type())
	}
	file, err := Read(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("safetensors: %s: %w", path, err)
	}
	return file, nil
}

// Read reads size bytes of a file. It allocates no more than the file has bytes, and a
// small multiple of the header.
func Read(r io.Reader, size int64) (*File, error) {
	entries, metadata, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	file := &File{Tensors: make(map[string]torch.Tensor, len(entries)), Metadata: metadata}
	for _, e := range entries {
		buffer := make([]byte, e.end-e.begin)
		if _, err := io.ReadFull(r, buffer); err != nil {
			file.Close()
			return nil, fmt.Errorf("%w: tensor %q: %w", ErrFormat, e.name, err)
		}
		var t torch.Tensor
		err := torch.Try(func() {
			torch.Unscoped(func() { t = torch.FromBytes(buffer, e.dtype, e.shape...) })
		})
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("tensor %q: %w", e.name, err)
		}
		file.Tensors[e.name] = t
	}
	return file, nil
}

type entry struct {
	name       string
	dtype      torch.DType
	shape      []int
	begin, end int64
}

// readHeader returns the tensors in the order of their bytes.
func readHeader(r io.Reader, size int64) ([]entry, map[string]string, error) {
	const prefix = 8
	var length uint64
	if err := binary.Read(r, binary.LittleEndian, &length); err != nil {
		return nil, nil, fmt.Errorf("%w: it is too short to have a header", ErrFormat)
	}
	if length > MaxHeader || int64(length) > size-prefix {
		return nil, nil, fmt.Errorf("%w: its header would have %d bytes, the file has %d", ErrFormat, length, size)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, nil, fmt.Errorf("%w: the header is cut off: %w", ErrFormat, err)
	}
	entries, metadata, err := parse(header)
	if err != nil {
		return nil, nil, err
	}
	return entries, metadata, checkLayout(entries, size-prefix-int64(length))
}

func parse(header []byte) ([]entry, map[string]string, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, nil, fmt.Errorf("%w: the header is not JSON: %w", ErrFormat, err)
	}
	var metadata map[string]string
	var entries []entry
	for name, text := range raw {
		if name == metadataKey {
			if err := json.Unmarshal(text, &metadata); err != nil {
				return nil, nil, fmt.Errorf("%w: %s: %w", ErrFormat, metadataKey, err)
			}
			continue
		}
		e, err := parseEntry(name, text)
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.begin != b.begin {
			return int(a.begin - b.begin)
		}
		return int(a.end - b.end) // empty tensors come before what follows them
	})
	return entries, metadata, nil
}

func parseEntry(name string, text json.RawMessage) (e entry, err error) {
	var raw struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return e, fmt.Errorf("%w: tensor %q: %w", ErrFormat, name, err)
	}
	dtype, ok := dtypes[raw.DType]
	if !ok {
		return e, fmt.Errorf("%w: tensor %q has dtype %q, which is not known", ErrFormat, name, raw.DType)
	}
	bytes := int64(dtype.Size())
	for _, n := range raw.Shape {
		if n < 0 || n > 0 && bytes > math.MaxInt64/int64(n) {
			return e, fmt.Errorf("%w: tensor %q has the impossible shape %v", ErrFormat, name, raw.Shape)
		}
		bytes *= int64(n)
	}
	if raw.Offsets[1]-raw.Offsets[0] != bytes {
		return e, fmt.Errorf("%w: tensor %q of shape %v and dtype %s needs %d bytes, has %d", ErrFormat, name, raw.Shape, raw.DType, bytes, raw.Offsets[1]-raw.Offsets[0])
	}
	return entry{name, dtype, raw.Shape, raw.Offsets[0], raw.Offsets[1]}, nil
}

// checkLayout wants the tensors to fill the data without gaps, overlaps or a rest: bytes
// that no tensor owns could be anything.
func checkLayout(entries []entry, data int64) error {
	var at int64
	for _, e := range entries {
		if e.begin != at || e.end > data {
			return fmt.Errorf("%w: tensor %q lies at bytes %d to %d, expected it to start at %d of %d", ErrFormat, e.name, e.begin, e.end, at, data)
		}
		at = e.end
	}
	if at != data {
		return fmt.Errorf("%w: %d bytes of data belong to no tensor", ErrFormat, data-at)
	}
	return nil
}
