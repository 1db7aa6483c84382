package replay

import (
	"sync"
	"sync/atomic"
)

// tape is what is asked for in one recording.
type tape struct {
	owners map[any]bool
	before []func(replay bool)
}

var (
	running atomic.Int32 // recordings; Before costs nothing while there is none
	mu      sync.Mutex
	tapes   = map[int]*tape{} // by thread
)

// Recording runs fn, and returns what [Before] was asked for in it, to be called before the next
// run; with true where that is a replay, and with false where Go computes again. The caller's
// goroutine has to be locked to its thread. A recording in another one takes its place until it ends.
func Recording(fn func()) []func(replay bool) {
	thread, t := threadID(), &tape{owners: map[any]bool{}}
	mu.Lock()
	outer := tapes[thread]
	tapes[thread] = t
	mu.Unlock()
	running.Add(1)
	defer func() {
		running.Add(-1)
		mu.Lock()
		defer mu.Unlock()
		if outer == nil {
			delete(tapes, thread)
		} else {
			tapes[thread] = outer
		}
	}()
	fn()
	return t.before
}

// Before asks for fn before every run of the step that is being recorded on this thread, and
// returns whether there is one. The same owner is heard once.
func Before(owner any, fn func(replay bool)) bool {
	if running.Load() == 0 {
		return false
	}
	mu.Lock()
	defer mu.Unlock()
	t := tapes[threadID()]
	if t == nil {
		return false
	}
	if !t.owners[owner] {
		t.owners[owner] = true
		t.before = append(t.before, fn)
	}
	return true
}
