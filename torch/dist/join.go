package dist

import (
	"context"
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// ErrUneven is what errors.Is finds in the error of a [Join] with ThrowOnEarlyTermination: a rank has no inputs left.
var ErrUneven = errors.New("the ranks do not have as many inputs")

// Joinable is what takes part in a [Join]: a [DDP], a [ZeRO].
type Joinable interface {
	joins(j *joining)  // it belongs to the join from now on; nil ends that
	joinGroup() *Group // whose ranks join
	joinDevice() torch.Device
	shadow()          // makes the collectives of one iteration of the ranks that have inputs
	settle(last bool) // all ranks have joined, this one among the last or before
}

// JoinOptions are the rarer arguments of [Join].
type JoinOptions struct {
	Disable                 bool // all ranks have as many inputs: train just runs
	EffectiveWorldSize      bool // gradients are divided by the number of ranks that still have inputs; otherwise by the size of the group
	ThrowOnEarlyTermination bool // when a rank has no inputs left, Join fails on all ranks with [ErrUneven]
}

// Join runs train, in which ranks may make different numbers of steps: PyTorch's Join context. A rank whose train has returned answers
// the collectives of the others, contributing nothing, until all have returned. In the end models are those of the last rank.
//
//	err := dist.Join([]dist.Joinable{model, opt}, func() error {
//		for batch, err := range loader.Epoch(ctx, epoch) {
//			…
//		}
//		return nil
//	})
//
// The first of the list counts the ranks, once for each of its own iterations, so it must be used in every one. train must
// not use other collectives. A ZeRO behind a model updates the part of a rank that has joined by the gradients that its last step left:
// none after ZeroGrad, as in Python. All ranks of the group call Join, with the same options. If train returns an error or panics with
// one of libtorch's, Join returns that without waiting for the others.
func Join(list []Joinable, train func() error, opts ...JoinOptions) (err error) {
	defer torch.Recover(&err)
	j, err := newJoining(list, option.One(opts))
	if err != nil {
		return err
	}
	if j.o.Disable {
		return train()
	}
	for _, member := range list {
		member.joins(j)
		defer member.joins(nil)
	}
	if err := train(); err != nil {
		return err
	}
	return j.rest()
}

// joining is a join under way.
type joining struct {
	o    JoinOptions
	g    *Group
	list []Joinable
}

func newJoining(list []Joinable, o JoinOptions) (*joining, error) {
	if len(list) == 0 {
		return nil, errors.New("dist: join: the list has no models and optimizers")
	}
	g := list[0].joinGroup()
	for _, member := range list {
		if member.joinGroup() != g {
			return nil, errors.New("dist: join: all models and optimizers of the list must be of one group")
		}
	}
	return &joining{o, g, list}, nil
}

// rest is what a rank does that has no inputs left.
func (j *joining) rest() error {
	for last := true; ; last = false {
		if j.sum(0) == 0 {
			for _, member := range j.list {
				member.settle(last)
			}
			return nil
		}
		if j.o.ThrowOnEarlyTermination {
			j.sum(1)
			return j.uneven("this rank has no inputs left")
		}
		for _, member := range j.list {
			member.shadow()
		}
	}
}

// counts tells the ranks that have joined that this one has not. It returns the work that counts such ranks, or nil where another member
// does that. It panics where a rank has joined, if that is an error.
func (j *joining) counts(member Joinable) *Work {
	if j == nil || j.list[0] != member {
		return nil
	}
	work := j.starts(1)
	if j.o.ThrowOnEarlyTermination && j.sum(0) != 0 {
		throw(j.uneven("another rank has no inputs left"))
	}
	return work
}

func (j *joining) uneven(what string) error {
	return j.g.failed("join", -1, fmt.Errorf("%w: %s", ErrUneven, what))
}

// sum adds up a number over the ranks.
func (j *joining) sum(n float64) float64 { return j.g.total(j.number(n), Sum) }

// number is one on the device of the models and optimizers, as Python's ranks have it.
func (j *joining) number(n float64) torch.Tensor {
	return torch.TensorOptions{Device: j.list[0].joinDevice()}.Full([]int{1}, n)
}

// total reduces a tensor of one number over the ranks, and closes it. It panics with a *torch.Error if a rank does not come.
func (g *Group) total(t torch.Tensor, op ReduceOp) float64 {
	defer t.Close()
	if err := g.AllReduce(t, ReduceOptions{Op: op}).Wait(context.Background()); err != nil {
		throw(err)
	}
	return t.Float64()
}

// Join runs train, in which ranks may have different numbers of inputs: [Join] of this model alone.
//
//	err := model.Join(func() error {
//		for batch, err := range loader.Epoch(ctx, epoch) {
//			…
//		}
//		return nil
//	})
func (d *DDP[M]) Join(train func() error, opts ...JoinOptions) error {
	return Join([]Joinable{d}, train, opts...)
}

func (d *DDP[M]) joins(j *joining) { d.join = j }

func (d *DDP[M]) joinGroup() *Group { return d.g }

func (d *DDP[M]) joinDevice() torch.Device { return d.device }

// counted adds to a call of reducer_forward the work that counts the ranks with inputs, if there is one.
func (j *joining) counted(c *cgo.Call, work *Work) {
	c.Bool(work != nil)
	if work != nil {
		c.Object(work.h)
		c.Bool(j.o.EffectiveWorldSize)
	}
}

// announces tells the ranks that have joined whether gradients will be reduced.
func (j *joining) announces(reducing bool) {
	if j == nil {
		return
	}
	n := 0.0
	if reducing {
		n = 1
	}
	j.starts(n)
}

// starts begins to add up a number over the ranks.
func (j *joining) starts(n float64) *Work {
	t := j.number(n)
	defer t.Close()
	work := j.g.AllReduce(t)
	if work.err != nil {
		throw(work.err)
	}
	return work
}

// shadow makes the collectives of one pass of the ranks that have inputs.
func (d *DDP[M]) shadow() {
	d.run(cgo.OpReducerForward, func(c *cgo.Call) {
		c.Bool(false)
		d.join.counted(c, nil)
	})
	d.syncBuffers(false)
	if d.stale = d.join.sum(0) == 0; d.stale {
		return
	}
	d.runs(bridge.DoneBack, cgo.OpReducerBackward, func(c *cgo.Call) { // a hook may be Go's
		c.Bool(false)
		c.Object(d.g.h)
		c.Bool(d.o.FindUnusedParameters)
	})
}

// settle gives all ranks the model of one that made the most steps.
func (d *DDP[M]) settle(last bool) {
	d.g.spread(d.states(), broadcastBytes, d.g.common(last, d.device))
}

// syncBuffers gives all ranks the buffers of one before a pass: of rank 0, or, in a join, of one that has inputs left.
func (d *DDP[M]) syncBuffers(inputs bool) {
	if d.o.KeepBuffers || d.stale || len(d.buffers) == 0 {
		return
	}
	from := 0
	if d.join != nil {
		from = d.g.common(inputs, d.device)
	}
	d.g.spread(d.buffers, broadcastBytes, from)
}

// common is the highest of the ranks that call it with true.
func (g *Group) common(here bool, on torch.Device) int {
	rank := -1
	if here {
		rank = g.rank
	}
	return int(g.total(torch.TensorOptions{DType: torch.Int64, Device: on}.Full([]int{1}, rank), Max))
}

func (z *ZeRO) joins(j *joining) { z.join = j }

func (z *ZeRO) joinGroup() *Group { return z.check().g }

func (z *ZeRO) joinDevice() torch.Device { return z.check().opt.ParamGroups()[0].Params[0].Device() }

// shadow updates this rank's parameters once more, by whatever gradients they have, and exchanges them, as the others do.
func (z *ZeRO) shadow() { z.update(z.opt.Step) }

func (z *ZeRO) settle(bool) {}
