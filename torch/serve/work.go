package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/libtorch-go/libtorch/torch"
)

// work computes batches until the server is closed.
func (s *Server) work() {
	exited := true
	defer func() {
		if exited { // the model ended this goroutine; another takes its place
			s.workers.Go(s.work)
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, ripe := s.ripe()
		if ripe {
			s.turn()
			continue
		}
		var late <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			late = timer.C
		}
		select {
		case <-s.wake:
		case <-late:
		case <-s.quit:
			exited = false
			return
		}
	}
}

// ripe tells whether there is a batch to be computed now, or else how long the oldest request may still wait for others; 0
// if there is none.
func (s *Server) ripe() (wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.MaxDelay == 0 { // nothing waits for others
		return 0, slices.ContainsFunc(s.queue, (*request).wanted)
	}
	batch, since, full := s.queue.next(&s.o, s.fair())
	if len(batch) == 0 {
		return 0, false
	}
	wait = s.o.MaxDelay - time.Since(since)
	return wait, full || wait <= 0 || s.draining || batch[0].part > 0
}

// take takes the next batch out of the queue, or the part of it that is this lane's.
func (s *Server) take() []*request {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.fair()
	batch, _, _ := s.queue.next(&s.o, most)
	if len(batch) > 0 && s.share(batch[0]) {
		batch, _, _ = s.queue.next(&s.o, most)
	}
	if len(batch) > 0 { // nobody may wait for an answer any more
		s.busy++
	}
	for _, r := range batch {
		s.queue.remove(r)
	}
	s.stats.Running += len(batch)
	if len(s.queue) > 0 {
		s.signal()
	}
	return batch
}

// share divides what could share batches with a request among the lanes that have nothing to do, if there is not enough for all of them:
// then each computes as many rows, unless that makes more rows of zeros. A card computes one large batch sooner than several small ones.
func (s *Server) share(first *request) (shared bool) {
	idle := s.free()
	if idle < 2 || len(s.queue) < 2 || first.part > 0 || !first.version.batches || !s.divides() {
		return false
	}
	all, rows := s.queue.allLike(first)
	if len(all) < 2 || rows >= idle*s.o.MaxBatch || len(s.o.Buckets) > 0 && s.padded((rows+idle-1)/idle)*idle > s.padded(rows) {
		return false
	}
	before := 0
	for _, r := range all {
		r.part = s.parts + 1 + before*idle/rows
		before += r.rows
	}
	s.parts += idle
	return true
}

// rest is how a lane says that it has nothing to do.
func (s *Server) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
}

var errEnded = errors.New("serve: the model ended the goroutine that it ran on")

// turn computes one batch in a lane. What is in the batch is decided there, when the lane is free.
func (s *Server) turn() {
	var batch []*request
	failed := errEnded
	defer func() { s.deliver(batch, failed) }()
	taken := false
	err := s.lanes.Do(context.Background(), func() {
		s.taking.Add(1)
		batch, taken = s.take(), true
		s.taking.Add(-1)
		if len(batch) == 0 {
			return
		}
		defer s.rest()
		started := time.Now()
		if s.attempt(batch, started); len(batch) > 1 && (batch[0].err != nil || batch[0].panic != nil) {
			for _, r := range batch { // whose fault it was shows when each is alone
				r.err, r.panic = nil, nil
				s.attempt([]*request{r}, started)
			}
		}
	})
	if err != nil {
		failed = err
		if !taken { // shared lanes may be full, or closed
			if batch = s.take(); len(batch) > 0 {
				s.rest()
			}
		}
	}
}

// attempt computes requests together. Each gets its outputs, or all the same error or panic.
func (s *Server) attempt(batch []*request, started time.Time) {
	defer func() {
		if v := recover(); v != nil {
			p := &torch.LanePanic{Value: v, Stack: debug.Stack()}
			for _, r := range batch {
				r.panic = p
			}
		}
	}()
	err := s.compute(batch, started)
	for _, r := range batch {
		r.err = err
	}
}

