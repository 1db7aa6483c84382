package data_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// noisy is a source of n numbers to which every batch adds random ones.
func noisy(n int) data.Source[data.Batch] {
	return data.Map(data.NewTensorDataset(torch.Arange(n), torch.Arange(n)), func(b data.Batch, r *rand.Rand) data.Batch {
		noise := make([]float64, b.Len())
		for i := range noise {
			noise[i] = r.Float64()
		}
		b.Input = b.Input.Add(torch.FromSlice(noise))
		return b
	})
}

func epoch(t *testing.T, batches func(yield func(data.Batch, error) bool)) (inputs []float64, indices [][]int) {
	for batch, err := range batches {
		require.NoError(t, err)
		require.Equal(t, batch.Index, torch.Values[int](batch.Target))
		inputs = append(inputs, torch.Values[float64](batch.Input)...)
		indices = append(indices, batch.Index)
	}
	return inputs, indices
}

func TestSameBatchesAtAllWorkerCounts(t *testing.T) {
	torchtest.NoLeaks(t)
	ctx := context.Background()
	var want []float64
	for _, workers := range []int{0, 1, 2, 8} {
		loader, err := data.NewLoader(noisy(100), data.LoaderOptions{BatchSize: 7, Shuffle: true, Seed: 3, Workers: workers})
		require.NoError(t, err)
		require.Equal(t, 15, loader.Len())
		got, indices := epoch(t, loader.Epoch(ctx, 0))
		require.Equal(t, data.Random(100, 3).Indices(0), slices.Concat(indices...))
		if want == nil {
			want = got
		}
		require.Equal(t, want, got, "%d workers", workers)

		again, _ := epoch(t, loader.Epoch(ctx, 0))
		require.Equal(t, want, again, "an epoch can be repeated")
		other, _ := epoch(t, loader.Epoch(ctx, 1))
		require.NotEqual(t, want, other)
		for _, first := range []int{0, 1, 14, 15} {
			rest, _ := epoch(t, loader.EpochFrom(ctx, 0, first))
			require.Equal(t, want[min(7*first, 100):], append([]float64{}, rest...))
		}
	}
	seeded, err := data.NewLoader(noisy(100), data.LoaderOptions{BatchSize: 7, Shuffle: true, Seed: 4})
	require.NoError(t, err)
	other, _ := epoch(t, seeded.Epoch(ctx, 0))
	require.NotEqual(t, want, other)
}

func TestLoaderOptions(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, scene := range []struct {
		name    string
		options data.LoaderOptions
		want    string
	}{
		{"defaults", data.LoaderOptions{}, "[[0] [1] [2] [3] [4]]"},
		{"batches", data.LoaderOptions{BatchSize: 2}, "[[0 1] [2 3] [4]]"},
		{"only full ones", data.LoaderOptions{BatchSize: 2, DropLast: true}, "[[0 1] [2 3]]"},
		{"sampler", data.LoaderOptions{BatchSize: 2, Sampler: data.Shard(data.Sequential(5), 1, 2)}, "[[1 3] [0]]"},
		{"batch sampler", data.LoaderOptions{BatchSampler: data.Batched(data.Sequential(3), 3, false)}, "[[0 1 2]]"},
		{"more workers than batches", data.LoaderOptions{BatchSize: 4, Workers: 8, Prefetch: 5}, "[[0 1 2 3] [4]]"},
		{"pinned", data.LoaderOptions{BatchSize: 5, PinMemory: true}, "[[0 1 2 3 4]]"},
		{"one batch of all", data.LoaderOptions{BatchSize: math.MaxInt}, "[[0 1 2 3 4]]"},
		{"all but one of all", data.LoaderOptions{BatchSize: math.MaxInt, DropLast: true, Workers: 1}, "[]"},
		{"many shards", data.LoaderOptions{Sampler: data.Shard(data.Sequential(5), math.MaxInt-1, math.MaxInt)}, "[[1]]"},
		{"far ahead", data.LoaderOptions{BatchSize: 3, Workers: 1024, Prefetch: 4096}, "[[0 1 2] [3 4]]"},
		{"nothing", data.LoaderOptions{Sampler: data.Sequential(0), Workers: 2}, "[]"},
	} {
		t.Run(scene.name, func(t *testing.T) {
			loader, err := data.NewLoader(noisy(5), scene.options)
			require.NoError(t, err)
			_, indices := epoch(t, loader.Epoch(context.Background(), 0))
			require.Equal(t, scene.want, fmt.Sprint(indices))
			require.Equal(t, len(indices), loader.Len())
		})
	}
}

func TestPinnedMemory(t *testing.T) {
	torchtest.NoLeaks(t)
	loader, err := data.NewLoader(noisy(8), data.LoaderOptions{BatchSize: 4, PinMemory: true, Workers: 2})
	require.NoError(t, err)
	card := torch.CheckDevice(torch.CUDA(0)) == nil
	for batch, err := range loader.Epoch(context.Background(), 0) {
		require.NoError(t, err)
		require.Equal(t, card, batch.Input.IsPinned())
		require.Equal(t, card, batch.Target.IsPinned())
	}
}

