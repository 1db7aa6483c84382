package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// Options are the optional arguments of [Open].
type Options struct {
	Every int  // steps between two checkpoints that Run.Step saves; default: none but at the end
	Keep  int  // how many of the last are kept; default: 2
	Best  int  // how many of those with the best metric are kept besides; default: none
	Lower bool // a lower metric is better, as of a loss
	Async bool // Save returns once all tensors are copied, and a goroutine writes them

	Recipe any // what a run has to have in common with the one that goes on from it, as a struct of its flags; default: nothing

	// Check is asked before each checkpoint. With an error nothing is written and Save returns it: operations on cards and between
	// machines tell late that they have failed, and what they leave must not take the place of a good checkpoint.
	Check func() error
}

// Run saves and resumes one training. Its methods are called by one goroutine.
type Run struct {
	dir     string
	parts   Parts
	opts    Options
	disk    disk
	pending chan error // of the checkpoint that is being written; nil if there is none
	saved   int        // the step of the last one
	recipe  string     // as JSON; empty if there is none
}

// Open makes a run that keeps its checkpoints in a folder, which it makes if there is none. What a run that was
// killed left of one is removed: only one run at a time may use a folder. A run without a folder, dir "", saves and resumes
// nothing, for programs in which a flag decides.
func Open(dir string, parts Parts, opts ...Options) (*Run, error) {
	r := &Run{dir: dir, parts: parts, opts: option.One(opts), disk: system{}, saved: -1}
	if err := parts.check(); err != nil {
		return nil, err
	}
	var err error
	if r.recipe, err = encodeRecipe(r.opts.Recipe); err != nil {
		return nil, err
	}
	if r.opts.Keep < 0 || r.opts.Best < 0 || r.opts.Every < 0 {
		return nil, fmt.Errorf("checkpoint: Keep %d, Best %d and Every %d, expected no negative number", r.opts.Keep, r.opts.Best, r.opts.Every)
	}
	if r.opts.Keep == 0 {
		r.opts.Keep = 2
	}
	if dir == "" {
		return r, nil
	}
	const folder = 0o755
	if err := os.MkdirAll(dir, folder); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if err := sweep(r.disk, dir); err != nil {
		return nil, fmt.Errorf("checkpoint: what is left of an earlier run cannot be removed: %w", err)
	}
	return r, nil
}

// OnTerm is a context that ends when the process is asked to end, by SIGTERM or an interrupt. [Run.Step] then saves a
// checkpoint and says that it is time to return, so that the process ends with status 0.
func OnTerm(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
}

// Step is called after each step of the training. It saves a checkpoint every Options.Every steps, and when ctx has
// ended; then stop is true, the checkpoint is on the disk, and the training returns.
func (r *Run) Step(ctx context.Context, at Point) (stop bool, err error) {
	due := r.opts.Every > 0 && at.Step%r.opts.Every == 0
	stop = ctx.Err() != nil
	if (due || stop) && at.Step != r.saved {
		err = r.Save(at)
	}
	if stop {
		err = errors.Join(err, r.Wait())
	}
	return stop, err
}

// Save writes a checkpoint, whole or not at all. When it returns nil the checkpoint is on the disk; with Options.Async
// it returns once all tensors are copied, and the next Save, [Run.Wait] or [Run.Close] return what became of it.
func (r *Run) Save(at Point) error {
	if err := r.Wait(); err != nil || r.dir == "" {
		return err
	}
	user, err := json.Marshal(at.User)
	if err != nil {
		return fmt.Errorf("checkpoint: the user's value has no JSON: %w", err)
	}
	m := &manifest{Format: formatVersion, Epoch: at.Epoch, Batch: at.Batch, Step: at.Step,
		Metric: strconv.FormatFloat(at.Metric, 'g', -1, 64), User: user}
	broken := torch.Try(func() {
		torch.NoGrad(func() {
			torch.Scope(func() { err = r.start(at, m) })
		})
	})
	if err = cmp.Or(err, broken); err != nil {
		return fmt.Errorf("checkpoint: step %d is not saved: %w", at.Step, err)
	}
	r.saved = at.Step
	return nil
}

