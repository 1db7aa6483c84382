package data

import (
	"context"
	"errors"
	"fmt"
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

// play runs an epoch and returns the indices that arrived, what the last item's error was
// and what body panicked with.
func play(ctx context.Context, l *Loader[Batch], body func(number int) (goOn bool)) (got []int, err error, thrown any) {
	got = []int{}
	defer func() { thrown = recover() }()
	number := 0
	for batch, e := range l.Epoch(ctx, 0) {
		if e != nil {
			err = e
			continue // nothing may come after an error
		}
		if batch.Target.Sum().Int()*2 != int(batch.Input.Select(1, 0).Sum().Float64()) {
			panic("a batch with wrong content")
		}
		got = append(got, torch.Values[int](batch.Target)...)
		if body != nil && !body(number) {
			break
		}
		number++
	}
	return got, err, nil
}

// upTo lists the samples of the batches before one.
func upTo(batch int) []int { return Sequential(min(batch*sceneBatch, sceneSamples)).Indices(0) }

type scene struct {
	name string
	// play sets the stage and checks what arrived; position is the batch at which it happens.
	play func(t *testing.T, position, workers int)
}

func newSceneLoader(t *testing.T, s *stage, workers int, o LoaderOptions) *Loader[Batch] {
	o.BatchSize, o.Workers = sceneBatch, workers
	l, err := NewLoader(Collate(s, Stack), &o)
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

func failing(fail func(ctx context.Context) error, check func(t *testing.T, e *Error)) func(*testing.T, int, int) {
	return func(t *testing.T, position, workers int) {
		l := newSceneLoader(t, &stage{at: position * sceneBatch, misdo: fail}, workers, LoaderOptions{})
		got, err, thrown := play(context.Background(), l, nil)
		require.Nil(t, thrown)
		check(t, requireFailure(t, got, err, position, workers))
	}
}

var scenes = []scene{
	{"all is well", func(t *testing.T, position, workers int) {
		l := newSceneLoader(t, &stage{at: -1}, workers, LoaderOptions{Prefetch: position + 1})
		got, err, thrown := play(context.Background(), l, nil)
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
	{"slow at one place", func(t *testing.T, position, workers int) {
		// The slow sample waits until the others have run ahead as far as they may.
		s := &stage{at: position * sceneBatch, misdo: func(context.Context) error { time.Sleep(2 * time.Millisecond); return nil }}
		got, err, _ := play(context.Background(), newSceneLoader(t, s, workers, LoaderOptions{}), nil)
		require.NoError(t, err)
		require.Equal(t, upTo(sceneBatches), got)
	}},
	{"hangs until cancelled", func(t *testing.T, position, workers int) {
		ctx, cancel := context.WithCancelCause(context.Background())
		s := &stage{at: position * sceneBatch, misdo: func(ctx context.Context) error {
			cancel(errStopped)
			<-ctx.Done()
			return ctx.Err()
		}}
		got, err, _ := play(ctx, newSceneLoader(t, s, workers, LoaderOptions{}), nil)
		require.ErrorIs(t, err, errStopped)
		require.Subset(t, upTo(position), got)
		if workers == 0 {
			require.Equal(t, upTo(position), got)
		}
	}},
	{"hangs until the timeout", func(t *testing.T, position, workers int) {
		if workers == 0 {
			t.Skip("without workers there is nobody to look at the clock")
		}
		hangs := make(chan time.Time)
		s := &stage{at: position * sceneBatch, misdo: func(ctx context.Context) error { close(hangs); <-ctx.Done(); return ctx.Err() }}
		l := newSceneLoader(t, s, workers, LoaderOptions{Timeout: 200 * time.Millisecond})
		l.after = timeoutAt(position, hangs)
		got, err, _ := play(context.Background(), l, nil)
		e := requireFailure(t, got, err, position, workers)
		require.ErrorContains(t, e, "not there after 200ms")
	}},
	{"cancelled by the body", func(t *testing.T, position, workers int) {
		ctx, cancel := context.WithCancelCause(context.Background())
		got, err, _ := play(ctx, newSceneLoader(t, &stage{at: -1}, workers, LoaderOptions{}), func(number int) bool {
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
	{"break", func(t *testing.T, position, workers int) {
		got, err, _ := play(context.Background(), newSceneLoader(t, &stage{at: -1}, workers, LoaderOptions{}), func(number int) bool {
			return number < position
		})
		require.NoError(t, err)
		require.Equal(t, upTo(position+1), got)
	}},
	{"panic in the body", func(t *testing.T, position, workers int) {
		_, _, thrown := play(context.Background(), newSceneLoader(t, &stage{at: -1}, workers, LoaderOptions{}), func(number int) bool {
			if number == position {
				panic(errBroken)
			}
			return true
		})
		require.Equal(t, errBroken, thrown)
	}},
	{"joining fails", func(t *testing.T, position, workers int) {
		join := func(samples []Sample, indices []int, r *rand.Rand) (Batch, error) {
			if indices[0] == position*sceneBatch {
				return Batch{}, errBroken
			}
			return Stack(samples, indices, r)
		}
		l, err := NewLoader(Collate(&stage{at: -1}, join), &LoaderOptions{BatchSize: sceneBatch, Workers: workers})
		require.NoError(t, err)
		got, err, _ := play(context.Background(), l, nil)
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
		for _, workers := range []int{0, 1, 2, 8} {
			for _, position := range []int{0, 1, 3, 6, 7} {
				name := fmt.Sprintf("%s/%d workers/batch %d", scene.name, workers, position)
				t.Run(name, func(t *testing.T) {
					torchtest.NoLeaks(t)
					goroutines := runtime.NumGoroutine()
					scene.play(t, position, workers)
					requireGoroutines(t, goroutines)
				})
				played++
			}
		}
	}
	require.GreaterOrEqual(t, played, 200)
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

// A data set that calls t.FailNow, or anything else that ends the goroutine.
func TestWorkerThatExits(t *testing.T) {
	torchtest.NoLeaks(t)
	goroutines := runtime.NumGoroutine()
	for _, workers := range []int{1, 2, 8} {
		s := &stage{at: 9, misdo: func(context.Context) error { runtime.Goexit(); return nil }}
		got, err, _ := play(context.Background(), newSceneLoader(t, s, workers, LoaderOptions{}), nil)
		require.ErrorIs(t, err, errExit)
		requireFailureIndex(t, err, 9)
		require.Equal(t, upTo(2), got)
		requireGoroutines(t, goroutines)
	}
}

func requireFailureIndex(t *testing.T, err error, index int) {
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, index, e.Index)
}
