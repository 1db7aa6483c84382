package serve

import (
	"context"
	"errors"
	"time"

	"github.com/libtorch-go/libtorch/torch"
)

// sequence is what requests of one sequence leave to each other. All but turn is under the server's lock; states belong to
// the request that has the turn.
type sequence struct {
	id      string
	version *version
	states  []torch.Tensor // none before the first answer
	turn    chan struct{}  // has one element while a request is on its way
	held    bool
	ended   bool
	used    time.Time
	timer   *time.Timer
}

// join waits for the turn of a request in its sequence, which it begins if the request says so; nil if it belongs to none.
func (s *Server) join(ctx context.Context, q Request) (*sequence, error) {
	if q.Sequence == "" {
		return nil, nil
	}
	seq, begun, err := s.find(q)
	if err != nil || begun {
		return seq, err
	}
	select {
	case seq.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq.ended {
		<-seq.turn
		return nil, ErrSequence
	}
	seq.held = true
	return seq, nil
}

// find finds or begins a sequence. One that was begun is the request's own: nobody comes before, and it does not end meanwhile.
func (s *Server) find(q Request) (seq *sequence, begun bool, err error) {
	after := func() {}
	defer func() { after() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	seq = s.sequences[q.Sequence]
	switch {
	case s.draining:
		return nil, false, ErrClosed
	case seq == nil && len(s.current.signature.States) == 0:
		return nil, false, &InputError{errors.New("the model keeps nothing from request to request, so it has no sequences")}
	case !q.Start && seq == nil:
		return nil, false, ErrSequence
	case !q.Start:
		return seq, false, nil
	case seq != nil:
		after = s.drop(seq)
	}
	if len(s.sequences) >= s.o.Sequences {
		return nil, false, ErrBusy
	}
	seq = &sequence{id: q.Sequence, version: s.current, turn: make(chan struct{}, 1), held: true}
	seq.turn <- struct{}{}
	seq.version.users++
	s.sequences[seq.id] = seq
	seq.timer = time.AfterFunc(s.o.Idle, func() { s.expire(seq) })
	return seq, true, nil
}

// expire forgets a sequence that nobody went on with.
func (s *Server) expire(seq *sequence) {
	after := func() {}
	s.mu.Lock()
	if !seq.held && !seq.ended && time.Since(seq.used) >= s.o.Idle {
		after = s.drop(seq)
	}
	s.mu.Unlock()
	after()
}

// drop forgets a sequence, whose tensors are closed when no request uses them. What it returns has to be called without
// the lock.
func (s *Server) drop(seq *sequence) func() {
	if seq.ended {
		return func() {}
	}
	seq.ended = true
	seq.timer.Stop()
	if s.sequences[seq.id] == seq {
		delete(s.sequences, seq.id)
	}
	closing := s.release(seq.version)
	if seq.held {
		return closing
	}
	states := seq.states
	return func() { torch.Close(states...); closing() }
}

// leave ends the turn of a request, and the sequence if it was the last.
func (s *Server) leave(seq *sequence, end bool) {
	s.mu.Lock()
	after := s.leave1(seq, end)
	s.mu.Unlock()
	after()
}

// leave1 is leave under the lock. What it returns has to be called without it.
func (s *Server) leave1(seq *sequence, end bool) func() {
	if seq == nil {
		return func() {}
	}
	after := func() {}
	seq.held, seq.used = false, time.Now()
	if seq.ended { // meanwhile
		states := seq.states
		after = func() { torch.Close(states...) }
	} else if end {
		after = s.drop(seq)
	} else {
		seq.timer.Reset(s.o.Idle)
	}
	<-seq.turn
	return after
}

// state is what the request before left, or zeros.
func (r *request) state(i int, spec Spec, dev torch.Device) torch.Tensor {
	if r.sequence != nil && i < len(r.sequence.states) {
		return r.sequence.states[i]
	}
	shape := append([]int(nil), spec.Shape...)
	if len(shape) > 0 && shape[0] == -1 {
		shape[0] = r.rows
	}
	return torch.TensorOptions{DType: spec.DType, Device: dev}.Zeros(shape...)
}
