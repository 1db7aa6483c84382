package clitest

import (
	"sync/atomic"
	"testing"
	"time"
)

// A Watch tells how long something has taken, for bounds that hold on a busy machine too: it stands still while the machine has no time
// for this process.
type Watch struct{ ticks atomic.Int64 }

// tick is short beside the bounds, and long beside what a sleep takes too long where nothing else runs.
const tick = 5 * time.Millisecond

// StartWatch starts a watch that runs until the test ends.
func StartWatch(t testing.TB) *Watch {
	w, over := new(Watch), t.Context().Done()
	go func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(tick): // which comes late where others compute, and counts as one all the same
				w.ticks.Add(1)
			}
		}
	}()
	return w
}

// Elapsed is what the watch shows. It is never more than what has passed.
func (w *Watch) Elapsed() time.Duration { return time.Duration(w.ticks.Load()) * tick }