func TestNewLoaderRefuses(t *testing.T) {
	type secret struct{ input torch.Tensor }
	_, err := data.NewLoader(data.Map(noisy(2), func(b data.Batch, _ *rand.Rand) secret { return secret{input: b.Input} }))
	require.ErrorContains(t, err, "data: a loader cannot free the tensors in field data_test.secret.input, which is not exported")
	sampler := data.Sequential(2)
	for want, options := range map[string]data.LoaderOptions{
		"a loader's BatchSize is -1, expected at least 0":              {BatchSize: -1},
		"a loader's Workers is -1, expected 0 to 1024":                 {Workers: -1},
		"a loader's Workers is 1099511627776, expected 0 to 1024":      {Workers: 1 << 40},
		"a loader's Prefetch is -1, expected 0 to 4096":                {Prefetch: -1},
		"a loader's Prefetch is 1099511627776, expected 0 to 4096":     {Prefetch: 1 << 40, Workers: 1},
		"Prefetch is 9223372036854775807, expected 0 to 4096":          {Prefetch: math.MaxInt},
		"a loader's Timeout is -1ns, expected at least 0s":             {Timeout: -1},
		"cannot be made: the length of the sampler is -3, expected at": {BatchSampler: odd(-3)},
		"cannot be made: panic: no length today":                       {Sampler: odd(0)},
		"either Shuffle or a Sampler":                                  {Shuffle: true, Sampler: sampler},
		"with a BatchSampler takes no BatchSize":                       {BatchSampler: data.Batched(sampler, 1, false), BatchSize: 2},
		"takes no BatchSize, Shuffle, DropLast or ":                    {BatchSampler: data.Batched(sampler, 1, false), DropLast: true},
	} {
		_, err := data.NewLoader(noisy(2), options)
		require.ErrorContains(t, err, want)
	}
}

func TestEpochRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	last := func(options data.LoaderOptions, first int) (err error) {
		loader, newErr := data.NewLoader(noisy(5), options)
		require.NoError(t, newErr)
		for _, err = range loader.EpochFrom(context.Background(), 2, first) {
			continue
		}
		return err
	}
	require.ErrorContains(t, last(data.LoaderOptions{BatchSize: 2}, 4), "data: epoch 2 has no batch 4, only 3 of them")
	require.ErrorContains(t, last(data.LoaderOptions{BatchSize: 2}, -1), "epoch 2 has no batch -1")
	require.EqualError(t, last(data.LoaderOptions{Sampler: data.Sequential(6)}, 0),
		"data: epoch 2, batch 5: the sampler asks for sample 5 of 5")
	require.ErrorContains(t, last(data.LoaderOptions{Sampler: crooked{}}, 0), "panic: no order today")
}

type crooked struct{}

func (crooked) Len() int          { return 3 }
func (crooked) Indices(int) []int { panic("no order today") }

// odd has a length that no data set has; instead of 0 it panics.
type odd int

func (o odd) Len() int {
	if o == 0 {
		panic("no length today")
	}
	return int(o)
}
func (odd) Indices(int) []int   { return []int{0} }
func (odd) Batches(int) [][]int { return [][]int{{0}} }
func (odd) Batch(_ context.Context, indices []int, _ *rand.Rand) (data.Batch, error) {
	return data.Batch{Input: torch.FromSlice(indices), Index: indices}, nil
}

func TestOddLengths(t *testing.T) {
	torchtest.NoLeaks(t)
	_, err := data.NewLoader[data.Batch](odd(-1))
	require.EqualError(t, err, "data: a loader cannot be made: the length of the source is -1, expected at least 0")
	_, err = data.NewLoader[data.Batch](odd(0))
	require.EqualError(t, err, "data: a loader cannot be made: panic: no length today")
	_, err = data.NewLoader[data.Batch](nil)
	require.EqualError(t, err, "data: a loader needs a source, got nil")

	const huge = odd(1 << 60)
	for _, workers := range []int{0, 2} {
		loader, err := data.NewLoader[data.Batch](huge,
			data.LoaderOptions{BatchSize: 3, Workers: workers, Sampler: data.Shard(data.Sequential(int(huge)), 1, 2)})
		require.NoError(t, err)
		require.Equal(t, (1<<59+2)/3, loader.Len())
		for batch, err := range loader.Epoch(context.Background(), 0) {
			require.NoError(t, err)
			require.Equal(t, []int{1, 3, 5}, batch.Index)
			break
		}
		for _, o := range []data.LoaderOptions{
			{Shuffle: true},
			{BatchSize: math.MaxInt},
			{Sampler: data.Random(int(huge), 1)},
			{BatchSampler: everything{}},
		} {
			o.Workers = workers
			loader, err = data.NewLoader[data.Batch](huge, o)
			require.NoError(t, err)
			for _, err = range loader.Epoch(context.Background(), 0) {
				require.Error(t, err)
			}
			var e *torch.Error
			require.ErrorAs(t, err, &e)
		}
	}
}

