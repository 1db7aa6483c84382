package data

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/libtorch-go/libtorch/cgo"
)

// A crew is the workers of one epoch. Every job that is handed out gets a place for its
// result, and the loop takes the results in the order of the places, so the order of
// batches does not depend on which worker finishes first. Another job is handed out
// only when the loop takes a result, which bounds the number of finished batches.
type crew[B any] struct {
	loader *Loader[B]
	ctx    context.Context
	cancel context.CancelCauseFunc
	jobs   jobs          // jobs not yet handed out
	tasks  chan *task[B] // jobs handed out to workers
	places []*task[B]    // jobs whose results are not taken yet, oldest first
	gone   chan int      // workers that have ended
}

type task[B any] struct {
	*job
	worker atomic.Int32   // the worker that runs it; 0 before one does
	result chan result[B] // has room for one
}

type result[B any] struct {
	batch B
	err   error
}

// hire starts the workers on the jobs.
func (l *Loader[B]) hire(ctx context.Context, jobs jobs) *crew[B] {
	workers := min(l.options.Workers, jobs.left())
	ahead := min(workers*l.options.Prefetch, jobs.left())
	c := &crew[B]{loader: l, jobs: jobs, tasks: make(chan *task[B], ahead), gone: make(chan int, workers)}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	for worker := range workers {
		go c.work(worker + 1)
	}
	for range ahead {
		c.hand()
	}
	return c
}

// hand hands out one more job, if there is one. There is always room in tasks.
func (c *crew[B]) hand() {
	if c.jobs.left() > 0 {
		t := &task[B]{job: c.jobs.next(), result: make(chan result[B], 1)}
		c.places = append(c.places, t)
		c.tasks <- t
	}
}

// work is what a worker runs. It stays on one OS thread, because OpenMP starts helper
// threads for every thread that computes.
func (c *crew[B]) work(worker int) {
	defer cgo.OwnThread()()
	defer func() { c.gone <- worker }()
	for t := range c.tasks {
		c.do(t, worker)
	}
}

func (c *crew[B]) do(t *task[B], worker int) {
	t.worker.Store(int32(worker))
	var r result[B]
	r.batch, r.err = c.loader.build(c.ctx, t.job, worker)
	if c.ctx.Err() != nil {
		discard(r.batch) // the loop may be over, and nobody else frees it
		r = result[B]{err: context.Cause(c.ctx)}
	}
	t.result <- r
}

// next waits for the next batch.
func (c *crew[B]) next() (batch B, err error) {
	if c.ctx.Err() != nil {
		return batch, context.Cause(c.ctx)
	}
	t := c.places[0]
	var late <-chan time.Time
	if limit := c.loader.options.Timeout; limit > 0 {
		late = c.loader.after(limit)
	}
	select {
	case r := <-t.result:
		c.places = c.places[1:]
		c.hand()
		return r.batch, r.err
	case <-c.ctx.Done():
		return batch, context.Cause(c.ctx)
	case <-late:
		return batch, t.failure(int(t.worker.Load()), fmt.Errorf("not there after %v", c.loader.options.Timeout))
	}
}

// dismiss stops the workers, waits for them and frees the batches that were not taken.
func (c *crew[B]) dismiss() {
	c.cancel(context.Canceled)
	close(c.tasks)
	c.wait()
	for _, t := range c.places {
		select {
		case r := <-t.result:
			discard(r.batch)
		default: // no worker began it, or its worker frees it
		}
	}
}

// wait returns when all workers have ended, or after too long a time.
func (c *crew[B]) wait() {
	patience := c.loader.after(c.loader.grace)
	for range cap(c.gone) {
		select {
		case <-c.gone:
		case <-patience:
			return
		}
	}
}
