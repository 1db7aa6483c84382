package service

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A goroutine that ends locked takes its thread with it: every goroutine here computes on
// a thread that has never seen libtorch, and leaves it by a panic in the midst of a mode.
func TestModesOfFreshThreads(t *testing.T) {
	torchtest.NoLeaks(t)
	const atOnce = 16
	rounds := reliability.Size(100, 20)
	var wrong atomic.Int64
	look := func(grad, inference bool) {
		if torch.IsGradEnabled() != grad || torch.IsInference() != inference || torch.Autocasting(torch.CPU).Enabled {
			wrong.Add(1)
		}
	}
	for range rounds {
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() {
				runtime.LockOSThread()
				look(true, false)
				_ = torch.Try(func() {
					torch.NoGrad(func() {
						runtime.Gosched()
						look(false, false)
						torch.Inference(func() {
							runtime.Gosched()
							look(false, true)
							torch.Ones(2).Select(0, 9)
						})
					})
				})
				look(true, false)
			})
		}
		all.Wait()
	}
	reliability.Note(t, "threads that had not seen libtorch", atOnce*rounds)
	reliability.Exactly(t, "wrong modes on them, before, in and after a panic", wrong.Load(), 0)
}