// start writes the checkpoint, or copies its tensors and leaves the rest to a goroutine.
func (r *Run) start(at Point, m *manifest) error {
	if r.opts.Check != nil {
		if err := r.opts.Check(); err != nil {
			return err
		}
	}
	dict, err := r.parts.collect(at, r.recipe)
	if err != nil {
		return err
	}
	if !r.opts.Async {
		return r.write(dict, m)
	}
	copies := map[memory]torch.Tensor{}
	value := snapshot(dict, copies)
	r.pending = make(chan error, 1)
	go func() {
		var err error
		broken := torch.Try(func() { err = r.write(value, m) })
		for _, c := range copies {
			c.Close()
		}
		r.pending <- cmp.Or(err, broken)
	}()
	return nil
}

// Wait waits for the checkpoint that is being written, and returns its error.
func (r *Run) Wait() error {
	if r.pending == nil {
		return nil
	}
	err := <-r.pending
	r.pending = nil
	if err != nil {
		r.saved = -1
		return fmt.Errorf("checkpoint: the last one is not saved: %w", err)
	}
	return nil
}

// Close waits for the checkpoint that is being written, and returns its error.
func (r *Run) Close() error { return r.Wait() }

// write writes a checkpoint and removes those that are not kept.
func (r *Run) write(value any, m *manifest) (err error) {
	temp, err := r.disk.MkdirTemp(r.dir, hidden)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.disk.RemoveAll(temp))
		}
	}()
	m.Tensors = entries(value, "")
	sum := crc32.New(castagnoli)
	err = writeFile(r.disk, filepath.Join(temp, dataFile), func(w io.Writer) error {
		n := &counter{w: io.MultiWriter(w, sum)}
		err := pt.Write(n, value)
		m.Bytes, m.CRC32C = n.n, sum.Sum32()
		return err
	})
	if err != nil {
		return err
	}
	text, err := m.seal()
	if err != nil {
		return err
	}
	err = writeFile(r.disk, filepath.Join(temp, manifestFile), func(w io.Writer) error { _, err := w.Write(text); return err })
	if err != nil {
		return err
	}
	if err := r.disk.Sync(temp); err != nil {
		return err
	}
	place, err := r.place(m.Step)
	if err != nil {
		return err
	}
	if err := r.disk.Rename(temp, place); err != nil {
		return err
	}
	if err := r.disk.Sync(r.dir); err != nil {
		return err
	}
	return r.prune()
}

// counter counts bytes.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// place is where the next checkpoint goes.
func (r *Run) place(step int) (string, error) {
	all, err := list(r.dir)
	number := 1
	if len(all) > 0 {
		number += all[0].number
	}
	return filepath.Join(r.dir, fmt.Sprintf("%s%010d.%d", prefix, step, number)), err
}

// Resume brings the run to where its latest sound checkpoint was, and returns the point; its Path is empty if there is
// none. Damaged ones are passed over: [Latest] says which. One of a run with another recipe is a *[RecipeError]. The
// user's JSON goes into what user points to, unless it is nil.
func (r *Run) Resume(user any) (Point, error) {
	if r.dir == "" {
		return Point{}, nil
	}
	path, _, err := Latest(r.dir)
	if err != nil || path == "" {
		return Point{}, err
	}
	at, err := r.Load(filepath.Join(path, dataFile), user)
	if err == nil {
		at.Path, r.saved = path, at.Step
	}
	return at, err
}

// Load brings the run to where a file was, as [LoadFile] does.
func (r *Run) Load(path string, user any) (Point, error) {
	return LoadFile(path, r.parts, FileOptions{Recipe: r.opts.Recipe, User: user})
}
