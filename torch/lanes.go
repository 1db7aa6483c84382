package torch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/frames"
)

// Lanes is a fixed number of heavy computations that run at the same time, on OS threads
// that they share with nobody: the way to serve many requests at once. A goroutine that computes by itself is fine while there are few.
// But each OS thread that an operation runs on starts its own pool of helpers, and a
// thousand goroutines use a hundred threads: they slow each other down and keep
// gigabytes. With lanes there are as many pools as lanes, however many goroutines call.
//
//	lanes := torch.NewLanes(2)
//	defer lanes.Close()
//
//	var answer []float32
//	err := lanes.Do(ctx, func() {
//		torch.Scope(func() { answer = torch.Values[float32](model.Forward(torch.FromSlice(question))) })
//	})
//
// All methods may be called from any goroutine. A goroutine in a [Scope] or a mode holds an
// OS thread even while it waits for a lane. If there are many, open the scope in the lane,
// as above.
//
// Each lane is a thread of its own. Calls that are shorter than the way to another thread and back run on
// the caller's, if their operations use one thread and there is no card: nothing stays with that thread then but a little memory.
type Lanes struct {
	work    chan *laneCall
	places  chan struct{} // one for each lane that is free, where callers' threads may compute; else nil
	usual   atomic.Int64  // about how many ns a call takes of late, if there are places
	quit    chan struct{}
	doors   *semaphore.Weighted // see outside
	closing sync.Once
	rested  func() // ends what gives memory back
	alive   sync.WaitGroup
	n       int
	o       LanesOptions

	inside, running, finished, refused atomic.Int64
}

// LanesOptions are the rarer arguments of [NewLanes].
type LanesOptions struct {
	Threads int // how many threads an operation in a lane may use; default: NumThreads divided by the lanes, at least 1
	Queue   int // how many calls may wait for a lane; default: any number
}

// LanesStats counts what a set of lanes is doing and has done.
type LanesStats struct {
	Lanes, Threads   int   // how many there are, and the threads of an operation in each
	Running, Waiting int64 // calls at this moment
	Finished         int64 // calls that ran
	Refused          int64 // calls that did not run: given up while they waited, or refused
}

var (
	// ErrLanesBusy is the error of a call that finds the queue full.
	ErrLanesBusy = errors.New("torch: all lanes are busy and their queue is full")
	// ErrLanesClosed is the error of a call after [Lanes.Close].
	ErrLanesClosed = errors.New("torch: the lanes are closed")
)

// NewLanes starts n lanes. They last until Close.
func NewLanes(n int, opts ...LanesOptions) *Lanes {
	o := first(opts)
	if n < 1 || o.Threads < 0 || o.Queue < 0 {
		throw("lanes", KindValue, "expected at least one lane and no negative option, got %d lanes and %+v", n, o)
	}
	if o.Threads == 0 {
		o.Threads = max(1, NumThreads()/n)
	}
	l := &Lanes{work: make(chan *laneCall), quit: make(chan struct{}), n: n, o: o}
	l.doors = semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))
	if o.Threads == 1 && DeviceCount(DeviceCUDA) == 0 {
		l.places = make(chan struct{}, n)
		for range n {
			l.places <- struct{}{}
		}
		l.usual.Store(int64(10 * quick))
	}
	l.rested = cgo.Rest(func() (int64, bool) { return l.finished.Load(), l.inside.Load() > 0 })
	l.alive.Add(n)
	for range n {
		go l.lane()
	}
	return l
}

// Do runs fn in a lane, under the caller's modes, and returns when fn has returned. The
// result is the *[Error] that a tensor operation in fn panicked with, or nil. While all
// lanes are busy Do waits until ctx ends; then it returns the error of ctx and does not
// run fn. An operation that has begun is not interrupted: an fn that takes long should
// look at ctx itself. Any other panic of fn continues in the caller, as a *[LanePanic].
//
// fn runs in no scope: tensors that it makes must be closed, or the garbage collector
// frees them. [Lanes.Do1] returns a tensor to the caller. A Do of the same lanes inside fn
// waits for another lane: if every lane waits like that, none returns.
func (l *Lanes) Do(ctx context.Context, fn func()) error {
	defer l.inside.Add(-1)
	if n := l.inside.Add(1); l.o.Queue > 0 && n > int64(l.n+l.o.Queue) {
		return l.refuse(ErrLanesBusy)
	}
	if ctx.Err() != nil {
		return l.refuse(context.Cause(ctx))
	}
	if l.places != nil {
		return l.near(ctx, fn)
	}
	return l.there(ctx, fn)
}

// Beside runs fn in no lane, on the caller's thread, with as many threads to an operation as a lane has: what is made ready for the lanes
// fits them then, such as a program whose weights are packed for so many threads. Tensors that fn makes are outside all scopes.
func (l *Lanes) Beside(fn func()) {
	defer cgo.InLane(l.o.Threads)()
	fn()
}

// quick is how long calls may take that run on the callers' threads. Whatever computes longer leaves more memory
// with its thread, in malloc, oneDNN and MKL, and Go's goroutines come by all threads in time.
const quick = 200 * time.Microsecond

