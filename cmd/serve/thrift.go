package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// Go collects garbage when its heap has grown by as much as is in use, which is next to nothing here, for tensors are not in it: twenty
// times a second for small requests. So it may grow by some megabytes at least.
const garbage, least = 16 << 20, 4 << 20 // for Go a heap has at least as much in use

// quiet is how many seconds without a request are taken for the end of many.
const quiet = 5

// thrift is how Go's memory follows what is asked of a service.
type thrift struct {
	service *service
	seen    int64 // requests, the last time
	idle    int   // seconds since the last request

	mu      sync.Mutex
	percent int // that the collector was told last
	over    bool
}

// thrifty looks after Go's memory until done is called. With GOGC in the environment, when to collect is the user's affair.
func (s *service) thrifty() (done func()) {
	t := &thrift{service: s, idle: quiet}
	before := 0
	_, chosen := os.LookupEnv("GOGC")
	if !chosen {
		before = debug.SetGCPercent(100)
		t.collected(nil)
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		clock := time.NewTicker(time.Second)
		defer clock.Stop()
		for {
			select {
			case <-clock.C:
				t.rest()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.over = true; !chosen {
			debug.SetGCPercent(before)
		}
	}
}

// A mark is garbage from the start: its finalizer tells when the collector has been there. Smaller ones would share their memory.
type mark struct{ _ [16]byte }

// collected has the collector wait for as much garbage as is in use, or for the least, each time that it has found out how much that is:
// a second later there may be a thousand more requests.
func (t *thrift) collected(*mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := max(100, int(100*garbage/max(least, live[0].Value.Uint64())))
	if percent*4 < t.percent*3 || percent*3 > t.percent*4 { // the world stops for it
		t.percent = percent
		debug.SetGCPercent(percent)
	}
	runtime.SetFinalizer(new(mark), t.collected)
}

// rest gives back what requests left, when they have ceased.
func (t *thrift) rest() {
	switch seen := t.service.entered.Load(); {
	case seen != t.seen:
		t.seen, t.idle = seen, 0
	case t.idle < quiet:
		if t.idle++; t.idle == quiet {
			runtime.GC() // which buffers that wait for other requests survive once
			debug.FreeOSMemory()
		}
	}
}