// everything writes out an order that has no room in memory.
type everything struct{}

func (everything) Len() int            { return 1 }
func (everything) Batches(int) [][]int { return [][]int{data.Sequential(1 << 60).Indices(0)} }

// A loader beside another, in the body of a loop, which is a scope.
func TestTwoLoadersInStep(t *testing.T) {
	torchtest.NoLeaks(t)
	a, err := data.NewLoader(noisy(6), data.LoaderOptions{BatchSize: 2})
	require.NoError(t, err)
	b, err := data.NewLoader(noisy(6), data.LoaderOptions{BatchSize: 2, Workers: 1})
	require.NoError(t, err)
	next, stop := b.Pull(context.Background(), 0)
	var other data.Batch
	for batch, err := range a.Epoch(context.Background(), 0) {
		require.NoError(t, err)
		var ok bool
		other, err, ok = next()
		require.NoError(t, err)
		require.True(t, ok)
		torchtest.Equal(t, other.Input, batch.Input)
	}
	require.False(t, other.Input.Closed(), "until the next one is asked for")
	_, _, ok := next()
	require.False(t, ok)
	require.True(t, other.Input.Closed())
	stop()
	stop()

	_, stop = b.Pull(context.Background(), 0)
	stop()
	next, stop = b.Pull(context.Background(), 0)
	stop()
	_, err, ok = next()
	require.NoError(t, err)
	require.False(t, ok, "it was stopped before it began")
}
func TestContextThatHasEnded(t *testing.T) {
	torchtest.NoLeaks(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("not today")
	cancel(cause)
	for _, workers := range []int{0, 2} {
		loader, err := data.NewLoader(noisy(5), data.LoaderOptions{Workers: workers})
		require.NoError(t, err)
		items := 0
		for _, err := range loader.Epoch(ctx, 0) {
			require.Equal(t, cause, err)
			items++
		}
		require.Equal(t, 1, items)
	}
}

// The body is a scope; what is kept leaves it.
func TestBodyIsAScope(t *testing.T) {
	torchtest.NoLeaks(t)
	for _, workers := range []int{0, 2} {
		loader, err := data.NewLoader(noisy(6), data.LoaderOptions{BatchSize: 2, Workers: workers})
		require.NoError(t, err)
		var batches, sums, kept []torch.Tensor
		for batch, err := range loader.Epoch(context.Background(), 0) {
			require.NoError(t, err)
			sum := batch.Target.Sum()
			batches, sums, kept = append(batches, batch.Input, batch.Target), append(sums, sum), append(kept, sum.Keep())
		}
		for _, t1 := range append(batches, sums...) {
			require.True(t, t1.Closed())
		}
		require.Equal(t, []int{1, 5, 9}, []int{kept[0].Int(), kept[1].Int(), kept[2].Int()})
		torch.Close(kept...)
	}
}

// Never more batches are made ahead than Workers*Prefetch.
func TestPrefetchIsBounded(t *testing.T) {
	torchtest.NoLeaks(t)
	var made atomic.Int64
	source := data.Map(noisy(64), func(b data.Batch, _ *rand.Rand) data.Batch { made.Add(1); return b })
	for _, ahead := range []struct{ workers, prefetch int }{{0, 3}, {1, 1}, {2, 3}, {4, 1}} {
		loader, err := data.NewLoader(source, data.LoaderOptions{Workers: ahead.workers, Prefetch: ahead.prefetch})
		require.NoError(t, err)
		made.Store(0)
		taken := 0
		for _, err := range loader.Epoch(context.Background(), 0) {
			require.NoError(t, err)
			taken++
			require.LessOrEqual(t, int(made.Load()), taken+ahead.workers*ahead.prefetch)
		}
		require.Equal(t, int64(64), made.Load())
	}
}

func TestSeveralEpochsAtOnce(t *testing.T) {
	torchtest.NoLeaks(t)
	loader, err := data.NewLoader(noisy(40), data.LoaderOptions{BatchSize: 4, Shuffle: true, Workers: 2})
	require.NoError(t, err)
	want, _ := epoch(t, loader.Epoch(context.Background(), 0))
	var all sync.WaitGroup
	got := make([][]float64, 8)
	for k := range got {
		all.Go(func() {
			for batch, err := range loader.Epoch(context.Background(), 0) {
				if err != nil {
					t.Error(err)
					return
				}
				got[k] = append(got[k], torch.Values[float64](batch.Input)...)
			}
		})
	}
	all.Wait()
	for k := range got {
		require.Equal(t, want, got[k])
	}
}
