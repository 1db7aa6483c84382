package data

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// A run is one pass through the batches of an epoch.
type run[B any] struct {
	loader *Loader[B]
	ctx    context.Context
	cancel context.CancelCauseFunc
	jobs   jobs[B]
	crew   *crew[B] // nil if the loader has no workers
	broken error    // why the run could not begin
	ended  bool
}

func (l *Loader[B]) start(ctx context.Context, epoch, first int) *run[B] {
	r := &run[B]{loader: l}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.broken = guard(func() (err error) {
		r.jobs, err = l.jobs(r.ctx, epoch, first)
		return err
	})
	if r.broken == nil && l.options.Workers > 0 {
		r.crew = l.hire(r.ctx, r.jobs, epoch, first)
	}
	return r
}

// next is the next batch, or the error that is the run's last item; ok is false after that.
func (r *run[B]) next() (batch B, err error, ok bool) {
	if r.ended {
		return batch, nil, false
	}
	asked := time.Now()
	switch {
	case r.broken != nil:
		err, ok = r.broken, true
	case r.crew != nil:
		batch, err, ok = r.crew.next()
	default:
		var j *job[B]
		if j, ok = r.jobs.next(); ok {
			batch, err = r.loader.open(r.loader.build(r.ctx, j, 0))
		}
	}
	r.ended = err != nil || !ok
	r.loader.tally.waited(asked, !r.ended)
	return batch, err, ok
}

// stop ends the run, its workers and what reads for them.
func (r *run[B]) stop() {
	r.ended = true
	if r.cancel == nil {
		return // it has not begun
	}
	r.cancel(context.Canceled)
	if r.crew != nil {
		r.crew.dismiss()
		r.crew = nil
	}
	if r.jobs != nil {
		r.jobs.stop()
		r.jobs = nil
	}
}

// jobs are the batches of an epoch that are still to be made. One goroutine at a time asks for them.
type jobs[B any] interface {
	// next waits for the next job; ok is false if there is none, or the run has ended.
	next() (j *job[B], ok bool)
	// end is the number after that of the last batch; [math.MaxInt] where nobody knows.
	end() int
	// stop frees what the jobs hold.
	stop()
}

// A job is to make one batch.
type job[B any] struct {
	epoch, number int
	make          func(ctx context.Context, r *rand.Rand) (B, error)
	drop          func()       // frees what it is made of
	sample        atomic.Int64 // which one is being made; -1: none in particular
}

func newJob[B any](epoch, number int, make func(context.Context, *rand.Rand) (B, error)) *job[B] {
	j := &job[B]{epoch: epoch, number: number, make: make, drop: func() {}}
	j.sample.Store(-1)
	return j
}

func (j *job[B]) failure(worker int, err error) error {
	return &Error{Epoch: j.epoch, Batch: j.number, Index: int(j.sample.Load()), Worker: worker, Err: err}
}

// planned are the batches of a source, by the plan of an epoch.
type planned[B any] struct {
	source    Source[B]
	plan      plan
	epoch, at int
}

func plannedOf[B any](source Source[B], batches BatchSampler) func(ctx context.Context, epoch, first int) (jobs[B], error) {
	return func(_ context.Context, epoch, first int) (jobs[B], error) {
		p := planOf(batches, epoch)
		if n := p.Len(); first < 0 || first > n {
			return nil, fmt.Errorf("data: epoch %d has no batch %d, only %d of them", epoch, first, n)
		}
		return &planned[B]{source, p, epoch, first}, nil
	}
}

func (p *planned[B]) next() (*job[B], bool) {
	if p.at == p.end() {
		return nil, false
	}
	number := p.at
	p.at++
	return newJob(p.epoch, number, func(ctx context.Context, r *rand.Rand) (batch B, err error) {
		indices, n := p.plan.batch(number), p.source.Len()
		for _, i := range indices {
			if i < 0 || i >= n {
				return batch, fmt.Errorf("the sampler asks for sample %d of %d", i, n)
			}
		}
		return p.source.Batch(ctx, indices, r)
	}), true
}

func (p *planned[B]) end() int { return p.plan.Len() }
func (p *planned[B]) stop()    {}

// A source that makes samples one by one reports each through its context, so that an
// error, a panic or a delay can be traced to the sample.
type sampleKey struct{}

func visit(ctx context.Context, i int) {
	if sample, ok := ctx.Value(sampleKey{}).(*atomic.Int64); ok {
		sample.Store(int64(i))
	}
}
