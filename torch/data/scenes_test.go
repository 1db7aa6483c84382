package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Every scene plays an epoch of 8 batches of 4 samples, the last of 1, with something
// happening at one position.
const (
	sceneSamples = 29
	sceneBatch   = 4
	sceneBatches = 8
)

var (
	errBroken  = errors.New("broken file")
	errStopped = errors.New("stopped by the user")
)

// stage is a data set that can be told to misbehave at a sample.
type stage struct {
	at     int // the sample; -1: none
	misdo  func(ctx context.Context) error
	before func(i int) // runs before each sample
}

func (s *stage) Len() int { return sceneSamples }

func (s *stage) At(ctx context.Context, i int) (Sample, error) {
	if s.before != nil {
		s.before(i)
	}
	if i == s.at {
		if err := s.misdo(ctx); err != nil {
			return Sample{}, err
		}
	}
	x := torch.FromSlice([]float32{float32(i), 1}).MulScalar(2) // an intermediate, to be freed
	return Sample{Input: x, Target: torch.FromValue(i)}, nil
}

// A way is one of those to go through an epoch: it calls body with every item until that
// returns false.
type way func(ctx context.Context, l *Loader[Batch], body func(Batch, error) bool)

var ways = map[string]way{
	"loop": func(ctx context.Context, l *Loader[Batch], body func(Batch, error) bool) {
		for batch, err := range l.Epoch(ctx, 0) {
			if !body(batch, err) {
				break
			}
		}
	},
	"iter.Pull2": func(ctx context.Context, l *Loader[Batch], body func(Batch, error) bool) {
		next, stop := iter.Pull2(l.Epoch(ctx, 0))
		defer stop()
		pull(next, body)
	},
	"iter.Pull2 in a scope": func(ctx context.Context, l *Loader[Batch], body func(Batch, error) bool) {
		torch.Scope(func() {
			next, stop := iter.Pull2(l.Epoch(ctx, 0))
			defer stop()
			pull(next, body)
		})
	},
	"a loop that is pulled": func(ctx context.Context, l *Loader[Batch], body func(Batch, error) bool) {
		next, stop := iter.Pull2(func(yield func(Batch, error) bool) {
			for batch, err := range l.Epoch(ctx, 0) {
				if !yield(batch, err) {
					break
				}
			}
		})
		defer stop()
		pull(next, body)
	},
	"Pull": func(ctx context.Context, l *Loader[Batch], body func(Batch, error) bool) {
		next, stop := l.Pull(ctx, 0)
		defer stop()
		pull(next, body)
	},
	"Pull in other scopes": func(ctx context.Context, l *Loader[Batch], body func(Batch, error) bool) {
		next, stop := l.Pull(ctx, 0)
		defer func() { torch.NoGrad(stop) }()
		for more := true; more; {
			torch.Scope(func() {
				batch, err, ok := next()
				more = ok && body(batch, err)
			})
		}
	},
}

func pull(next func() (Batch, error, bool), body func(Batch, error) bool) {
	for batch, err, ok := next(); ok; batch, err, ok = next() {
		more := true
		torch.Scope(func() { more = body(batch, err) })
		if !more {
			return
		}
	}
}

// play runs an epoch and returns the indices that arrived, what the last item's error was
// and what body panicked with.
func play(ctx context.Context, l *Loader[Batch], body func(number int) (goOn bool)) (got []int, err error, thrown any) {
	return playBy(ways["loop"], ctx, l, body)
}

func playBy(by way, ctx context.Context, l *Loader[Batch], body func(number int) (goOn bool)) (got []int, err error, thrown any) {
	got = []int{}
	defer func() { thrown = recover() }()
	number := 0
	by(ctx, l, func(batch Batch, e error) bool {
		if e != nil {
			err = e
			return true // nothing may come after an error
		}
		if batch.Target.Sum().Int()*2 != int(batch.Input.Select(1, 0).Sum().Float64()) {
			panic("a batch with wrong content")
		}
		got = append(got, torch.Values[int](batch.Target)...)
		if body != nil && !body(number) {
			return false
		}
		number++
		return true
	})
	return got, err, nil
}

// upTo lists the samples of the batches before one.
func upTo(batch int) []int { return Sequential(min(batch*sceneBatch, sceneSamples)).Indices(0) }

type scene struct {
	name string
	// play sets the stage and checks what arrived; position is the batch at which it happens.
	play func(t *testing.T, by way, position, workers int)
}

func newSceneLoader(t *testing.T, s *stage, workers int, o LoaderOptions) *Loader[Batch] {
	o.BatchSize, o.Workers = sceneBatch, workers
	l, err := NewLoader(Collate(s, Stack), o)
	require.NoError(t, err)
	return l
}

