package dist

import (
	"context"
	"errors"
	"fmt"
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
func (w *Work) Wait(ctx context.Context) error {
	switch {
	case w.err != nil:
		return w.err
	case w.g == nil:
		return errNothing
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

// WaitAll waits for all of them and returns what they failed with, joined. It is for several operations at a time, such as
// PyTorch's batch_isend_irecv:
//
//	err := dist.WaitAll(ctx, g.Send(x, next), g.Recv(y, last))
func WaitAll(ctx context.Context, works ...*Work) error {
	var failed []error
	for _, w := range works {
		failed = append(failed, w.Wait(ctx))
	}
	return errors.Join(failed...)
}
