package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// counting is a stream of n numbers that does something before each.
func counting(n int, before func(ctx context.Context, i int) error) Stream[int] {
	return func(ctx context.Context, _ int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if before != nil {
					if err := before(ctx, i); err != nil {
						yield(0, err)
						return
					}
				}
				if !yield(i, nil) {
					return
				}
			}
		}
	}
}

func joinNumbers(samples, indices []int, _ *rand.Rand) (Batch, error) {
	return Batch{Target: torch.FromSlice(samples), Index: indices}, nil
}

func read(t *testing.T, ctx context.Context, l *Loader[Batch], epoch, first int, body func(number int) bool) (got []int, err error) {
	got = []int{}
	number := first
	for batch, e := range l.EpochFrom(ctx, epoch, first) {
		if e != nil {
			return got, e
		}
		require.Equal(t, batch.Index, torch.Values[int](batch.Target))
		got = append(got, batch.Index...)
		number++
		if body != nil && !body(number) {
			return got, nil
		}
	}
	return got, nil
}

func upToNumber(n int) []int { return Sequential(n).Indices(0) }

// Samples come once and in their order, whatever the number of workers, from every batch on.
func TestStreamsComeInOrder(t *testing.T) {
	torchtest.NoLeaks(t)
	goroutines := runtime.NumGoroutine()
	for _, workers := range []int{0, 1, 2, 8} {
		for _, n := range []int{0, 1, 4, 29} {
			for _, dropLast := range []bool{false, true} {
				l, err := NewStreamLoader(counting(n, nil), joinNumbers, LoaderOptions{BatchSize: 4, Workers: workers, DropLast: dropLast})
				require.NoError(t, err)
				require.Equal(t, -1, l.Len())
				want := n
				if dropLast {
					want = n / 4 * 4
				}
				for first := range 10 {
					got, err := read(t, context.Background(), l, 0, first, nil)
					require.NoError(t, err)
					require.Equal(t, upToNumber(want)[min(4*first, want):], got, "%d workers, %d samples from %d on", workers, n, first)
				}
			}
		}
	}
	requireGoroutines(t, goroutines)
}

// waysToFail are what a stream may do at a sample, and what the loop then gets.
var waysToFail = map[string]struct {
	fail  func(cancel context.CancelCauseFunc) func(ctx context.Context) error
	check func(t *testing.T, err error)
}{
	"error": {
		func(context.CancelCauseFunc) func(context.Context) error {
			return func(context.Context) error { return errBroken }
		},
		func(t *testing.T, err error) { require.ErrorIs(t, err, errBroken) },
	},
	"panic": {
		func(context.CancelCauseFunc) func(context.Context) error {
			return func(context.Context) error { panic("ouch") }
		},
		func(t *testing.T, err error) {
			var p *PanicError
			require.ErrorAs(t, err, &p)
			require.Equal(t, "ouch", p.Value)
		},
	},
	"exit": {
		func(context.CancelCauseFunc) func(context.Context) error {
			return func(context.Context) error { runtime.Goexit(); return nil }
		},
		func(t *testing.T, err error) { require.ErrorIs(t, err, errExit) },
	},
	"cancel": {
		func(cancel context.CancelCauseFunc) func(context.Context) error {
			return func(ctx context.Context) error { cancel(errStopped); <-ctx.Done(); return ctx.Err() }
		},
		func(t *testing.T, err error) { require.ErrorIs(t, err, errStopped) },
	},
}

// At every place something goes wrong: all batches before it arrive, then one error, and nobody is left.
func TestStreamsThatFail(t *testing.T) {
	torchtest.NoLeaks(t)
	goroutines := runtime.NumGoroutine()
	for name, w := range waysToFail {
		for _, workers := range []int{0, 1, 2, 8} {
			for position := range 10 {
				ctx, cancel := context.WithCancelCause(context.Background())
				misdo := w.fail(cancel)
				stream := counting(10, func(ctx context.Context, i int) error {
					if i == position {
						return misdo(ctx)
					}
					return nil
				})
				l, err := NewStreamLoader(stream, joinNumbers, LoaderOptions{BatchSize: 3, Workers: workers})
				require.NoError(t, err)
				got, err := read(t, ctx, l, 0, 0, nil)
				w.check(t, err)
				if name == "cancel" {
					require.Subset(t, upToNumber(position/3*3), got)
				} else {
					require.Equal(t, upToNumber(position/3*3), got, "%s at %d, %d workers", name, position, workers)
					require.ErrorContains(t, err, fmt.Sprintf("data: epoch 0, batch %d", position/3))
				}
				cancel(nil)
			}
		}
	}
	requireGoroutines(t, goroutines)
}

// A loop may end anywhere, by break or panic, and a join may fail.
func TestStreamsThatAreLeft(t *testing.T) {
	torchtest.NoLeaks(t)
	goroutines := runtime.NumGoroutine()
	tensors := Stream[Sample](func(ctx context.Context, _ int) iter.Seq2[Sample, error] {
		return func(yield func(Sample, error) bool) {
			for i := range 20 {
				if !yield(Sample{Input: torch.FromValue(i)}, nil) {
					return
				}
			}
		}
	})
	for _, workers := range []int{0, 1, 4} {
		for stop := range 8 {
			for _, shuffled := range []bool{false, true} {
				stream := tensors
				if shuffled {
					stream = tensors.Shuffle(6, 1).Shard(1, 2)
				}
				l, err := NewStreamLoader(stream, Stack, LoaderOptions{BatchSize: 3, Workers: workers})
				require.NoError(t, err)
				err = torch.Try(func() {
					number := 0
					for batch, err := range l.Epoch(context.Background(), 0) {
						require.NoError(t, err)
						require.Equal(t, batch.Len(), batch.Input.Size(0))
						if number++; number == stop {
							break
						}
						if number == stop+1 {
							torch.Throw("stop", torch.KindValue, "here")
						}
					}
				})
				require.Equal(t, stop == 0, err != nil)
			}
		}
		failing := func(s []Sample, indices []int, r *rand.Rand) (Batch, error) {
			if indices[0] == 6 {
				return Batch{}, errBroken
			}
			return Stack(s, indices, r)
		}
		l, err := NewStreamLoader(tensors, failing, LoaderOptions{BatchSize: 3, Workers: workers})
		require.NoError(t, err)
		batches := 0
		for _, err = range l.Epoch(context.Background(), 0) {
			batches++
		}
		require.ErrorIs(t, err, errBroken)
		require.Equal(t, 3, batches)
	}
	requireGoroutines(t, goroutines)
}

