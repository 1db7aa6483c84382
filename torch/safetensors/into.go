package safetensors

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/internal/tensorfile"
	"github.com/libtorch-go/libtorch/torch"
)

// IntoOptions are the optional arguments of [LoadInto].
type IntoOptions struct {
	NonStrict bool // pass over tensors that are missing, and over those that nobody asked for
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
		parts = append(parts, "Unexpected key(s) in state_dict: "+pytext.Quoted(e.Unexpected))
	}
	if len(e.Missing) > 0 {
		parts = append(parts, "Missing key(s) in state_dict: "+pytext.Quoted(e.Missing))
	}
	parts = append(parts, e.Mismatched...)
	return fmt.Sprintf("safetensors: %s does not fit: %s", e.Path, strings.Join(parts, "; "))
}

// LoadInto reads a file, or those of an index, straight into tensors that there are already: those of a model, whose
// dtypes and devices stay. Several goroutines have the kernel write into the tensors' memory. Besides that it takes the
// memory of one tensor, where dtype, device or layout differ.
//
//	err := safetensors.LoadInto("model.safetensors", nn.StateDict(model))
//
// Names and shapes are compared before anything is written; where they do not fit the error is a
// *[MisfitError] and nothing changes. If the disk fails later, some tensors have been read and
// others not, and the error says so.
func LoadInto(path string, tensors iter.Seq2[string, torch.Tensor], opts ...IntoOptions) error {
	o := option.One(opts)
	r, err := Open(path)
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
	return run(jobs)
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

// run reads what lies in memory as in the file, and then the rest, a tensor at a time.
func run(jobs []job) error {
	var (
		parts  []tensorfile.Part
		places []place
		others []job
		err    error
	)
	broken := torch.Try(func() {
		for _, j := range jobs {
			if j.direct() {
				parts, places = append(parts, j.into(j.to)), append(places, j.place)
			} else {
				others = append(others, j)
			}
		}
	})
	if err = cmp.Or(broken, readAll(parts, places)); err == nil {
		for _, j := range others {
			if err = j.convert(); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("safetensors: %w (the tensors are loaded in part)", err)
	}
	return nil
}

// direct says whether the bytes of the target are those of the file.
func (j job) direct() bool {
	return j.to.DType() == j.dtype && j.to.Device().IsCPU() && j.to.IsContiguous() && !j.to.IsConj() && !j.to.IsNeg()
}

// convert reads a tensor whose target has another dtype, device or layout.
func (j job) convert() (err error) {
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				own := torch.TensorOptions{DType: j.dtype}.Empty(j.shape...)
				if err = readAll([]tensorfile.Part{j.into(own)}, []place{j.place}); err == nil {
					j.to.Detach().CopyInPlace(own)
				}
			})
		})
	})
	if broken != nil {
		return j.failed(broken)
	}
	return err
}
