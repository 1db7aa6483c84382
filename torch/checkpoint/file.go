package checkpoint

import (
	"cmp"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// SaveFile writes a checkpoint as one file, whole or not at all, for programs that keep theirs by themselves: what
// checkpoint.pt of a [Run] is.
func SaveFile(path string, parts Parts, at Point) (err error) {
	if err := parts.check(); err != nil {
		return err
	}
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				var dict *pt.Dict
				if dict, err = parts.collect(at); err == nil {
					err = pt.Save(path, dict)
				}
			})
		})
	})
	if err = cmp.Or(err, broken); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// File is a checkpoint in memory, that [SaveFile], a [Run] or Python wrote.
type File struct {
	path string
	dict *pt.Dict
}

// ReadFile reads a checkpoint and compares it with its sums.
func ReadFile(path string) (*File, error) {
	v, err := pt.Load(path, pt.LoadOptions{Verify: true})
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	dict, ok := v.(*pt.Dict)
	if !ok {
		pt.Close(v)
		return nil, fmt.Errorf("checkpoint: %s holds a %T, expected a dict of parts", path, v)
	}
	return &File{path, dict}, nil
}

// Point is where the run was. The user's JSON goes into what user points to, unless it is nil or the file has none;
// then the point has no User.
func (f *File) Point(user any) (Point, error) {
	at, err := point(f.dict, user)
	if err != nil {
		return Point{}, fmt.Errorf("checkpoint: %s: %w", f.path, err)
	}
	at.Path = f.path
	return at, nil
}

// Restore gives parts what the file has of them; parts of the file that are not asked for are passed over. Each part is
// checked before it changes, but parts before a wrong one have changed.
func (f *File) Restore(parts Parts) error {
	if err := parts.restore(f.dict); err != nil {
		return fmt.Errorf("checkpoint: %s does not fit: %w", f.path, err)
	}
	return nil
}

// Close frees the file's tensors.
func (f *File) Close() { pt.Close(f.dict) }
