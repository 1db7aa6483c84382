package data

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/libtorch-go/libtorch/cgo"
)

// A crew is the workers of one epoch, and a feeder that hands out its jobs. Every job that is handed out gets a place for its
// result, and the loop takes the results in the order of the places, so the order of
// batches does not depend on which worker finishes first. Another job is handed out
// only when the loop has taken a result, which bounds the number of finished batches.
type crew[B any] struct {
	loader *Loader[B]
	ctx    context.Context
	cancel context.CancelCauseFunc
	room   chan struct{} // for jobs that may be handed out
	tasks  chan *task[B] // jobs handed out to workers
	places chan *task[B] // jobs whose results are not taken yet, oldest first
	gone   chan struct{} // workers and feeder that have ended

	epoch, number int // of the batch that the loop waits for
	end           int // the number after that of the last
}

type task[B any] struct {
	*job[B]
	worker atomic.Int32   // the worker that runs it; 0 before one does
	result chan parcel[B] // has room for one
}

// hire starts the workers on the jobs.
func (l *Loader[B]) hire(ctx context.Context, jobs jobs[B], epoch, first int) *crew[B] {
	left := jobs.end() - first
	workers := min(l.options.Workers, left)
	ahead := min(workers*l.options.Prefetch, left)
	c := &crew[B]{
		loader: l, room: make(chan struct{}, ahead), tasks: make(chan *task[B], ahead), places: make(chan *task[B], ahead),
		gone: make(chan struct{}, workers+1), epoch: epoch, number: first, end: jobs.end(),
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	for worker := range workers {
		go c.work(worker + 1)
	}
	go c.feed(jobs)
	return c
}

// feed hands out the jobs, each as soon as there is room for it.
func (c *crew[B]) feed(jobs jobs[B]) {
	defer func() { c.gone <- struct{}{} }()
	defer close(c.places)
	defer close(c.tasks)
	for j, ok := jobs.next(); ok; j, ok = jobs.next() {
		select {
		case c.room <- struct{}{}:
		case <-c.ctx.Done():
			j.drop()
			return
		}
		t := &task[B]{job: j, result: make(chan parcel[B], 1)}
		c.places <- t
		c.tasks <- t
	}
}

// work is what a worker runs. It stays on one OS thread, because OpenMP starts helper
// threads for every thread that computes.
func (c *crew[B]) work(worker int) {
	defer cgo.OwnThread()()
	defer func() { c.gone <- struct{}{} }()
	for t := range c.tasks {
		c.do(t, worker)
	}
}

func (c *crew[B]) do(t *task[B], worker int) {
	t.worker.Store(int32(worker))
	p := c.loader.build(c.ctx, t.job, worker)
	if c.ctx.Err() != nil {
		p.discard() // the loop may be over, and nobody else frees it
		p = parcel[B]{err: context.Cause(c.ctx)}
	}
	t.result <- p
}

// next waits for the next batch; ok is false if there is none.
func (c *crew[B]) next() (batch B, err error, ok bool) {
	switch {
	case c.number == c.end:
		return batch, nil, false
	case c.ctx.Err() != nil:
		return batch, context.Cause(c.ctx), true
	}
	var late <-chan time.Time
	if limit := c.loader.options.Timeout; limit > 0 {
		late = c.loader.after(limit)
	}
	read := late
	if c.end != math.MaxInt {
		read = nil // a plan's next job is handed out at once
	}
	var t *task[B]
	select {
	case t, ok = <-c.places:
	case <-c.ctx.Done():
		return batch, context.Cause(c.ctx), true
	case <-read:
		return batch, &Error{Epoch: c.epoch, Batch: c.number, Index: -1, Err: c.lateness()}, true
	}
	if !ok { // the feeder is through, or has heard before us that the context ended
		return batch, context.Cause(c.ctx), c.ctx.Err() != nil
	}
	c.number++
	select {
	case p := <-t.result:
		<-c.room
		batch, err = c.loader.open(p)
		return batch, err, true
	case <-c.ctx.Done():
		return batch, context.Cause(c.ctx), true
	case <-late:
		return batch, t.failure(int(t.worker.Load()), c.lateness()), true
	}
}

func (c *crew[B]) lateness() error { return fmt.Errorf("not there after %v", c.loader.options.Timeout) }

// dismiss stops the workers, waits for them and frees the batches that were not taken.
func (c *crew[B]) dismiss() {
	c.cancel(context.Canceled)
	c.loader.await(c.gone, cap(c.gone))
	for {
		select {
		case t, ok := <-c.places:
			if !ok {
				return
			}
			select {
			case p := <-t.result:
				p.discard()
			default: // its worker has not come back, and frees it then
			}
		default: // the feeder has not ended: a data set does not heed its context
			return
		}
	}
}

// await waits until n goroutines are gone, but not too long.
func (l *Loader[B]) await(gone <-chan struct{}, n int) {
	patience := l.after(l.grace)
	for range n {
		select {
		case <-gone:
		case <-patience:
			return
		}
	}
}