// near runs fn when there is a place: on the caller's thread if calls are quick of late, else on a lane's.
func (l *Lanes) near(ctx context.Context, fn func()) error {
	select {
	case <-l.places:
	case <-ctx.Done():
		return l.refuse(context.Cause(ctx))
	case <-l.quit:
		return l.refuse(ErrLanesClosed)
	}
	defer func() { l.places <- struct{}{} }()
	select {
	case <-l.quit:
		return l.refuse(ErrLanesClosed)
	default:
	}
	if l.usual.Load() > int64(quick) {
		return l.there(ctx, fn)
	}
	e := &laneCall{fn: fn}
	l.run(e, func() {
		defer cgo.InLane(l.o.Threads)()
		fn()
	})
	if e.panic != nil {
		panic(e.panic)
	}
	return e.err
}

// there runs fn on the thread of a lane.
func (l *Lanes) there(ctx context.Context, fn func()) error {
	e := &laneCall{fn: fn, done: make(chan struct{})}
	l.outside(func() { e.modes = captureModes() })
	select {
	case l.work <- e:
	case <-ctx.Done():
		l.outside(func() { freeModes(e.modes) })
		return l.refuse(context.Cause(ctx))
	case <-l.quit:
		l.outside(func() { freeModes(e.modes) })
		return l.refuse(ErrLanesClosed)
	}
	<-e.done
	switch {
	case e.exited:
		runtime.Goexit()
	case e.panic != nil:
		panic(e.panic)
	}
	if failed, ok := e.err.(*Error); ok {
		failed.Callers = append(failed.Callers, frames.Callers(0)...) // the caller's stack above the lane's
	}
	return e.err
}

// outside runs a short call into C for a goroutine that is in no lane. Where the system takes the processor from
// a thread inside C, Go starts another thread for the next goroutine; so of the thousands that may come to Do at
// once only as many as there are processors are in C.
func (l *Lanes) outside(call func()) {
	_ = l.doors.Acquire(context.Background(), 1) // fails with its context only
	defer l.doors.Release(1)
	call()
}

func (l *Lanes) refuse(err error) error {
	l.refused.Add(1)
	return err
}

// Do1 is [Lanes.Do] for a function that makes one tensor. It runs in a [Scope] of the lane;
// the result belongs to the caller, like that of any operation.
func (l *Lanes) Do1(ctx context.Context, fn func() Tensor) (Tensor, error) {
	var result Tensor
	err := l.Do(ctx, func() {
		Scope(func() { result = fn().Keep() })
	})
	if err != nil {
		return Tensor{}, err
	}
	defer result.Close()
	return result.Alias(), nil
}

// Stats counts the calls so far.
func (l *Lanes) Stats() LanesStats {
	running := l.running.Load()
	return LanesStats{
		Lanes: l.n, Threads: l.o.Threads,
		Running: running, Waiting: max(0, l.inside.Load()-running),
		Finished: l.finished.Load(), Refused: l.refused.Load(),
	}
}

// Close ends the lanes when they have finished what they run, and waits for that. Calls
// that still wait for a lane get [ErrLanesClosed], and so do later ones.
func (l *Lanes) Close() {
	l.closing.Do(func() {
		close(l.quit)
		l.rested()
		for range cap(l.places) {
			<-l.places
		}
	})
	l.alive.Wait()
}

// LanePanic is how a panic in a lane that is not an *[Error] continues in the caller.
type LanePanic struct {
	Value any    // what fn panicked with
	Stack []byte // where, in the lane
}

// Error is the value and the lane's stack.
func (p *LanePanic) Error() string { return fmt.Sprintf("%v\n\nin a lane:\n%s", p.Value, p.Stack) }

// Unwrap is the value, if that is an error.
func (p *LanePanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// laneCall is one call on its way through a lane.
type laneCall struct {
	fn     func()
	modes  uint64
	done   chan struct{}
	err    error
	panic  *LanePanic
	exited bool // fn ended its goroutine: a test that failed, say
}

// lane runs calls on one OS thread.
func (l *Lanes) lane() {
	defer cgo.InLane(l.o.Threads)()
	exited := true
	defer func() {
		if exited { // fn ended this goroutine; another takes its place
			go l.lane()
			return
		}
		l.alive.Done()
	}()
	for {
		select {
		case e := <-l.work:
			l.serve(e)
		case <-l.quit:
			exited = false
			return
		}
	}
}

// serve runs a call that another goroutine waits for.
func (l *Lanes) serve(e *laneCall) {
	defer close(e.done)
	defer freeModes(e.modes)
	l.run(e, func() { withModes(e.modes, e.fn) })
}

// run runs fn for a call, and keeps what became of it.
func (l *Lanes) run(e *laneCall, fn func()) {
	l.running.Add(1)
	returned, began := false, time.Now()
	defer func() {
		if v := recover(); v != nil {
			e.panic = &LanePanic{v, debug.Stack()}
		} else {
			e.exited = !returned
		}
		took := int64(time.Since(began))
		l.usual.Add((took - l.usual.Load()) / 8)
		l.running.Add(-1)
		l.finished.Add(1)
	}()
	e.err = Try(fn)
	returned = true
}