// requireFailure checks an error that a sample of a batch caused, and that all batches before
// it arrived.
func requireFailure(t *testing.T, got []int, err error, position, workers int) *Error {
	require.Equal(t, upTo(position), got)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, position, e.Batch)
	require.Equal(t, position*sceneBatch, e.Index)
	if workers == 0 {
		require.Zero(t, e.Worker)
	} else {
		require.GreaterOrEqual(t, e.Worker, 1)
		require.LessOrEqual(t, e.Worker, workers)
	}
	return e
}

func failing(fail func(ctx context.Context) error, check func(t *testing.T, e *Error)) func(*testing.T, way, int, int) {
	return func(t *testing.T, by way, position, workers int) {
		l := newSceneLoader(t, &stage{at: position * sceneBatch, misdo: fail}, workers, LoaderOptions{})
		got, err, thrown := playBy(by, context.Background(), l, nil)
		require.Nil(t, thrown)
		check(t, requireFailure(t, got, err, position, workers))
	}
}

var scenes = []scene{
	{"all is well", func(t *testing.T, by way, position, workers int) {
		l := newSceneLoader(t, &stage{at: -1}, workers, LoaderOptions{Prefetch: position + 1})
		got, err, thrown := playBy(by, context.Background(), l, nil)
		require.NoError(t, err)
		require.Nil(t, thrown)
		require.Equal(t, upTo(sceneBatches), got)
	}},
	{"error", failing(
		func(context.Context) error { return errBroken },
		func(t *testing.T, e *Error) { require.ErrorIs(t, e, errBroken) })},
	{"panic", failing(
		func(context.Context) error { var list []int; _ = list[upTo(2)[5]]; return nil },
		func(t *testing.T, e *Error) {
			var p *PanicError
			require.ErrorAs(t, e, &p)
			require.Contains(t, string(p.Stack), "scenes_test.go")
			var runtimeError runtime.Error
			require.ErrorAs(t, e, &runtimeError)
			require.ErrorContains(t, e, "panic: runtime error: index out of range [5] with length 0")
		})},
	{"tensor panic", failing(
		func(context.Context) error { torch.Zeros(2, 3).MatMul(torch.Zeros(2, 3)); return nil },
		func(t *testing.T, e *Error) {
			var math *torch.Error
			require.ErrorAs(t, e, &math)
			require.Contains(t, math.Msg, "cannot be multiplied")
		})},
	{"exit", failing(
		func(context.Context) error { runtime.Goexit(); return nil },
		func(t *testing.T, e *Error) { require.ErrorIs(t, e, errExit) })},
	{"slow at one place", func(t *testing.T, by way, position, workers int) {
		// The slow sample waits until the others have run ahead as far as they may.
		s := &stage{at: position * sceneBatch, misdo: func(context.Context) error { time.Sleep(2 * time.Millisecond); return nil }}
		got, err, _ := playBy(by, context.Background(), newSceneLoader(t, s, workers, LoaderOptions{}), nil)
		require.NoError(t, err)
		require.Equal(t, upTo(sceneBatches), got)
	}},
	{"hangs until cancelled", func(t *testing.T, by way, position, workers int) {
		ctx, cancel := context.WithCancelCause(context.Background())
		s := &stage{at: position * sceneBatch, misdo: func(ctx context.Context) error {
			cancel(errStopped)
			<-ctx.Done()
			return ctx.Err()
		}}
		got, err, _ := playBy(by, ctx, newSceneLoader(t, s, workers, LoaderOptions{}), nil)
		require.ErrorIs(t, err, errStopped)
		require.Subset(t, upTo(position), got)
		if workers == 0 {
			require.Equal(t, upTo(position), got)
		}
	}},
	{"hangs until the timeout", func(t *testing.T, by way, position, workers int) {
		if workers == 0 {
			t.Skip("without workers there is nobody to look at the clock")
		}
		hangs := make(chan time.Time)
		s := &stage{at: position * sceneBatch, misdo: func(ctx context.Context) error { close(hangs); <-ctx.Done(); return ctx.Err() }}
		l := newSceneLoader(t, s, workers, LoaderOptions{Timeout: 200 * time.Millisecond})
		l.after = timeoutAt(position, hangs)
		got, err, _ := playBy(by, context.Background(), l, nil)
		e := requireFailure(t, got, err, position, workers)
		require.ErrorContains(t, e, "not there after 200ms")
	}},
	{"cancelled by the body", func(t *testing.T, by way, position, workers int) {
		ctx, cancel := context.WithCancelCause(context.Background())
		got, err, _ := playBy(by, ctx, newSceneLoader(t, &stage{at: -1}, workers, LoaderOptions{}), func(number int) bool {
			if number == position {
				cancel(errStopped)
			}
			return true
		})
		require.Equal(t, upTo(position+1), got)
		if position+1 < sceneBatches {
			require.ErrorIs(t, err, errStopped)
		}
	}},
	{"break", func(t *testing.T, by way, position, workers int) {
		got, err, _ := playBy(by, context.Background(), newSceneLoader(t, &stage{at: -1}, workers, LoaderOptions{}), func(number int) bool {
			return number < position
		})
		require.NoError(t, err)
		require.Equal(t, upTo(position+1), got)
	}},
	{"panic in the body", func(t *testing.T, by way, position, workers int) {
		_, _, thrown := playBy(by, context.Background(), newSceneLoader(t, &stage{at: -1}, workers, LoaderOptions{}), func(number int) bool {
			if number == position {
				panic(errBroken)
			}
			return true
		})
		require.Equal(t, errBroken, thrown)
	}},
	{"exit in the body", func(t *testing.T, by way, position, workers int) {
		var got []int
		l, done := newSceneLoader(t, &stage{at: -1}, workers, LoaderOptions{}), make(chan struct{})
		go func() {
			defer close(done)
			by(context.Background(), l, func(batch Batch, err error) bool {
				got = append(got, torch.Values[int](batch.Target)...)
				if len(got) >= len(upTo(position+1)) {
					runtime.Goexit()
				}
				return true
			})
		}()
		<-done
		require.Equal(t, upTo(position+1), got)
	}},
	{"joining fails", func(t *testing.T, by way, position, workers int) {
		join := func(samples []Sample, indices []int, r *rand.Rand) (Batch, error) {
			if indices[0] == position*sceneBatch {
				return Batch{}, errBroken
			}
			return Stack(samples, indices, r)
		}
		l, err := NewLoader(Collate(&stage{at: -1}, join), LoaderOptions{BatchSize: sceneBatch, Workers: workers})
		require.NoError(t, err)
		got, err, _ := playBy(by, context.Background(), l, nil)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, errBroken)
		require.Equal(t, -1, e.Index)
		require.Equal(t, upTo(position), got)
	}},
}

