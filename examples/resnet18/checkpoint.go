package main

import "github.com/libtorch-go/libtorch/torch/checkpoint"

func (t *trainer) parts() checkpoint.Parts {
	return checkpoint.Parts{"model": t.model, "optimizer": t.opt, "schedule": t.sched, "scaler": t.scaler}
}

// store writes the checkpoint if one is wanted: whole or not at all.
func (t *trainer) store() error {
	if t.save == "" || !t.leads() {
		return nil
	}
	if err := t.sound(); err != nil {
		return err
	}
	at := checkpoint.Point{Epoch: t.epoch, Batch: t.batch, Metric: t.best, User: t.ranks}
	return checkpoint.SaveFile(t.save, t.parts(), at, checkpoint.FileOptions{Recipe: t.recipe})
}

// load goes on from a checkpoint of a run with the same recipe; for -e it takes the network of any run.
func (t *trainer) load(path string) error {
	ranks := t.ranks
	parts, opts := t.parts(), checkpoint.FileOptions{Recipe: t.recipe, User: &ranks}
	if t.evaluate {
		parts, opts = checkpoint.Parts{"model": t.model}, checkpoint.FileOptions{}
	}
	at, err := checkpoint.LoadFile(path, parts, opts)
	t.epoch, t.batch, t.best = at.Epoch, at.Batch, at.Metric
	if err == nil && ranks != t.ranks {
		err = t.resize(max(1, ranks))
	}
	return err
}
