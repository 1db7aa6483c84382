package data

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A run is one pass through the batches of an epoch.
type run[B any] struct {
	loader *Loader[B]
	ctx    context.Context
	jobs   jobs
	crew   *crew[B] // nil if the loader has no workers
	broken error    // why the run could not begin
	ended  bool
}

func (l *Loader[B]) start(ctx context.Context, epoch, first int) *run[B] {
	r := &run[B]{loader: l, ctx: ctx}
	r.broken = guard(func() error {
		p := planOf(l.batches, epoch)
		if n := p.Len(); first < 0 || first > n {
			return fmt.Errorf("data: epoch %d has no batch %d, only %d of them", epoch, first, n)
		}
		r.jobs = jobs{plan: p, epoch: epoch, at: first, end: p.Len()}
		return nil
	})
	if r.broken == nil && l.options.Workers > 0 {
		r.crew = l.hire(ctx, r.jobs)
	}
	return r
}

// next is the next batch, or the error that is the run's last item; ok is false after that.
func (r *run[B]) next() (batch B, err error, ok bool) {
	switch {
	case r.ended:
		return batch, nil, false
	case r.broken != nil:
		err = r.broken
	case r.jobs.left() == 0:
		r.ended = true
		return batch, nil, false
	case r.crew != nil:
		r.jobs.at++
		batch, err = r.crew.next()
	default:
		batch, err = r.loader.build(r.ctx, r.jobs.next(), 0)
	}
	r.ended = err != nil
	return batch, err, true
}

// stop ends the run, and its workers.
func (r *run[B]) stop() {
	r.ended = true
	if r.crew != nil {
		r.crew.dismiss()
		r.crew = nil
	}
}

// jobs are the batches of an epoch that are still to be made.
type jobs struct {
	plan           plan
	epoch, at, end int
}

func (j *jobs) left() int { return j.end - j.at }

func (j *jobs) next() *job {
	next := &job{plan: j.plan, epoch: j.epoch, number: j.at}
	next.sample.Store(-1)
	j.at++
	return next
}

// A job is to make one batch.
type job struct {
	plan          plan
	epoch, number int
	sample        atomic.Int64 // which one is being made; -1: none in particular
}

func (j *job) failure(worker int, err error) error {
	return &Error{Epoch: j.epoch, Batch: j.number, Index: int(j.sample.Load()), Worker: worker, Err: err}
}

// A source that makes samples one by one reports each through its context, so that an
// error, a panic or a delay can be traced to the sample.
type sampleKey struct{}

func visit(ctx context.Context, i int) {
	if sample, ok := ctx.Value(sampleKey{}).(*atomic.Int64); ok {
		sample.Store(int64(i))
	}
}
