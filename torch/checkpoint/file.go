package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// FileOptions are the rarer arguments of [SaveFile] and [LoadFile].
type FileOptions struct {
	Recipe any // what a run has to have in common with the one that goes on from the file, as a struct of its flags; default: nothing
	User   any // where LoadFile puts the user's JSON; default: nowhere
}

// SaveFile writes a checkpoint as one file, whole or not at all, for programs that keep theirs by themselves: what
// checkpoint.pt of a [Run] is.
func SaveFile(path string, parts Parts, at Point, opts ...FileOptions) (err error) {
	if err := parts.check(); err != nil {
		return err
	}
	recipe, err := encodeRecipe(option.One(opts).Recipe)
	if err != nil {
		return err
	}
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() {
				var dict *pt.Dict
				if dict, err = parts.collect(at, recipe); err == nil {
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

// LoadFile brings a run to where a file was: one of [SaveFile], checkpoint.pt of a [Run], or a file of Python's torch.save
// with parts of the same names. Parts that are not asked for are passed over. A file of a run with another recipe is a
// *[RecipeError], before anything changes. Each part is checked before it changes, but parts before a wrong one have
// changed.
func LoadFile(path string, parts Parts, opts ...FileOptions) (Point, error) {
	o := option.One(opts)
	f, err := ReadFile(path)
	if err != nil {
		return Point{}, err
	}
	defer f.Close()
	at, err := f.Point(o.User)
	if err != nil {
		return Point{}, err
	}
	if err := f.compare(o.Recipe); err != nil {
		return Point{}, err
	}
	if err := f.Restore(parts); err != nil {
		return Point{}, err
	}
	return at, nil
}

// Preflight finds out, before a training spends its first hour, whether there is a checkpoint to load and whether one can be
// saved. Empty paths are passed over.
func Preflight(load, save string) error {
	if load != "" {
		if _, err := os.Stat(load); err != nil {
			return fmt.Errorf("checkpoint: there is none to load: %w", err)
		}
	}
	if save == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(save), hidden)
	if err != nil {
		return fmt.Errorf("checkpoint: none can be saved to %s: %w", save, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
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
