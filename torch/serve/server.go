package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Options are the rarer arguments of [New].
type Options struct {
	Lanes     int           // batches computed at the same time; idle lanes share what waits. Default: the number of threads, at most 4
	Share     *torch.Lanes  // lanes that several servers use, instead of own ones
	MaxBatch  int           // rows of a batch; default: requests do not share batches
	MaxDelay  time.Duration // how long a request waits for others; default: it takes the first free lane
	Preferred []int         // batches of so many rows wait for no more; default: only those of MaxBatch
	Buckets   []int         // sizes to which batches are filled up with rows of zeros; default: none is
	Queue     int           // requests that may wait; default: 16 full batches for each lane

	Device torch.Device   // where the model is: inputs are moved there, and outputs to the CPU; default: nothing is moved
	Sample []torch.Tensor // inputs of one row to warm up with; default: zeros, where the signature says all sizes but the first
	WarmUp []int          // the batches that are computed before a model is used; default: one row, each bucket and MaxBatch

	Sequences int           // that may be open at the same time; default: 1,000
	Idle      time.Duration // after which a sequence is forgotten; default: a minute
}

var (
	// ErrBusy is the error of a request that finds the queue full, or all sequences open.
	ErrBusy = errors.New("serve: too many requests are waiting")
	// ErrClosed is the error of a request after [Server.Close] or [Server.Shutdown].
	ErrClosed = errors.New("serve: the server is closed")
	// ErrSequence is the error of a request that goes on with a sequence that never began, has ended, or was idle for too long.
	ErrSequence = errors.New("serve: there is no such sequence; begin it with Start")
	// ErrInput is matched by every [InputError].
	ErrInput = errors.New("the inputs do not fit the model")
)

// InputError is the error of a request whose inputs do not fit the model's signature.
type InputError struct{ Err error }

// Error says which input it is, and what was expected.
func (e *InputError) Error() string { return "serve: " + e.Err.Error() }

// Unwrap is the reason.
func (e *InputError) Unwrap() error { return e.Err }

// Is matches [ErrInput].
func (e *InputError) Is(target error) bool { return target == ErrInput }

// Server computes requests with a model. All its methods may be called from any goroutine.
type Server struct {
	o        Options
	lanes    *torch.Lanes
	workers  sync.WaitGroup
	wake     chan struct{} // there may be a batch
	quit     chan struct{}
	swapping sync.Mutex

	taking atomic.Int64 // lanes that are about to take a batch

	mu        sync.Mutex
	current   *version
	queue     queue
	sequences map[string]*sequence
	accepted  int           // requests that have no answer yet
	crowd     crowd         // their rows
	draining  bool          // no more are accepted
	drained   bool          // and none is left
	busy      int           // lanes that compute a batch
	parts     int           // numbers that were given to parts of what waits
	idle      chan struct{} // closed then
	stats     Stats
}

// version is a model with what is known of it.
type version struct {
	model     Model
	signature Signature
	inputs    []Spec // with the states
	outputs   []Spec // likewise
	batches   bool   // requests can share a batch
	users     int    // requests and sequences
	retired   bool   // another has taken its place
}

// New starts to serve a model, after it was warmed up. The model belongs to the server from here on, even if there is an error:
// it is closed when it is no longer used.
func New(model Model, opts ...Options) (*Server, error) {
	return NewContext(context.Background(), model, opts...)
}

// NewContext is [New], which gives up when ctx ends before the model is warmed up, if the model does: a program of unknown origin may have
// no end. The server does not end with ctx.
func NewContext(ctx context.Context, model Model, opts ...Options) (*Server, error) {
	o := option.One(opts)
	if err := o.complete(); err != nil {
		model.Close()
		return nil, err
	}
	s := &Server{o: o, lanes: o.Share, wake: make(chan struct{}, o.Lanes), quit: make(chan struct{}), idle: make(chan struct{}),
		sequences: map[string]*sequence{}}
	s.stats.Sizes = make([]int64, o.MaxBatch+1)
	if s.lanes == nil {
		s.lanes = torch.NewLanes(o.Lanes)
	}
	v, err := s.prepare(ctx, model)
	if err != nil {
		s.closeLanes()
		return nil, err
	}
	s.current = v
	for range o.Lanes {
		s.workers.Go(s.work)
	}
	return s, nil
}

