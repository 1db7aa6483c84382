package safetensors

import (
	"cmp"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// IntoOptions are the optional arguments of [LoadInto].
type IntoOptions struct {
	NonStrict bool // pass over tensors that are missing, and over those that nobody asked for
	MMap      bool // map the files into memory, which is faster; nobody may shorten them meanwhile
}

// MisfitError says why a file does not fit the tensors that it was to be loaded into.
type MisfitError struct {
	Path       string
	Missing    []string // tensors that the file lacks
	Unexpected []string // tensors of the file that nobody asked for
	Mismatched []string // what PyTorch says of tensors of another shape
}

// Error says all of it, as PyTorch's load_state_dict does.
func (e *MisfitError) Error() string {
	var parts []string
	if len(e.Unexpected) > 0 {
		parts = append(parts, "Unexpected key(s) in state_dict: "+quoted(e.Unexpected))
	}
	if len(e.Missing) > 0 {
		parts = append(parts, "Missing key(s) in state_dict: "+quoted(e.Missing))
	}
	parts = append(parts, e.Mismatched...)
	return fmt.Sprintf("safetensors: %s does not fit: %s", e.Path, strings.Join(parts, "; "))
}

func quoted(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(list, ", ")
}

// LoadInto reads a file, or those of an index, straight into tensors that there are already: those of a model, whose
// dtypes and devices stay. The memory that it takes besides is a buffer's, and that of one tensor where dtype or
// device differ.
//
//	err := safetensors.LoadInto("model.safetensors", nn.StateDict(model))
//
// Names and shapes are compared before anything is written; where they do not fit the error is a
// *[MisfitError] and nothing changes. If the disk fails later, some tensors have been read and
// others not, and the error says so.
func LoadInto(path string, tensors iter.Seq2[string, torch.Tensor], opts ...IntoOptions) error {
	o := option.One(opts)
	r, err := Open(path, OpenOptions{MMap: o.MMap})
	if err != nil {
		return err
	}
	defer r.Close()
	into := maps.Collect(tensors)
	wrong := &MisfitError{Path: path}
	var jobs []job
	broken := torch.Try(func() { jobs = r.match(into, wrong) })
	if broken != nil {
		return fmt.Errorf("safetensors: %w", broken)
	}
	if o.NonStrict {
		wrong.Missing, wrong.Unexpected = nil, nil
	}
	if len(wrong.Missing)+len(wrong.Unexpected)+len(wrong.Mismatched) > 0 {
		return wrong
	}
	return readAll(jobs)
}

// job is a tensor of a file and the one that it is read into.
type job struct {
	place
	to torch.Tensor
}

// match compares names and shapes.
func (r *Reader) match(into map[string]torch.Tensor, wrong *MisfitError) (jobs []job) {
	for _, name := range slices.Sorted(maps.Keys(into)) {
		p, ok := r.at[name]
		if !ok {
			wrong.Missing = append(wrong.Missing, name)
			continue
		}
		if shape := into[name].Shape(); !slices.Equal(shape, p.shape) {
			wrong.Mismatched = append(wrong.Mismatched, fmt.Sprintf("size mismatch for %s: copying a param with shape %v from checkpoint, "+
				"the shape in current model is %v", name, p.shape, shape))
			continue
		}
		jobs = append(jobs, job{p, into[name]})
	}
	loaded := map[torch.StorageInfo]bool{}
	for _, j := range jobs {
		loaded[memory(j.to)] = true
	}
	wrong.Missing = slices.DeleteFunc(wrong.Missing, func(name string) bool { return loaded[memory(into[name])] })
	for _, name := range r.Names() {
		if _, ok := into[name]; !ok {
			wrong.Unexpected = append(wrong.Unexpected, name)
		}
	}
	slices.SortFunc(jobs, func(a, b job) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.begin, b.begin)) })
	return jobs
}

// memory tells tied tensors: files have one of them.
func memory(t torch.Tensor) torch.StorageInfo {
	s := t.Storage()
	s.Shared = t.StorageOffset()
	return s
}

// readAll reads with two goroutines: one waits for the disk or copies from its cache while the other does.
func readAll(jobs []job) error {
	const readers = 2
	var (
		next   = make(chan job)
		errs   = make(chan error, readers)
		failed = make(chan struct{})
		once   sync.Once
		all    sync.WaitGroup
	)
	for range readers {
		all.Go(func() {
			buffer := make([]byte, piece)
			for j := range next {
				if err := j.read(buffer); err != nil {
					errs <- err
					once.Do(func() { close(failed) })
					return
				}
			}
		})
	}
feed:
	for _, j := range jobs {
		select {
		case next <- j:
		case <-failed:
			break feed
		}
	}
	close(next)
	all.Wait()
	select {
	case err := <-errs:
		return fmt.Errorf("safetensors: %w (the tensors are loaded in part)", err)
	default:
		return nil
	}
}

// read reads a tensor into its target.
func (j job) read(buffer []byte) (err error) {
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				to := j.to.Detach()
				if view, ok := j.view(); ok {
					to.CopyInPlace(view)
					return
				}
				if to.DType() == j.dtype && to.Device().IsCPU() && to.IsContiguous() && !to.IsConj() && !to.IsNeg() {
					err = j.fill(to, buffer)
					return
				}
				own := torch.TensorOptions{DType: j.dtype}.Empty(j.shape...)
				if err = j.fill(own, buffer); err == nil {
					j.to.CopyInPlace(own)
				}
			})
		})
	})
	if err = cmp.Or(err, broken); err != nil {
		return &fs.PathError{Op: "tensor " + j.name, Path: j.path, Err: err}
	}
	return nil
}
