package main

import (
	"context"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
)

// join enters the group that torchrun has started, for -dist. Every rank has its part of the images; rank 0 prints, validates and
// saves. A run goes on from its own checkpoint if there is one, because torchrun starts the same command again when a rank has failed.
func (c *config) join(ctx context.Context) (err error) {
	if !c.dist {
		return nil
	}
	if c.group, err = dist.InitProcessGroup(ctx, dist.DefaultBackendForDevice(c.device),
		dist.InitOptions{Timeout: c.patience, Device: c.device}); err != nil {
		return err
	}
	c.ranks = c.group.Size()
	if c.save == "" || c.resume != "" {
		return nil
	}
	_, missing := os.Stat(c.save)
	there, err := dist.BroadcastObject(ctx, c.group, missing == nil, 0)
	if there {
		c.resume = c.save
	}
	return err
}

// leads tells whether this process prints, validates and saves.
func (c *config) leads() bool { return c.rank() == 0 }

func (c *config) rank() int {
	if c.group == nil {
		return 0
	}
	return c.group.Rank()
}

// sound tells what the ranks' operations on cards have failed with, which shows late: what they have left is not to be stored.
func (c *config) sound() error {
	if c.group == nil {
		return nil
	}
	torch.Synchronize(c.device)
	return c.group.Err()
}

// card is the one of this rank: each of a machine has its own.
func (c *config) card() (torch.Device, error) {
	e, err := dist.Env()
	if err != nil || !c.device.IsCUDA() || c.given["device"] {
		return c.device, err
	}
	return torch.CUDA(e.LocalRank), nil
}

// resize goes on from a checkpoint of another number of processes, which divide an epoch into another number of batches: at the same
// place in the epoch and in the schedule.
func (t *trainer) resize(before int) error {
	t.batch = t.batch * before / max(1, t.ranks)
	steps, state := t.epoch*t.train.Len()+t.batch, t.sched.StateDict()
	state["last_epoch"] = max(0, steps-1)
	if err := t.sched.LoadStateDict(state); err != nil || steps == 0 || t.epoch == t.Epochs {
		return err
	}
	t.sched.Step() // which sets the rate
	return nil
}

// spread has all ranks train the model together.
func (t *trainer) spread() (err error) {
	t.net = t.model
	if t.group == nil {
		return nil
	}
	if t.ddp, err = dist.NewDDP(t.group, t.model); err == nil {
		t.net = t.ddp
	}
	return err
}