func TestScenes(t *testing.T) {
	played := 0
	for _, scene := range scenes {
		for name, by := range ways {
			for _, at := range table(name == "loop") {
				workers, position := at[0], at[1]
				t.Run(fmt.Sprintf("%s/%s/%d workers/batch %d", scene.name, name, workers, position), func(t *testing.T) {
					torchtest.NoLeaks(t)
					goroutines := runtime.NumGoroutine()
					scene.play(t, by, position, workers)
					requireGoroutines(t, goroutines)
				})
				played++
			}
		}
	}
	require.GreaterOrEqual(t, played, 600)
}

// table lists numbers of workers with batches at which something happens.
func table(all bool) (list [][2]int) {
	for _, workers := range []int{0, 1, 2, 8} {
		for _, position := range []int{0, 1, 3, 6, 7} {
			if all || (workers == 0 || workers == 2) && position%3 == 0 {
				list = append(list, [2]int{workers, position})
			}
		}
	}
	return list
}

// timeoutAt is a clock on which the wait for one batch is over when the channel says so,
// and none other ever.
func timeoutAt(batch int, over <-chan time.Time) func(time.Duration) <-chan time.Time {
	waits := 0
	return func(time.Duration) <-chan time.Time {
		defer func() { waits++ }()
		if waits == batch {
			return over
		}
		return nil
	}
}

// requireGoroutines waits for goroutines that are just ending.
func requireGoroutines(t *testing.T, want int) {
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines where %d were before:\n%s", runtime.NumGoroutine(), want, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// A data set that does not heed its context is left behind, and frees its batch when it
// comes back.
func TestStuckWorkerIsLeftBehind(t *testing.T) {
	torchtest.NoLeaks(t)
	goroutines := runtime.NumGoroutine()
	for _, workers := range []int{1, 2, 8} {
		hangs, release := make(chan time.Time), make(chan struct{})
		s := &stage{at: 5, misdo: func(context.Context) error { close(hangs); <-release; return nil }}
		l := newSceneLoader(t, s, workers, LoaderOptions{Timeout: 50 * time.Millisecond})
		limit := timeoutAt(1, hangs)
		l.after = func(d time.Duration) <-chan time.Time {
			if d == l.grace {
				return hangs // no patience
			}
			return limit(d)
		}
		got, err, _ := play(context.Background(), l, nil)
		require.Equal(t, upTo(1), got)
		require.ErrorContains(t, err, "data: epoch 0, batch 1, sample 5 (worker ")
		require.ErrorContains(t, err, "): not there after 50ms")
		close(release)
		requireGoroutines(t, goroutines)
	}
}