// complete checks options and fills in the defaults.
func (o *Options) complete() error {
	if o.Lanes < 0 || o.MaxBatch < 0 || o.MaxDelay < 0 || o.Queue < 0 || o.Sequences < 0 || o.Idle < 0 {
		return fmt.Errorf("serve: expected no negative options, got %+v", *o)
	}
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	if o.Share != nil {
		set(&o.Lanes, o.Share.Stats().Lanes)
	}
	set(&o.Lanes, min(torch.NumThreads(), 4))
	set(&o.MaxBatch, 1)
	set(&o.Queue, 16*o.MaxBatch*o.Lanes)
	set(&o.Sequences, 1000)
	if o.Idle == 0 {
		o.Idle = time.Minute
	}
	o.Buckets = slices.Sorted(slices.Values(o.Buckets))
	if n := len(o.Buckets); n > 0 && (o.Buckets[0] < 1 || o.Buckets[n-1] != o.MaxBatch) {
		return fmt.Errorf("serve: expected buckets from 1 to MaxBatch, which is %d, got %v", o.MaxBatch, o.Buckets)
	}
	if slices.ContainsFunc(o.Preferred, func(n int) bool { return n < 1 || n > o.MaxBatch }) {
		return fmt.Errorf("serve: expected preferred batches of 1 to MaxBatch, which is %d, got %v", o.MaxBatch, o.Preferred)
	}
	if o.WarmUp == nil {
		o.WarmUp = slices.Compact(slices.Sorted(slices.Values(append([]int{1, o.MaxBatch}, o.Buckets...))))
	}
	return nil
}

// Run computes one request of the default priority and returns its outputs, in the order of the signature. The outputs belong
// to the caller, and so do the inputs, which must not change before Run returns.
func (s *Server) Run(ctx context.Context, inputs ...torch.Tensor) ([]torch.Tensor, error) {
	return s.Do(ctx, Request{Inputs: inputs})
}

// Request is a request with all that can be said of it.
type Request struct {
	Inputs   []torch.Tensor
	Priority int // higher ones go first

	Sequence   string // the sequence that it belongs to; default: none
	Start, End bool   // it is the first, the last of the sequence

	Times *Times // is filled in, if it is not nil, when the request was computed
}

// Times is when what happened to a request, and in what company.
type Times struct {
	Arrived  time.Time // it was accepted
	Begun    time.Time // its batch was taken out of the queue
	Gathered time.Time // the model's inputs were made
	Computed time.Time // the model had run
	Answered time.Time // the answers were made
	Rows     int       // of the batch
}

// Do computes one request. Its error is an [InputError], [ErrBusy], [ErrClosed], [ErrSequence], that of ctx, or the model's. When ctx
// ends, a request that waits is not computed; one that is being computed goes on without anybody waiting for it. A panic of the
// model that is no *torch.Error continues in the caller, as a *torch.LanePanic.
func (s *Server) Do(ctx context.Context, q Request) ([]torch.Tensor, error) {
	r, err := s.enter(ctx, q)
	if err != nil {
		return nil, s.refuse(err)
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if s.abandon(r) {
			return nil, context.Cause(ctx)
		}
		<-r.done
	}
	if q.Times != nil && r.err == nil && r.panic == nil {
		*q.Times = r.times
	}
	return r.result()
}

// enter accepts a request when it is its turn.
func (s *Server) enter(ctx context.Context, q Request) (*request, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	seq, err := s.join(ctx, q)
	if err != nil {
		return nil, err
	}
	r, err := s.admit(ctx, q, seq)
	if err != nil {
		s.leave(seq, false)
	}
	return r, err
}

// admit checks a request and puts it into the queue.
func (s *Server) admit(ctx context.Context, q Request, seq *sequence) (*request, error) {
	s.mu.Lock()
	v := s.current
	if seq != nil {
		v = seq.version
	}
	if s.draining || v == nil {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	v.users++ // it is not closed from here on
	s.mu.Unlock()
	r := &request{ctx: ctx, version: v, sequence: seq, end: q.End, priority: q.Priority, arrived: time.Now(), done: make(chan struct{})}
	err := r.take(q.Inputs, s.o.MaxBatch)
	s.mu.Lock()
	switch {
	case err != nil:
	case s.draining:
		err = ErrClosed
	case len(s.queue) >= s.o.Queue:
		err = ErrBusy
	default:
		s.accepted++
		s.crowd.enter(r.rows, r.arrived)
		s.queue.add(r)
	}
	if err != nil {
		closing := s.release(v)
		s.mu.Unlock()
		torch.Close(r.inputs...)
		closing()
		return nil, err
	}
	s.mu.Unlock()
	s.signal()
	return r, nil
}

// release gives back a use of a version. The function that it returns has to be called without the lock.
func (s *Server) release(v *version) func() {
	v.users--
	if v.users == 0 && v.retired {
		return v.model.Close
	}
	return func() {}
}

// refuse counts a request that was not accepted.
func (s *Server) refuse(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, ErrInput):
		s.stats.Invalid++
	case errors.Is(err, ErrBusy), errors.Is(err, ErrClosed), errors.Is(err, ErrSequence):
		s.stats.Refused++
	default:
		s.stats.Cancelled++
	}
	return err
}

// signal tells a worker that there may be a batch.
func (s *Server) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // all are about to look
	}
}

// Signature is that of the current model.
func (s *Server) Signature() Signature {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return Signature{}
	}
	return s.current.signature
}

// Ready is nil while requests are accepted; else it says why they are not: the server is closed, or a card has failed for good.
func (s *Server) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return ErrClosed
	}
	return torch.Unhealthy()
}
