//go:build stress

package torchtest

import (
	"runtime"

	"go.uber.org/goleak"
)

// stress has the garbage collector run all the time, so that whatever relies on luck meets
// it. end stops that and returns an error if goroutines were left behind.
func stress() (end func() error) {
	others := goleak.IgnoreCurrent()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	return func() error {
		close(stop)
		<-stopped
		return goleak.Find(others)
	}
}
