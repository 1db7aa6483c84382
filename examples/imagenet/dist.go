package main

import (
	"context"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
)

// join enters the group that torchrun has started, for -dist. Every rank learns from its part of the photographs; rank 0 prints, measures
// and keeps checkpoints, from which all go on.
func (c *config) join(ctx context.Context) error {
	if !c.dist {
		return nil
	}
	e, err := dist.Env()
	if err != nil {
		return err
	}
	if c.dev.IsCUDA() && c.device == "" {
		c.dev = torch.CUDA(e.LocalRank) // each rank of a machine has its own
	}
	if c.group, err = dist.InitProcessGroup(ctx, dist.DefaultBackendForDevice(c.dev), dist.InitOptions{Device: c.dev}); err == nil {
		c.Ranks = c.group.Size()
	}
	return err
}

// sound tells what the ranks' operations on cards have failed with, which shows late: what they have left is not to be kept.
func (c *config) sound() error {
	if c.group == nil {
		return nil
	}
	torch.Synchronize(c.dev)
	return c.group.Err()
}

// rank is the number of this process among those that train together.
func (c *config) rank() int {
	if c.group == nil {
		return 0
	}
	return c.group.Rank()
}

// leads tells whether this process prints, measures and keeps checkpoints.
func (c *config) leads() bool { return c.rank() == 0 }

// resumeAll brings all ranks to the checkpoint that rank 0 goes on from.
func (t *trainer) resumeAll(ctx context.Context) (err error) {
	if t.leads() {
		t.at, err = t.kept.Resume(nil)
	}
	path := t.at.Path
	if t.group != nil && err == nil {
		path, err = dist.BroadcastObject(ctx, t.group, path, 0)
	}
	switch {
	case err != nil:
	case path == "" && t.resume != "":
		t.at, err = t.kept.Load(t.resume, nil)
	case path != "" && !t.leads():
		t.at, err = t.kept.Load(filepath.Join(path, "checkpoint.pt"), nil)
	}
	return err
}

// together has all ranks train the network as one.
func (t *trainer) together() error {
	t.net = t.model
	if t.group == nil {
		return nil
	}
	ddp, err := dist.NewDDP(t.group, t.model)
	if err == nil {
		t.net, t.ddp = ddp, ddp
	}
	return err
}

// keptIn is the folder of the checkpoints: rank 0 alone writes them.
func (c *config) keptIn() string {
	if !c.leads() {
		return ""
	}
	return c.output
}

// sees is how many images all ranks have seen when this one has seen n.
func (c *config) sees(n int) int { return n * max(1, c.Ranks) }
