package data_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

type nested struct {
	Named map[string]torch.Tensor
	List  []torch.Tensor
	Pair  [2]*torch.Tensor
	Any   any
	Kind  string
}

func nestedSample(i int) nested {
	one := func(v int) torch.Tensor { return torch.FromValue(10*v + i) }
	return nested{
		Named: map[string]torch.Tensor{"a": one(1), "b": one(2)}, List: []torch.Tensor{one(3), one(4)},
		Pair: [2]*torch.Tensor{new(one(5)), nil}, Any: []torch.Tensor{one(6)}, Kind: "k",
	}
}

func TestStackNested(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		samples := []nested{nestedSample(0), nestedSample(1), nestedSample(2)}
		got, err := data.StackNested(samples, nil, nil)
		require.NoError(t, err)
		for tens, x := range map[int]torch.Tensor{
			1: got.Named["a"], 2: got.Named["b"], 3: got.List[0], 4: got.List[1], 5: *got.Pair[0], 6: got.Any.([]torch.Tensor)[0],
		} {
			require.Equal(t, []int{10 * tens, 10*tens + 1, 10*tens + 2}, torch.Values[int](x))
		}
		require.Nil(t, got.Pair[1])
		require.Equal(t, "k", got.Kind)
		require.Equal(t, 31, samples[1].List[0].Int(), "the samples stay as they are")

		for want, change := range map[string]func(s *nested){
			`sample.Kind is no tensor and differs: it is k in the first sample, other in number 1`: func(s *nested) { s.Kind = "other" },
			"sample.List has 2 elements in the first sample, 1 in number 1":                        func(s *nested) { s.List = s.List[:1] },
			"sample.Named has 2 keys in the first sample, 1 in number 1":                           func(s *nested) { delete(s.Named, "a") },
			"sample.Named[a] is in the first sample and not in number 1": func(s *nested) {
				s.Named["c"] = s.Named["a"]
				delete(s.Named, "a")
			},
			"sample.Pair[0] is in the first sample and not in number 1":     func(s *nested) { s.Pair[0] = nil },
			"sample.Pair[1] is nil in the first sample and not in number 1": func(s *nested) { s.Pair[1] = s.Pair[0] },
			"sample.Any is in the first sample and not in number 1":         func(s *nested) { s.Any = 3 },
		} {
			second := nestedSample(1)
			change(&second)
			_, err := data.StackNested([]nested{nestedSample(0), second}, nil, nil)
			require.EqualError(t, err, "data: "+want)
		}
	})
}

func TestPad(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		words := func(v ...int) torch.Tensor { return torch.FromSlice(v) }
		samples := []data.Sample{{words(1, 2, 3), words(7)}, {words(4), words(8, 9)}, {words(), words()}}
		got, err := data.Pad(data.PadOptions{TargetValue: -100})(samples, []int{5, 6, 7}, nil)
		require.NoError(t, err)
		require.Equal(t, 3, got.Len())
		for want, x := range map[string]torch.Tensor{
			"[1 2 3 4 0 0 0 0 0]": got.Input, "[3 1 0]": got.InputLengths, "[7 -100 8 9 -100 -100]": got.Target, "[1 2 0]": got.TargetLengths,
		} {
			require.Equal(t, want, fmt.Sprint(torch.Values[int](x)))
		}
		classes := []data.Sample{{torch.Ones(2, 3), torch.FromValue(1)}, {torch.Ones(1, 3), torch.FromValue(0)}}
		got, err = data.Pad(data.PadOptions{Value: 0.5})(classes, []int{0, 1}, nil)
		require.NoError(t, err)
		require.Equal(t, []int{2, 2, 3}, got.Input.Shape())
		require.Equal(t, 0.5, got.Input.Index(1, 1, 2).Float64())
		require.Equal(t, []int{1, 0}, torch.Values[int](got.Target))
		require.False(t, got.TargetLengths.Defined())
		got, err = data.Pad()([]data.Sample{{Input: words(1)}}, []int{0}, nil)
		require.NoError(t, err)
		require.False(t, got.Target.Defined())
	})
}

