package data_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// The orders are those of PyTorch 2.11: torch.randperm with a seeded generator, and
// DistributedSampler(range(10), world, rank, seed=7) in epoch 3.
func TestSamplersVisitInPyTorchsOrder(t *testing.T) {
	torchtest.NoLeaks(t)
	random := data.Random(10, 7)
	for _, scene := range []struct {
		name    string
		sampler data.Sampler
		epoch   int
		want    []int
	}{
		{"sequential", data.Sequential(4), 5, []int{0, 1, 2, 3}},
		{"nothing", data.Sequential(0), 0, []int{}},
		{"random nothing", data.Random(0, 1), 0, []int{}},
		{"seed 0", data.Random(10, 0), 0, []int{4, 1, 7, 5, 3, 9, 0, 8, 6, 2}},
		{"seed 0, epoch 1", data.Random(10, 0), 1, []int{5, 6, 1, 2, 0, 8, 9, 3, 7, 4}},
		{"seed 1", data.Random(10, 1), 0, []int{5, 6, 1, 2, 0, 8, 9, 3, 7, 4}},
		{"seed 7, epoch 3", random, 3, []int{7, 4, 6, 1, 3, 5, 9, 8, 2, 0}},
		{"0 of 1", data.Shard(random, 0, 1), 3, []int{7, 4, 6, 1, 3, 5, 9, 8, 2, 0}},
		{"0 of 2", data.Shard(random, 0, 2), 3, []int{7, 6, 3, 9, 2}},
		{"1 of 2", data.Shard(random, 1, 2), 3, []int{4, 1, 5, 8, 0}},
		{"0 of 3", data.Shard(random, 0, 3), 3, []int{7, 1, 9, 0}},
		{"1 of 3", data.Shard(random, 1, 3), 3, []int{4, 3, 8, 7}},
		{"2 of 3", data.Shard(random, 2, 3), 3, []int{6, 5, 2, 4}},
		{"3 of 4", data.Shard(random, 3, 4), 3, []int{1, 8, 4}},
		{"6 of 7", data.Shard(random, 6, 7), 3, []int{9, 1}},
		{"more shards than samples", data.Shard(data.Sequential(3), 7, 8), 0, []int{1}},
		{"a shard of nothing", data.Shard(data.Sequential(0), 1, 2), 0, []int{}},
	} {
		require.Equal(t, scene.want, scene.sampler.Indices(scene.epoch), scene.name)
		require.Equal(t, len(scene.want), scene.sampler.Len(), scene.name)
	}

	sum := 0
	for k, i := range data.Random(50000, 1).Indices(0) {
		sum += k * i
	}
	require.Equal(t, 31278645075967, sum)
}

// Python draws for the samplers of one seed and epoch: the same seed means the same samples.
func TestDrawnSamplersEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	weights := []float64{0.5, 0, 3, 1, 0.25, 7}
	samplers := map[string]data.Sampler{
		"of":          data.RandomOf([]int{40, 50, 60, 70, 80}, 11),
		"draws":       data.RandomDraws(10, 77, 11),
		"weighted":    data.Weighted(weights, 50, true, 11),
		"weighted_no": data.Weighted(weights, 5, false, 11),
		"dropped":     data.Shard(data.Random(10, 11), 1, 3, data.ShardOptions{DropLast: true}),
		"few":         data.Shard(data.Random(2, 11), 1, 3, data.ShardOptions{DropLast: true}),
	}
	for i := range 3 {
		parts := data.RandomSplit(numbers(11), []float64{0.5, 0.3, 0.2}, 13)
		samplers[fmt.Sprint("split", i)] = listOf(contents(t, parts[i]))
	}
	torch.Scope(func() {
		want := peer.Run(t, "testdata/samplers.py", peer.Tensors{"weights": torch.FromSlice(weights)})
		require.Len(t, want, len(samplers))
		for name, s := range samplers {
			require.Equal(t, torch.Values[int](want[name]), s.Indices(2), name)
			require.Equal(t, len(s.Indices(2)), s.Len(), name)
		}
	})
}

type listOf []int

func (l listOf) Len() int          { return len(l) }
func (l listOf) Indices(int) []int { return l }

func TestBatched(t *testing.T) {
	for _, scene := range []struct {
		n, size  int
		dropLast bool
		want     string
	}{
		{5, 2, false, "[[0 1] [2 3] [4]]"},
		{5, 2, true, "[[0 1] [2 3]]"},
		{4, 2, true, "[[0 1] [2 3]]"},
		{4, 2, false, "[[0 1] [2 3]]"},
		{1, 2, true, "[]"},
		{1, 2, false, "[[0]]"},
		{0, 2, false, "[]"},
	} {
		b := data.Batched(data.Sequential(scene.n), scene.size, scene.dropLast)
		list := b.Batches(0)
		require.Equal(t, scene.want, fmt.Sprint(list))
		require.Equal(t, len(list), b.Len())
	}
}

func TestSamplersRefuse(t *testing.T) {
	for want, fn := range map[string]func(){
		"the rank is 2, expected 0 to 1":                       func() { data.Shard(data.Sequential(3), 2, 2) },
		"the rank is -1, expected 0 to 1":                      func() { data.Shard(data.Sequential(3), -1, 2) },
		"the number of shards is 0, expected at least 1":       func() { data.Shard(data.Sequential(3), 0, 0) },
		"the size of a batch is 0, expected at least 1":        func() { data.Batched(data.Sequential(3), 0, true) },
		"sequential: the number of samples is -1, expected at": func() { data.Sequential(-1) },
		"random: the number of samples is -1, expected at":     func() { data.Random(-1, 0) },
		"random_draws: the number of samples is 0, expected":   func() { data.RandomDraws(0, 3, 0) },
		"random_draws: the number of draws is -3, expected":    func() { data.RandomDraws(3, -3, 0) },
		"weighted: a weight is -1, expected a finite number":   func() { data.Weighted([]float64{1, -1}, 1, true, 0) },
		"weighted: a weight is NaN, expected a finite number":  func() { data.Weighted([]float64{math.NaN()}, 1, true, 0) },
		"the number of draws is 3, expected 0 to 2":            func() { data.Weighted([]float64{1, 0, 1}, 3, false, 0) },
		"the number of draws is 1, expected 0 to 0":            func() { data.Weighted(nil, 1, true, 0) },
	} {
		err := torch.Try(fn)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, torch.ErrValue)
	}
}
