package dist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/libtorch-go/libtorch/cgo"
)

// Work is an operation under way. Every operation of a [Group] returns one at once, and goes on while the program does
// other things; Wait says how it ended. Its tensors must not be touched before that, but may be closed.
type Work struct {
	g    *Group
	op   string
	peer int
	h    *cgo.Handle
	err  error // it could not be started

	onCard bool    // NCCL does it
	parts  []*Work // that it consists of, where these are not one for libtorch
}

// errNothing is the error of a Work that no operation returned.
var errNothing = errors.New("dist: there is nothing to wait for: the operations of a Group return a Work")

// grace is what libtorch gets beyond a timeout to say itself what was missing.
const grace = time.Second

// Wait waits until the operation is done, ctx ends, or the group's timeout is over, and returns what it failed with. It may be
// called again.
//
// A collective goes on when ctx ends: the other ranks count on it. A send or a receive is given up, and the group
// with it, because its connections are.
//
// Over NCCL it returns at once, as Python's does: the current stream waits, and so all that is computed on it from then on. What fails
// there later, or does not end within the timeout, is the error of the group's next operation, and [Group.Err] tells it. The Wait of a
// barrier does wait, for all that was begun before on the card, too.
func (w *Work) Wait(ctx context.Context) error {
	switch {
	case w.err != nil:
		return w.err
	case w.g == nil:
		return errNothing
	case w.parts != nil:
		return WaitAll(ctx, w.parts...)
	case w.onCard:
		return w.failed(w.waitOnCard(ctx))
	}
	ended := make(chan error, 1)
	go func() { ended <- w.wait() }()
	pulse := time.NewTicker(grace / 2)
	defer pulse.Stop()
	for until := time.Now().Add(w.g.timeout + 3*grace/2); ; {
		select {
		case err := <-ended:
			return w.failed(err)
		case <-ctx.Done():
			w.abort()
			return w.failed(context.Cause(ctx))
		case now := <-pulse.C:
			if _, err := w.call(cgo.OpWorkDone); err != nil { // the connections are broken, and nobody will tell that call
				return w.failed(err)
			}
			if now.After(until) {
				return w.failed(w.late())
			}
		}
	}
}

func (w *Work) wait() error {
	limit := w.g.timeout
	if w.peer < 0 {
		limit += grace
	}
	c, err := w.call(cgo.OpWorkWait, func(c *cgo.Call) { putTimeout(c, limit) })
	switch {
	case err != nil:
		return err
	case !c.BoolResult(0):
		return errors.New("it was given up")
	}
	return nil
}

// waitOnCard has the stream wait that is the current one of the caller's thread. What was aborted counts as done, so whether the
// group is sound is asked afterwards.
func (w *Work) waitOnCard(ctx context.Context) error {
	const shortest, longest = 100 * time.Microsecond, 10 * time.Millisecond
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if _, err := w.call(cgo.OpWorkStream); err != nil {
		return err
	}
	if w.op != "barrier" && os.Getenv("TORCH_NCCL_BLOCKING_WAIT") != "1" {
		return w.g.check()
	}
	until := time.Now().Add(w.g.timeout + grace)
	for pause := shortest; ; pause = min(2*pause, longest) {
		c, err := w.call(cgo.OpWorkDone)
		if unsound := w.g.check(); err != nil || unsound != nil || c.BoolResult(0) {
			return errors.Join(err, unsound)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case now := <-time.After(pause):
			if now.After(until) {
				return w.late()
			}
		}
	}
}

func (w *Work) late() error { return fmt.Errorf("%w: %v have passed", ErrTimeout, w.g.timeout) }

func (w *Work) abort() { w.call(cgo.OpWorkAbort) } //nolint:errcheck // it ends anyhow

func (w *Work) call(op cgo.Op, more ...func(*cgo.Call)) (*cgo.Call, error) {
	return call(op, func(c *cgo.Call) {
		c.Object(w.h)
		for _, put := range more {
			put(c)
		}
	})
}

func (w *Work) failed(err error) error {
	if err == nil {
		return nil
	}
	return w.g.failed(w.op, w.peer, err)
}

func (g *Group) failed(op string, peer int, err error) error {
	return &Error{Op: op, Rank: g.rank, Size: len(g.ranks), Peer: peer, Err: err}
}

// Done tells whether the operation has ended, well or not, without waiting. For a send or a receive it is true only after Wait.
func (w *Work) Done() bool {
	if w.err != nil {
		return true
	}
	if w.parts != nil {
		return !slices.ContainsFunc(w.parts, func(part *Work) bool { return !part.Done() })
	}
	c, err := w.call(cgo.OpWorkDone)
	return err != nil || c.BoolResult(0)
}

// Source is the rank that a [Group.RecvAny] got its tensor from, known after Wait.
func (w *Work) Source() (int, error) {
	if w.err != nil {
		return -1, w.err
	}
	c, err := w.call(cgo.OpWorkSource)
	if err != nil {
		return -1, w.failed(err)
	}
	return c.IntResult(0), nil
}

// WaitAll waits for all of them and returns what they failed with, joined. On cards sends and receives go together by [Group.Batch].
//
//	err := dist.WaitAll(ctx, g.AllReduce(x), g.Broadcast(y, 0))
func WaitAll(ctx context.Context, works ...*Work) error {
	var failed []error
	for _, w := range works {
		failed = append(failed, w.Wait(ctx))
	}
	return errors.Join(failed...)
}
