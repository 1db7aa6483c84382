package service

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

const durationVariable = "SERVICE_TEST_DURATION"

// span is a figure at its lowest and at its highest.
type span struct{ Low, High int }

func (s *span) add(v int) {
	if s.High == 0 {
		s.Low = v
	}
	s.Low, s.High = min(s.Low, v), max(s.High, v)
}

func (s span) width() int { return s.High - s.Low }

// soaked is what the child reports.
type soaked struct {
	Trained, Answered, Wrong             int64
	Resident, Threads, Files, Goroutines span // after the warm-up
	First, Last                          float64
	Left                                 int // open tensors at the end that the warm-up did not have
	LeftBytes                            int64
}

// soak is a small network in training and another that answers.
type soak struct {
	model            nn.Sequential
	opt              *optim.AdamW
	x, y             torch.Tensor
	served           *served
	lanes            *torch.Lanes
	trained, answers atomic.Int64
	wrong            atomic.Int64
	stopped          atomic.Bool
	loss             float64
}

func newSoak() *soak {
	s := &soak{served: newServed(16, 6), lanes: torch.NewLanes(2, torch.LanesOptions{Threads: 1})}
	s.model = nn.Sequential{nn.NewLinear(16, 32), nn.NewLayerNorm([]int{32}), nn.GELU{}, nn.NewLinear(32, 1)}
	s.opt = optim.NewAdamW(nn.Parameters(s.model), 1e-3)
	s.x, s.y = torch.RandN(16, 16), torch.RandN(16, 1)
	return s
}

func (s *soak) step() {
	torch.Scope(func() {
		loss := F.MSELoss(s.model.Forward(s.x), s.y)
		loss.Backward()
		s.opt.Step()
		s.opt.ZeroGrad()
		s.loss = loss.Float64()
	})
	s.trained.Add(1)
}

func (s *soak) ask(i int) {
	right := false
	if err := s.lanes.Do(context.Background(), func() { right = s.served.right(i) }); err != nil || !right {
		s.wrong.Add(1)
	}
	s.answers.Add(1)
}

// run trains and answers for some time and looks at the process meanwhile.
func (s *soak) run(clients int, warmUp, all time.Duration, r *soaked) {
	s.stopped.Store(false)
	var working sync.WaitGroup
	working.Go(func() {
		for !s.stopped.Load() {
			s.step()
		}
	})
	for c := range clients {
		working.Go(func() {
			for i := c; !s.stopped.Load(); i++ {
				s.ask(i)
			}
		})
	}
	const every = 200 * time.Millisecond
	for began := time.Now(); time.Since(began) < all; time.Sleep(every) {
		if time.Since(began) > warmUp {
			u := usage()
			r.Resident.add(u.Resident)
			r.Threads.add(u.Threads)
			r.Files.add(u.Files)
			r.Goroutines.add(runtime.NumGoroutine())
		}
	}
	s.stopped.Store(true)
	working.Wait()
}

// reachThreads trains and answers on as many threads as Go may come to have, one after the other while all of them are there, and leaves
// them to Go. Each thread that libtorch is called on has memory of its own from malloc (0.6 MB in this work), and where others have the
// processors Go starts its last ones after minutes: that is no growth, but would look like it.
func (s *soak) reachThreads(n int) {
	const calls = 1000
	var turn sync.Mutex
	var here, done sync.WaitGroup
	here.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			here.Done()
			here.Wait()
			turn.Lock()
			defer turn.Unlock()
			for i := range calls {
				s.step()
				s.ask(i)
				s.served.right(i)
			}
		})
	}
	done.Wait()
}

func childSoak() {
	all, err := time.ParseDuration(os.Getenv(durationVariable))
	if err != nil {
		panic(err)
	}
	torch.SetNumThreads(1)
	s := newSoak()
	s.step()
	r := soaked{First: s.loss}
	s.reachThreads(6)
	s.trained.Store(0)
	s.answers.Store(0)
	s.run(4, 0, time.Second, &soaked{})
	torch.GC()
	base := torch.Stats()
	s.run(4, all/5, all, &r)
	s.lanes.Close()
	torch.GC()
	left := torch.Stats()
	r.Trained, r.Answered, r.Wrong, r.Last = s.trained.Load(), s.answers.Load(), s.wrong.Load(), s.loss
	r.Left, r.LeftBytes = left.Live()-base.Live(), left.HostBytes-base.HostBytes
	tell(r)
	runtime.KeepAlive(s)
}

func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	const stepsPerSecond = 500_000 / 300
	duration := reliability.Size(5*time.Minute, time.Minute)
	var r soaked
	answer(t, child(t, "soak", durationVariable+"="+duration.String()), &r)
	reliability.Note(t, "training steps", r.Trained)
	reliability.Note(t, "answers", r.Answered)
	reliability.AtLeast(t, "steps and answers in "+duration.String(), r.Trained+r.Answered, stepsPerSecond*int64(duration.Seconds()))
	reliability.Exactly(t, "wrong answers", r.Wrong, 0)
	reliability.AtMost(t, "resident memory after the warm-up, highest less lowest", megabytes(r.Resident.width()), 8, "MB")
	reliability.Note(t, "resident memory", megabytes(r.Resident.High), "MB")
	// Go starts a thread where it finds all others within C at the same moment.
	reliability.AtMost(t, "threads, highest less lowest", r.Threads.width(), 2)
	reliability.Note(t, "threads", r.Threads.High)
	reliability.Exactly(t, "open files, highest less lowest", r.Files.width(), 0)
	reliability.Exactly(t, "goroutines, highest less lowest", r.Goroutines.width(), 0)
	reliability.Exactly(t, "tensors left over", r.Left, 0)
	reliability.Exactly(t, "bytes of tensors left over", r.LeftBytes, 0)
	require.Less(t, r.Last, r.First, "it no longer learns")
}