// A run that is stopped after any batch goes on with the same bits, also in another process.
func TestResume(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		set := data.NewTensorDataset(torch.Arange(10), torch.Tensor{})
		load := func(o data.LoaderOptions) *data.Loader[data.Batch] {
			l, err := data.NewLoader[data.Batch](set, o)
			require.NoError(t, err)
			return l
		}
		options := data.LoaderOptions{BatchSize: 3, Shuffle: true, Seed: 4, Workers: 2}
		l, ctx := load(options), context.Background()
		run := func(l *data.Loader[data.Batch], s data.State, to int) (seen [][]int, at data.State) {
			for at = s; at.Epoch < to; {
				rest, err := l.Resume(ctx, at)
				require.NoError(t, err)
				epoch, batch := at.Epoch, at.Batch
				for b, err := range rest {
					require.NoError(t, err)
					seen = append(seen, torch.Values[int](b.Input))
					batch++
					at = l.StateAt(epoch, batch)
					if len(seen) == 1 && to < 3 {
						return seen, at
					}
				}
			}
			return seen, at
		}
		want, _ := run(l, l.StateAt(0, 0), 3)
		require.Len(t, want, 12)
		at, got := l.StateAt(0, 0), [][]int{}
		for range 8 {
			var seen [][]int
			seen, at = run(load(options), at, 2)
			got = append(got, seen...)
			text, err := json.Marshal(at)
			require.NoError(t, err)
			at = data.State{}
			require.NoError(t, json.Unmarshal(text, &at))
		}
		require.Equal(t, want[:8], got)
		require.Equal(t, data.State{Epoch: 2, BatchSize: 3, Seed: 4, Batches: 4}, at)

		for wrong, o := range map[string]data.LoaderOptions{
			"batches of 3, this one has 2":     {BatchSize: 2, Seed: 4},
			"the seed 4, this one has 5":       {BatchSize: 3, Seed: 5},
			"an epoch of 4, this one has 3":    {BatchSize: 3, Seed: 4, DropLast: true},
			"a loader with batches of 3, this": {BatchSampler: data.Batched(data.Sequential(10), 3, false), Seed: 4},
		} {
			_, err := load(o).Resume(ctx, at)
			require.ErrorContains(t, err, wrong)
		}
	})
}

func TestStats(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		set := data.NewTensorDataset(torch.RandN(10, 4), torch.Arange(10))
		for _, workers := range []int{0, 2} {
			l, err := data.NewLoader[data.Batch](set, data.LoaderOptions{BatchSize: 3, Workers: workers, Device: torch.Meta})
			require.NoError(t, err)
			require.Equal(t, "data: waited 0.0 % of the time (0.0 ms a batch), ", l.Stats().String()[:49])
			var before data.LoaderStats
			for epoch := range 2 {
				before = l.Stats()
				for batch, err := range l.Epoch(context.Background(), epoch) {
					require.NoError(t, err)
					require.Equal(t, torch.Meta, batch.Input.Device())
				}
			}
			s := l.Stats()
			require.Equal(t, 8, s.Batches)
			require.EqualValues(t, 2*10*(4*4+8), s.Bytes)
			require.Equal(t, workers, s.Workers)
			require.Greater(t, s.Wait, before.Wait)
			require.Greater(t, s.Busy, before.Busy)
			require.GreaterOrEqual(t, s.Elapsed, s.Wait)
			require.Equal(t, 4, s.Since(before).Batches)
			require.True(t, 0 < s.Waiting() && s.Waiting() <= 1, s)
			require.Positive(t, s.Working())
		}
	})
	_, err := data.NewLoader[data.Batch](data.Collate(numbers(1), func([]int, []int, *rand.Rand) (b data.Batch, _ error) { return b, nil }),
		data.LoaderOptions{Device: torch.CUDA(99)})
	require.ErrorContains(t, err, "data: a loader's Device: ")
}