// compute computes requests in one run of the model.
func (s *Server) compute(batch []*request, started time.Time) (err error) {
	ctx, release := wanted(batch)
	defer release()
	rows := 0
	for _, r := range batch {
		rows += r.rows
	}
	v := batch[0].version
	var gathered, ran time.Time
	broken := torch.Try(func() {
		inScope(func() {
			var outputs []torch.Tensor
			inputs := s.gather(batch, rows)
			gathered = time.Now()
			outputs, err = s.run(ctx, v, inputs, rows)
			ran = time.Now()
			if err == nil {
				split(batch, outputs, len(v.signature.Outputs))
			}
		})
	})
	if err = errors.Join(err, broken); err != nil {
		for _, r := range batch {
			torch.Close(r.outputs...)
			torch.Close(r.states...)
			r.outputs, r.states = nil, nil
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := time.Now()
	s.stats.batch(rows, s.padded(rows)-rows, gathered.Sub(started), ran.Sub(gathered), ended.Sub(ran))
	for _, r := range batch {
		r.times = Times{r.arrived, started, gathered, ran, ended, rows}
		s.stats.Queue.add(started.Sub(r.arrived))
	}
	return nil
}

// wanted is a context that lasts as long as somebody waits for one of the requests. Who calls releases it.
func wanted(batch []*request) (ctx context.Context, release func()) {
	if len(batch) == 1 {
		return batch[0].ctx, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var waiting atomic.Int64
	waiting.Store(int64(len(batch)))
	ignore := make([]func() bool, len(batch))
	for i, r := range batch {
		ignore[i] = context.AfterFunc(r.ctx, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, own := range ignore {
			own()
		}
		cancel()
	}
}

// inScope runs fn as a model is run.
func inScope(fn func()) { torch.Inference(func() { torch.Scope(fn) }) }

// run runs the model on inputs of that many rows, and compares what it returns with its signature.
func (s *Server) run(ctx context.Context, v *version, inputs []torch.Tensor, rows int) ([]torch.Tensor, error) {
	outputs, err := v.model.Run(ctx, inputs)
	if err != nil {
		return nil, err
	}
	specs := v.outputs
	if len(outputs) != len(specs) {
		return nil, fmt.Errorf("serve: the model returned %d tensors, its signature says %d: %v", len(outputs), len(specs), specs)
	}
	for i, t := range outputs {
		shape, err := specs[i].check(t)
		if err != nil {
			return nil, fmt.Errorf("serve: the model returned another tensor than its signature says: %w", err)
		}
		if n := s.padded(rows); s.o.MaxBatch > 1 && shape[0] != n {
			return nil, fmt.Errorf("serve: the model was given %d rows and returned %d of %q", n, shape[0], specs[i].Name)
		}
		if i < len(v.signature.Outputs) && !s.o.Device.IsZero() {
			outputs[i] = t.To(torch.CPU)
		}
	}
	return outputs, nil
}

// padded is the number of rows that a batch is computed with.
func (s *Server) padded(rows int) int {
	i, _ := slices.BinarySearch(s.o.Buckets, rows)
	if i == len(s.o.Buckets) {
		return rows
	}
	return s.o.Buckets[i]
}

// gather makes the model's inputs of those of the requests.
func (s *Server) gather(batch []*request, rows int) []torch.Tensor {
	sig, specs := &batch[0].version.signature, batch[0].version.inputs
	inputs := make([]torch.Tensor, 0, len(specs))
	for i, spec := range specs {
		parts := make([]torch.Tensor, 0, len(batch)+1)
		for _, r := range batch {
			if i < len(sig.Inputs) {
				parts = append(parts, r.inputs[i])
			} else {
				parts = append(parts, r.state(i-len(sig.Inputs), spec, s.o.Device))
			}
		}
		if n := s.padded(rows) - rows; n > 0 {
			shape := append([]int{n}, parts[0].Shape()[1:]...)
			parts = append(parts, torch.TensorOptions{DType: spec.DType, Device: parts[0].Device()}.Zeros(shape...))
		}
		x := parts[0]
		if len(parts) > 1 {
			x = torch.Cat(parts)
		}
		if !s.o.Device.IsZero() {
			x = x.To(s.o.Device)
		}
		inputs = append(inputs, x)
	}
	return inputs
}

// split gives each request its rows. They are copies, so that one answer does not keep the whole batch.
func split(batch []*request, outputs []torch.Tensor, n int) {
	first := 0
	for _, r := range batch {
		for i, t := range outputs {
			own := t
			if r.version.batches && t.Size(0) != r.rows {
				own = t.Narrow(0, first, r.rows).Clone()
			}
			if i < n {
				r.outputs = append(r.outputs, own.Keep())
			} else if r.sequence != nil {
				r.states = append(r.states, own.Keep())
			}
		}
		first += r.rows
	}
}

// deliver answers requests. Those without an answer get the error.
func (s *Server) deliver(batch []*request, failed error) {
	s.mu.Lock()
	for _, r := range batch {
		if r.outputs == nil && r.err == nil && r.panic == nil {
			r.err = failed
		}
		r.answered = true
		s.stats.answered(r)
		if r.sequence != nil && r.err == nil && r.panic == nil && !r.abandoned {
			r.states, r.sequence.states = r.sequence.states, r.states
		}
		r.after = s.finish(r, r.err == nil && r.end)
	}
	s.stats.Running -= len(batch)
	s.mu.Unlock()
	for _, r := range batch {
		r.after.call()
		torch.Close(r.inputs...)
		torch.Close(r.states...)
		if r.abandoned {
			torch.Close(r.outputs...)
		}
	}
	for _, r := range batch {
		close(r.done)
	}
}

// chores are what has to be done without the lock.
type chores [2]func()

func (c chores) call() {
	for _, fn := range c {
		fn()
	}
}

// finish counts a request that has its answer, or needs none.
func (s *Server) finish(r *request, end bool) chores {
	s.accepted--
	s.crowd.leave(r.rows)
	s.endIfDrained()
	return chores{s.leave1(r.sequence, end), s.release(r.version)}
}

// abandon gives up a request unless it has its answer.
func (s *Server) abandon(r *request) bool {
	s.mu.Lock()
	if r.answered {
		s.mu.Unlock()
		return false
	}
	s.stats.Cancelled++
	r.abandoned = true
	if !s.queue.remove(r) {
		s.mu.Unlock()
		return true
	}
	r.answered = true
	after := s.finish(r, false)
	s.mu.Unlock()
	torch.Close(r.inputs...)
	after.call()
	return true
}
