package torch_test

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestVersions(t *testing.T) {
	assert.Regexp(t, `^2\.\d+\.\d+`, torch.Version())
	assert.Contains(t, torch.Config(), "at::get_num_threads")
	operators := torch.Operators()
	assert.Greater(t, len(operators), 2000)
	for _, name := range []string{"aten::add.Tensor", "aten::mm", "aten::_foreach_add.Scalar"} {
		assert.Contains(t, operators, name)
	}
}

// libtorch keeps the number of threads per OS thread; here it is one for all.
func TestSetNumThreadsHoldsEverywhere(t *testing.T) {
	torchtest.NoLeaks(t)
	before := torch.NumThreads()
	t.Cleanup(func() { torch.SetNumThreads(before) })
	const others = 8
	asked, done := make(chan chan int, others), make(chan struct{})
	defer close(done)
	for range others {
		go func() {
			runtime.LockOSThread()
			torch.NumThreads() // this thread has used libtorch before the change
			for {
				select {
				case answer := <-asked:
					answer <- torch.NumThreads()
				case <-done:
					return
				}
			}
		}()
	}
	for _, n := range []int{1, 3, 2, 1} {
		set := make(chan struct{})
		go func() {
			defer close(set)
			torch.SetNumThreads(n)
		}()
		<-set
		answers := make(chan int, others)
		for range others {
			asked <- answers
		}
		for range others {
			assert.Equal(t, n, <-answers)
		}
		assert.Equal(t, n, torch.NumThreads())
	}
	assert.ErrorIs(t, torch.Try(func() { torch.SetNumThreads(0) }), torch.ErrValue)
	assert.Positive(t, torch.NumInteropThreads())
	assert.Error(t, torch.Try(func() { torch.SetNumInteropThreads(0) }))
}

// warn makes libtorch warn, every time, with a text that has the two sizes in it.
func warn(have, need int) {
	torch.Scope(func() {
		torch.Call("add.out", torch.Ones(need), torch.Ones(need), torch.Arg("out", torch.Zeros(have)))
	})
}

const resized = "does not match the required output shape"

func TestWarningsReachTheHandler(t *testing.T) {
	torchtest.NoLeaks(t)
	var count atomic.Int64
	torch.OnWarning(func(text string) {
		torch.Ones(1).Close() // a handler may compute
		if strings.Contains(text, resized) {
			count.Add(1)
		}
	})
	defer torch.OnWarning(nil)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 50 {
				warn(2, 3)
			}
		})
	}
	group.Wait()
	assert.Equal(t, int64(16*50), count.Load())
}

var newSize atomic.Int64

func TestWarningsAreLoggedOnce(t *testing.T) {
	torchtest.NoLeaks(t)
	size := 10 * int(newSize.Add(1)) // the text is new even where this test runs again
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	for range 5 {
		warn(size, size+1)
	}
	assert.Equal(t, 1, strings.Count(log.String(), resized))
	warn(size, size+2) // another text
	assert.Equal(t, 2, strings.Count(log.String(), resized))
	assert.Contains(t, log.String(), "level=WARN")
}
