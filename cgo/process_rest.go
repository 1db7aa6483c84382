package cgo

import (
	"runtime/metrics"
	"sync"
	"time"
)

// A service leaves the collector nothing to find, so that nobody calls trim; and its requests come by all threads, each of which keeps in
// its arena what requests took there at most. Resting gives that back, while calls come and when they have ceased.
const (
	glance = time.Second
	still  = 5       // glances without a call, after which whatever is spare goes back
	drift  = 8 << 20 // bytes that may be resident beyond live ones, spare ones, and Go's, on top of what was when they were last trimmed
)

// Work counts the calls of somebody whose threads' memory is given back: how many there have been, and whether there is one now.
type Work func() (calls int64, busy bool)

// rest looks after the memory of all who work.
type rest struct {
	mu    sync.Mutex
	crews map[int]Work
	next  int
	quit  chan struct{}
	calls int64
	idle  int   // glances since the last call
	left  int64 // strays after the last trim
}

var resting rest

// Rest gives memory back from now on that is not needed for w, until done is called.
func Rest(w Work) (done func()) {
	r := &resting
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.crews) == 0 {
		r.crews, r.quit, r.idle, r.left = map[int]Work{}, make(chan struct{}), still, strays()
		go r.watch(r.quit)
	}
	r.next++
	id := r.next
	r.crews[id] = w
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if delete(r.crews, id); len(r.crews) == 0 {
			close(r.quit)
		}
	})
}

func (r *rest) watch(quit chan struct{}) {
	clock := time.NewTicker(glance)
	defer clock.Stop()
	for {
		select {
		case <-clock.C:
			r.look()
		case <-quit:
			return
		}
	}
}

func (r *rest) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls, busy := int64(0), false
	for _, w := range r.crews {
		n, now := w()
		calls, busy = calls+n, busy || now
	}
	switch {
	case busy || calls != r.calls:
		r.calls, r.idle = calls, 0
		if now := strays(); now > r.left+drift {
			answer(OpTrimHeaps)
			r.left = strays()
		} else {
			r.left = min(r.left, now)
		}
	case r.idle < still:
		if r.idle++; r.idle == still {
			EmptyHeaps()
			r.left = strays()
		}
	}
}

// strays are the resident bytes that are neither Go's nor those of tensors, live or spare.
func strays() int64 {
	live, _, spare := HostMemory()
	classes := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(classes)
	return resident() - live - spare - int64(classes[0].Value.Uint64()-classes[1].Value.Uint64())
}
