package service

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// newNetwork is a small one of the kinds of layers that ResNets have.
func newNetwork() nn.Layer {
	return nn.Sequential{
		nn.NewConv2d(3, 8, 3, nn.ConvOptions{Padding: 1, NoBias: true}), nn.NewBatchNorm2d(8), nn.ReLU{InPlace: true},
		nn.NewMaxPool2d(2),
		nn.NewConv2d(8, 16, 3, nn.ConvOptions{Padding: 1, NoBias: true}), nn.NewBatchNorm2d(16), nn.ReLU{InPlace: true},
		nn.NewAdaptiveAvgPool2d(1), nn.Flatten{}, nn.NewLinear(16, 10),
	}
}

// served is a network with questions, images of some size, and the answers that one
// goroutine gets.
type served struct {
	network            nn.Layer
	questions, answers []torch.Tensor
}

func newServed(n, side int) *served {
	torch.ManualSeed(3)
	s := &served{network: newNetwork()}
	s.network.Forward(torch.RandN(32, 3, 16, 16)) // running means that are not 0
	nn.Eval(s.network)
	torch.Inference(func() {
		for range n {
			x := torch.RandN(1, 3, side, side)
			s.questions, s.answers = append(s.questions, x), append(s.answers, s.network.Forward(x))
		}
	})
	return s
}

// right asks question i, modulo their number, and reports whether the answer is the bits
// it was.
func (s *served) right(i int) (same bool) {
	i %= len(s.questions)
	torch.Inference(func() {
		torch.Scope(func() { same = equal(s.network.Forward(s.questions[i]), s.answers[i]) })
	})
	return same
}

// crowd is what many goroutines that ask at once have met with.
type crowd struct {
	right, wrong, cancelled, failed atomic.Int64

	mu      sync.Mutex
	threads int // at most
}

func (c *crowd) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.threads = max(c.threads, usage().Threads)
}

// run has goroutines make calls each; a tenth of the calls is given a context that ends
// before its turn, or while it waits.
func (c *crowd) run(goroutines, calls int, ask func(ctx context.Context, i int) (bool, error)) {
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for n := range calls {
				ctx, cancel := context.WithCancel(context.Background())
				if (g+n)%10 == 0 {
					stop := time.AfterFunc(time.Duration(n)*time.Millisecond, cancel)
					defer stop.Stop()
				}
				switch same, err := ask(ctx, g*calls+n); {
				case errors.Is(err, context.Canceled):
					c.cancelled.Add(1)
				case err != nil:
					c.failed.Add(1)
				case !same:
					c.wrong.Add(1)
				default:
					c.right.Add(1)
				}
				cancel()
			}
			c.look()
		})
	}
	all.Wait()
}

func TestThousandCallersOfOneNetwork(t *testing.T) {
	torchtest.NoLeaks(t)
	goroutines, calls := 1000, reliability.Size(20, 5)
	var s *served
	torch.Scope(func() {
		s = newServed(32, 16)
		lanes := torch.NewLanes(2, torch.LanesOptions{Threads: 1})
		defer lanes.Close()
		inLane := func(ctx context.Context, i int) (same bool, err error) {
			err = lanes.Do(ctx, func() { same = s.right(i) })
			return same, err
		}
		for i := range s.questions { // warms both lanes up
			same, err := inLane(t.Context(), i)
			require.NoError(t, err)
			require.True(t, same)
		}
		before := usage().Resident
		var c crowd
		c.run(goroutines, calls, inLane)
		grown := usage().Resident - before

		reliability.Exactly(t, "answers in lanes with other bits than one goroutine gets", c.wrong.Load(), 0)
		reliability.Exactly(t, "calls in lanes that failed", c.failed.Load(), 0)
		reliability.AtLeast(t, "calls answered", c.right.Load(), int64(goroutines*calls*9/10))
		reliability.Note(t, "calls given up by their context while they waited", c.cancelled.Load())
		reliability.AtMost(t, "OS threads with lanes", c.threads, runtime.GOMAXPROCS(0)*(1+1)+16)
		reliability.AtMost(t, "growth of resident memory with lanes", megabytes(grown), 64, "MB")
	})
}

// Goroutines may also compute by themselves. That takes more threads, which is why there are
// lanes, but not a thread each; the answers are as right.
func TestThousandGoroutinesByThemselves(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		s := newServed(32, 16)
		before := usage()
		var c crowd
		c.run(1000, reliability.Size(20, 2), func(ctx context.Context, i int) (bool, error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			return s.right(i), nil
		})
		after := usage()
		reliability.Exactly(t, "answers without lanes with other bits", c.wrong.Load(), 0)
		reliability.Exactly(t, "calls without lanes that failed", c.failed.Load(), 0)
		reliability.AtMost(t, "OS threads without lanes", c.threads, 256*torch.NumThreads()+64)
		reliability.AtMost(t, "growth of resident memory without lanes", megabytes(after.Resident-before.Resident), 128, "MB")
	})
}
