package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// prefix is how the names of checkpoints begin.
const prefix = "step-"

// found is a checkpoint in a folder, sound or not. Checkpoints are numbered as they are written: a run that was resumed
// may come to a step once more.
type found struct {
	path   string
	number int
}

// list finds the checkpoints of a folder, the latest first.
func list(dir string) ([]found, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	var all []found
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || !e.IsDir() {
			continue
		}
		_, number, ok := strings.Cut(name, ".")
		if n, err := strconv.Atoi(number); ok && err == nil {
			all = append(all, found{filepath.Join(dir, e.Name()), n})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(b.number, a.number) })
	return all, nil
}

// Latest is the latest checkpoint of a folder whose bytes are as they were written, empty if there is none. What it
// passed over because it is damaged is in skipped, each a *[DamageError].
func Latest(dir string) (path string, skipped []error, err error) {
	all, err := list(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil, nil
	}
	for _, f := range all {
		if err := Verify(f.path); err != nil {
			skipped = append(skipped, err)
			continue
		}
		return f.path, skipped, nil
	}
	return "", skipped, err
}

// Verify compares a checkpoint with its manifest, byte by byte. What is damaged is a *[DamageError].
func Verify(path string) error {
	m, err := readManifest(path)
	if err == nil {
		err = m.verify(path)
	}
	if err != nil {
		return &DamageError{path, err}
	}
	return nil
}

// prune removes checkpoints that are neither among the last nor among the best.
func (r *Run) prune() error {
	all, err := list(r.dir)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, f := range all[:min(r.opts.Keep, len(all))] {
		keep[f.path] = true
	}
	for _, path := range r.best(all) {
		keep[path] = true
	}
	for _, f := range all {
		if keep[f.path] {
			continue
		}
		trash, err := r.disk.MkdirTemp(r.dir, hidden) // so that a half of it is never taken for a checkpoint
		if err != nil {
			return err
		}
		if err := errors.Join(r.disk.Rename(f.path, filepath.Join(trash, "old")), r.disk.RemoveAll(trash)); err != nil {
			return err
		}
	}
	return nil
}

// best are the checkpoints with the best metrics.
func (r *Run) best(all []found) (paths []string) {
	if r.opts.Best == 0 {
		return nil
	}
	metric := map[string]float64{}
	for _, f := range all {
		if m, err := readManifest(f.path); err == nil && m.metric() == m.metric() { // a number
			metric[f.path] = m.metric()
			paths = append(paths, f.path)
		}
	}
	slices.SortStableFunc(paths, func(a, b string) int {
		if r.opts.Lower {
			a, b = b, a
		}
		return cmp.Compare(metric[b], metric[a])
	})
	return paths[:min(r.opts.Best, len(paths))]
}
