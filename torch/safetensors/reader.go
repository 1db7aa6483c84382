package safetensors

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/tensorfile"
	"github.com/libtorch-go/libtorch/torch"
)

// OpenOptions are the optional arguments of [Open].
type OpenOptions struct {
	MMap bool // tensors are the file, mapped into memory; nobody may shorten it meanwhile
}

// Info is what a file says of a tensor.
type Info struct {
	DType torch.DType
	Shape []int
	Bytes int64
	File  string // that it is in
}

// Reader reads single tensors of a file, or of several that an index holds together. It may be used by
// several goroutines.
type Reader struct {
	Metadata map[string]string // of the file, or of the index
	shards   []*shard
	at       map[string]place
}

// shard is one file.
type shard struct {
	path   string
	f      *os.File
	data   int64 // where the tensors' bytes begin
	mapped torch.Tensor
}

type place struct {
	*shard
	entry
}

// Open reads the header of a file, or of all files of an index (model.safetensors.index.json), and no
// tensors yet:
//
//	r, err := safetensors.Open("model.safetensors.index.json")
//	defer r.Close()
//	w, err := r.Tensor("model.embed_tokens.weight")
func Open(path string, opts ...OpenOptions) (*Reader, error) {
	o := option.One(opts)
	r := &Reader{at: map[string]place{}}
	var err error
	if strings.HasSuffix(path, ".json") {
		err = r.openIndex(path, o)
	} else {
		r.Metadata, err = r.open(path, o, nil)
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return r, nil
}

// open adds a file of which wanted tensors are taken, all of them if it is nil.
func (r *Reader) open(path string, o OpenOptions, wanted map[string]bool) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &shard{path: path, f: f}
	r.shards = append(r.shards, s)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: expected a file, found %v", path, info.Mode().Type())
	}
	entries, metadata, err := readHeader(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if s.data, err = f.Seek(0, io.SeekCurrent); err != nil {
		return nil, err
	}
	if o.MMap && info.Size() > 0 {
		if s.mapped, err = tensorfile.Map(path, info.Size()); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, e := range entries {
		if wanted == nil || wanted[e.name] {
			r.at[e.name] = place{s, e}
		}
	}
	return metadata, nil
}

// openIndex adds the files of an index, which lie beside it.
func (r *Reader) openIndex(path string, o OpenOptions) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var index struct {
		Metadata map[string]any    `json:"metadata"`
		Files    map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil || index.Files == nil {
		return malformed(ErrHeaderJSON, "%s is no index with a weight_map: %v", path, err)
	}
	r.Metadata = map[string]string{}
	for key, v := range index.Metadata {
		r.Metadata[key] = fmt.Sprint(v)
	}
	files := map[string]map[string]bool{}
	for name, file := range index.Files {
		if file != filepath.Base(file) || file == ".." {
			return malformed(ErrHeaderJSON, "%s: tensor %q is in %q, expected a file beside the index", path, name, file)
		}
		if files[file] == nil {
			files[file] = map[string]bool{}
		}
		files[file][name] = true
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if _, err := r.open(filepath.Join(filepath.Dir(path), file), o, files[file]); err != nil {
			return err
		}
	}
	for name, file := range index.Files {
		if _, ok := r.at[name]; !ok {
			return fmt.Errorf("%s: %w: %q is not in %s", path, ErrTensorNotFound, name, file)
		}
	}
	return nil
}

// Names are the names of all tensors, sorted.
func (r *Reader) Names() []string { return slices.Sorted(maps.Keys(r.at)) }

// Info is what the file says of a tensor. An unknown name is an error that matches [ErrTensorNotFound].
func (r *Reader) Info(name string) (Info, error) {
	p, ok := r.at[name]
	if !ok {
		return Info{}, fmt.Errorf("safetensors: %w: %q", ErrTensorNotFound, name)
	}
	return Info{p.dtype, slices.Clone(p.shape), p.end - p.begin, p.path}, nil
}

// Tensor reads a tensor. With MMap it is a part of the mapped file, which is read where somebody looks.
func (r *Reader) Tensor(name string) (t torch.Tensor, err error) {
	p, ok := r.at[name]
	if !ok {
		return t, fmt.Errorf("safetensors: %w: %q", ErrTensorNotFound, name)
	}
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				if view, ok := p.view(); ok {
					t = view.Keep()
					return
				}
				own := torch.TensorOptions{DType: p.dtype}.Empty(p.shape...)
				if err = readAll([]tensorfile.Part{p.into(own)}, []place{p}); err == nil {
					t = own.Keep()
				}
			})
		})
	})
	if err = cmp.Or(err, broken); err != nil {
		return torch.Tensor{}, fmt.Errorf("safetensors: %w", err)
	}
	return t, nil
}

// view is the tensor as a part of the mapped file; false if it is not mapped, or does not lie where its elements may.
func (p place) view() (t torch.Tensor, ok bool) {
	at, item := p.data+p.begin, p.dtype.Size()
	if !p.mapped.Defined() || at%int64(item) != 0 {
		return t, false
	}
	return torch.TensorOptions{DType: p.dtype}.Empty(0).SetTensorOffsetInPlace(p.mapped, int(at)/item, p.shape, rowMajor(p.shape)...), true
}

// rowMajor are the strides of a contiguous tensor.
func rowMajor(shape []int) []int {
	strides, n := make([]int, len(shape)), 1
	for d := len(shape) - 1; d >= 0; d-- {
		strides[d] = n
		n *= max(shape[d], 1)
	}
	return strides
}

// into is the part of the file that goes into a tensor which is contiguous, on the CPU and of the same dtype and size.
func (p place) into(t torch.Tensor) tensorfile.Part {
	return tensorfile.Part{File: p.f, At: p.data + p.begin, Into: t}
}

// readAll reads parts that lie at these places.
func readAll(parts []tensorfile.Part, at []place) error {
	i, err := tensorfile.Read(parts)
	if err != nil {
		return at[i].failed(cutOff(ErrIncomplete, err))
	}
	return nil
}

// failed is an error with the place that it is about.
func (p place) failed(err error) error {
	return &fs.PathError{Op: "tensor " + p.name, Path: p.path, Err: err}
}

// Close closes the files. Tensors that were read stay; a mapped file stays mapped as long as one of its tensors
// does.
func (r *Reader) Close() error {
	var errs []error
	for _, s := range r.shards {
		s.mapped.Close()
		errs = append(errs, s.f.Close())
	}
	r.shards, r.at = nil, nil
	return errors.Join(errs...)
}
