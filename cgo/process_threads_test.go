package cgo

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for something that happens at once on an idle
// machine.
const patience = 30 * time.Second

// crowd is a group of goroutines in scopes.
type crowd struct {
	t    *testing.T
	in   chan struct{} // one for each that is in a scope
	out  chan struct{} // lets one out
	left sync.WaitGroup
}

// newCrowd makes a crowd. A stall admits its members after the given time.
func newCrowd(t *testing.T, after time.Duration) *crowd {
	stall = after
	before := threadsOfOne(1) // as many scopes as there may be
	t.Cleanup(func() {
		stall = time.Second
		threadsOfOne(before)
	})
	return &crowd{t: t, in: make(chan struct{}, 2*mostLocked), out: make(chan struct{}, 2*mostLocked)}
}

// threadsOfOne sets how many threads an operation has, and returns how many it had.
func threadsOfOne(n int64) (before int64) {
	before = answer(OpGetThreads)
	var c Call
	c.Begin(OpSetThreads)
	c.Int(int(n))
	door(c.op, &c.words[0], &c.frame)
	return before
}

// come lets n more goroutines enter a scope, after prepare if it is not nil.
func (c *crowd) come(n int, prepare func() func()) {
	for range n {
		c.left.Go(func() {
			if prepare != nil {
				defer prepare()()
			}
			s, err := EnterScope()
			if err != nil {
				c.t.Error(err)
				return
			}
			defer s.Leave()
			c.in <- struct{}{}
			<-c.out
		})
	}
}

// arrive waits until n more are in.
func (c *crowd) arrive(n int) {
	c.t.Helper()
	for range n {
		select {
		case <-c.in:
		case <-time.After(patience):
			require.FailNow(c.t, "nobody enters")
		}
	}
}

func (c *crowd) leave(n int) {
	for range n {
		c.out <- struct{}{}
	}
}

func waiting(n int64) func() bool { return func() bool { return locked.waiting.Load() == n } }

func TestScopesBeyondTheMostWait(t *testing.T) {
	clean(t)
	c := newCrowd(t, time.Hour)
	c.come(mostLocked, nil)
	c.arrive(mostLocked)

	c.come(2, nil)
	require.Eventually(t, waiting(2), patience, time.Millisecond)
	c.leave(1)
	c.arrive(1)
	require.Eventually(t, waiting(1), patience, time.Millisecond)

	c.leave(mostLocked + 1)
	c.arrive(1)
	c.left.Wait()
	require.Zero(t, locked.open.Load())
}

// Goroutines that have a thread go on, because what they wait for may be behind them in
// the queue.
func TestScopesOnAThreadDoNotWait(t *testing.T) {
	clean(t)
	outer := newCrowd(t, time.Hour)
	inner := make(chan struct{})
	outer.left.Go(func() {
		LockThread()
		defer UnlockThread()
		before := swapScope(0, 1) // as Suspend does: in no scope, but on a thread
		<-inner
		s, err := EnterScope()
		if err != nil {
			t.Error(err)
			return
		}
		outer.in <- struct{}{}
		s.Leave()
		swapScope(before, -1)
	})
	outer.come(mostLocked-1, nil)
	outer.arrive(mostLocked - 1)
	outer.come(1, nil)
	require.Eventually(t, waiting(1), patience, time.Millisecond, "there is one too many")

	close(inner)
	outer.arrive(1)
	outer.arrive(1) // the place that it gave back
	outer.come(3, OwnThread)
	outer.arrive(3)
	outer.leave(mostLocked + 3)
	outer.left.Wait()
}

// Nobody leaves, and the goroutine outside is admitted all the same.
func TestAStallLetsMoreIn(t *testing.T) {
	clean(t)
	c := newCrowd(t, time.Second)
	c.come(mostLocked+intoAStall+1, nil)
	c.arrive(mostLocked + intoAStall)
	require.Equal(t, int64(1), locked.waiting.Load())
	c.arrive(1)
	c.leave(mostLocked + intoAStall + 1)
	c.left.Wait()
	require.Eventually(t, func() bool {
		locked.mu.Lock()
		defer locked.mu.Unlock()
		return locked.timer == nil
	}, patience, time.Millisecond, "the timer goes on")
	require.Zero(t, locked.open.Load())
}
