package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch/checkpoint"
)

// progress is what a checkpoint holds besides the parts of a run and where it stands.
type progress struct {
	Recipe recipe `json:"recipe"`
	Images int    `json:"images"` // to train on
}

func (t *trainer) parts() checkpoint.Parts {
	return checkpoint.Parts{"model": t.model, "optimizer": t.opt, "schedule": t.sched, "scaler": t.scaler}
}

// store writes the checkpoint if one is wanted: whole or not at all.
func (t *trainer) store() error {
	if t.save == "" {
		return nil
	}
	at := checkpoint.Point{Epoch: t.epoch, Batch: t.batch, Metric: t.best, User: progress{t.recipe, t.sets.train.len()}}
	return checkpoint.SaveFile(t.save, t.parts(), at)
}

// load reads a checkpoint and restores the run; for -e it restores the network only.
func (t *trainer) load(path string) error {
	file, err := checkpoint.ReadFile(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var p progress
	at, err := file.Point(&p)
	if err != nil {
		return err
	}
	t.best = at.Metric
	if t.evaluate {
		return file.Restore(checkpoint.Parts{"model": t.model})
	}
	if err := t.sameRun(p, at); err != nil {
		return fmt.Errorf("%s cannot be resumed: %w", path, err)
	}
	t.epoch, t.batch = at.Epoch, at.Batch
	return file.Restore(t.parts())
}

// sameRun checks that this run can continue the one that was stored.
func (t *trainer) sameRun(p progress, at checkpoint.Point) error {
	if at.User == nil {
		return errors.New("it was not written by this program: use a file that -save wrote")
	}
	if p.Recipe != t.recipe {
		return fmt.Errorf("it was written by a run with %v, but this run has %v; give the same flags, or -e to validate only", p.Recipe, t.recipe)
	}
	if n := t.sets.train.len(); p.Images != n {
		return fmt.Errorf("it was written by a run on %d images, but this run has %d; give the same -limit and -data, or -e to "+
			"validate only", p.Images, n)
	}
	if at.Epoch < 0 || at.Epoch > t.Epochs || at.Batch < 0 || at.Batch > t.train.Len() {
		return fmt.Errorf("it would continue at epoch %d, batch %d, but this run has no such batch", at.Epoch, at.Batch)
	}
	return nil
}

// String is the recipe as flags.
func (r recipe) String() string {
	text := fmt.Sprintf("-epochs %d -b %d -lr %v -momentum %v -wd %v -seed %d", r.Epochs, r.Batch, r.LR, r.Momentum, r.WeightDecay, r.Seed)
	if r.Graph {
		text += " -graph"
	}
	return text
}

// checkSave finds out before the training whether a checkpoint can be written.
func checkSave(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".resnet18-*")
	if err != nil {
		return fmt.Errorf("no checkpoint can be written to %s: %w", path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// checkResume finds out before the images are obtained whether there is a checkpoint.
func checkResume(path string) error {
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("there is no checkpoint to resume: %w", err)
	}
	return nil
}