func TestStreamsShuffledAndShared(t *testing.T) {
	order := func(s Stream[int], epoch int) (list []int) {
		for i, err := range s(context.Background(), epoch) {
			require.NoError(t, err)
			list = append(list, i)
		}
		return list
	}
	all := upToNumber(100)
	shuffled := counting(100, nil).Shuffle(10, 5)
	require.Equal(t, order(shuffled, 1), order(shuffled, 1))
	require.NotEqual(t, order(shuffled, 1), order(shuffled, 2))
	require.NotEqual(t, all, order(shuffled, 1))
	require.Equal(t, all, slices.Sorted(slices.Values(order(shuffled, 1))))
	require.Equal(t, all, order(counting(100, nil).Shuffle(1, 5), 0))
	require.Len(t, order(counting(3, nil).Shuffle(10, 5), 0), 3)

	require.Equal(t, []int{1, 4}, order(counting(7, nil).Shard(1, 3), 0))
	require.Equal(t, []int{0, 3, 6}, order(counting(7, nil).Shard(0, 3), 0))
	broken := counting(7, func(_ context.Context, i int) error {
		if i == 5 {
			return errBroken
		}
		return nil
	})
	for _, s := range []Stream[int]{broken.Shuffle(2, 1), broken.Shard(0, 2)} {
		var last error
		for _, err := range s(context.Background(), 0) {
			last = err
		}
		require.ErrorIs(t, last, errBroken)
	}
}

// A stream that does not come back is left behind after the timeout.
func TestSlowStreams(t *testing.T) {
	torchtest.NoLeaks(t)
	goroutines := runtime.NumGoroutine()
	for _, workers := range []int{1, 2} {
		release := make(chan struct{})
		stream := counting(9, func(_ context.Context, i int) error {
			if i == 4 {
				<-release
			}
			return nil
		})
		l, err := NewStreamLoader(stream, joinNumbers, LoaderOptions{BatchSize: 2, Workers: workers, Timeout: 20 * time.Millisecond})
		require.NoError(t, err)
		l.grace = time.Millisecond
		got, err := read(t, context.Background(), l, 0, 0, nil)
		require.Equal(t, upToNumber(4), got)
		require.EqualError(t, err, "data: epoch 0, batch 2: not there after 20ms")
		close(release)
		requireGoroutines(t, goroutines)
	}
}

// No more is read ahead than workers may make, and one batch in the reader's hands, and one in the feeder's.
func TestStreamsAreReadAsNeeded(t *testing.T) {
	var reading atomic.Int64
	stream := counting(1000, func(_ context.Context, i int) error { reading.Store(int64(i)); return nil })
	l, err := NewStreamLoader(stream, joinNumbers, LoaderOptions{BatchSize: 2, Workers: 2, Prefetch: 3})
	require.NoError(t, err)
	_, err = read(t, context.Background(), l, 0, 0, func(number int) bool {
		time.Sleep(5 * time.Millisecond)
		require.LessOrEqual(t, int(reading.Load()), 2*(number+2*3+3))
		return number < 20
	})
	require.NoError(t, err)
}

func TestStreamLoadersRefuse(t *testing.T) {
	type hidden struct{ x torch.Tensor }
	ok := counting(1, nil)
	for want, make := range map[string]func() error{
		"needs a stream and a function":  func() error { _, err := NewStreamLoader[int](nil, joinNumbers); return err },
		"got nil":                        func() error { _, err := NewStreamLoader[int, Batch](ok, nil); return err },
		"Stream.Shuffle is":              func() error { _, err := NewStreamLoader(ok, joinNumbers, LoaderOptions{Shuffle: true}); return err },
		"BatchSize is -1":                func() error { _, err := NewStreamLoader(ok, joinNumbers, LoaderOptions{BatchSize: -1}); return err },
		"in field data.hidden.x, which":  func() error { _, err := NewStreamLoader(Stream[hidden](nil2[hidden]), nothing[hidden]); return err },
		"size of the buffer is 0":        func() error { return torch.Try(func() { ok.Shuffle(0, 1) }) },
		"the rank is 3, expected 0 to 2": func() error { return torch.Try(func() { ok.Shard(3, 3) }) },
		"the first batch is -1":          func() error { return first(t, ok, -1) },
	} {
		require.ErrorContains(t, make(), want)
	}
	require.ErrorContains(t, errors.Unwrap(first(t, Stream[int](func(context.Context, int) iter.Seq2[int, error] { return nil }), 0)), "panic")
}

func nil2[S any](context.Context, int) iter.Seq2[S, error]           { return func(func(S, error) bool) {} }
func nothing[S any]([]S, []int, *rand.Rand) (batch Batch, err error) { return batch, nil }

func first(t *testing.T, s Stream[int], from int) (err error) {
	l, err := NewStreamLoader(s, joinNumbers)
	require.NoError(t, err)
	for _, err = range l.EpochFrom(context.Background(), 0, from) {
	}
	return err
}
