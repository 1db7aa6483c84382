package data_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// numbers is a data set whose sample i is i.
func numbers(n int) data.Dataset[int] {
	return data.NewDataset(n, func(_ context.Context, i int) (int, error) { return i, nil })
}

func contents[S any](t *testing.T, set data.Dataset[S]) []S {
	all := []S{}
	for i := range set.Len() {
		s, err := set.At(context.Background(), i)
		require.NoError(t, err)
		all = append(all, s)
	}
	return all
}

func TestParts(t *testing.T) {
	ten := numbers(10)
	squares := data.MapDataset(ten, func(_ context.Context, i int) (string, error) { return fmt.Sprint(i * i), nil })
	for _, c := range []struct {
		name string
		set  data.Dataset[int]
		want []int
	}{
		{"subset", data.Subset(ten, []int{9, 0, 0, 4}), []int{9, 0, 0, 4}},
		{"nothing of it", data.Subset(ten, nil), []int{}},
		{"a subset of a subset", data.Subset(data.Subset(ten, []int{9, 7, 5}), []int{2, 0}), []int{5, 9}},
		{"concat", data.Concat(numbers(2), numbers(0), numbers(3), numbers(0)), []int{0, 1, 0, 1, 2}},
		{"concat of nothing", data.Concat[int](), []int{}},
	} {
		require.Equal(t, c.want, contents(t, c.set), c.name)
	}
	require.Equal(t, []string{"0", "1", "4"}, contents(t, squares)[:3])
}

// Every sample is in one part, and the parts have the lengths that were asked for.
func TestRandomSplit(t *testing.T) {
	torchtest.NoLeaks(t)
	lengths := func(parts []data.Dataset[int]) (list []int) {
		seen := map[int]bool{}
		for _, part := range parts {
			list = append(list, part.Len())
			for _, i := range contents(t, part) {
				require.False(t, seen[i], "sample %d comes twice", i)
				seen[i] = true
			}
		}
		return list
	}
	require.Equal(t, []int{7, 3}, lengths(data.RandomSplit(numbers(10), []int{7, 3}, 1)))
	require.Equal(t, []int{4, 4, 3}, lengths(data.RandomSplit(numbers(11), []float64{1. / 3, 1. / 3, 1. / 3}, 1)))
	require.Equal(t, []int{0, 5}, lengths(data.RandomSplit(numbers(5), []float64{0, 1}, 1)))
	require.Equal(t, []int{}, append([]int{}, lengths(data.RandomSplit(numbers(0), []int{}, 1))...))
}

func TestPartsRefuse(t *testing.T) {
	for want, fn := range map[string]func(){
		"new_dataset: the number of samples is -1":               func() { numbers(-1) },
		"subset: an index is 3, expected 0 to 2":                 func() { data.Subset(numbers(3), []int{0, 3}) },
		"subset: an index is -1, expected 0 to 2":                func() { data.Subset(numbers(3), []int{-1}) },
		"concat: the length of a data set is":                    func() { data.Concat(numbers(math.MaxInt), numbers(1)) },
		"the lengths [1 1] sum to 2, expected the 3 samples":     func() { data.RandomSplit(numbers(3), []int{1, 1}, 0) },
		"the lengths have to sum to the 3 samples":               func() { data.RandomSplit(numbers(3), []int{math.MaxInt, 4}, 0) },
		"a fraction is NaN, expected 0 to 1":                     func() { data.RandomSplit(numbers(3), []float64{math.NaN()}, 0) },
		"random_split: the fractions [0.5 0.4] sum to 0.9, expe": func() { data.RandomSplit(numbers(3), []float64{0.5, 0.4}, 0) },
	} {
		err := torch.Try(fn)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, torch.ErrValue)
	}
}

// A part of tensors is loaded like any data set, and errors of the set below arrive.
func TestPartsAreLoaded(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		set := data.NewTensorDataset(torch.Arange(10).View(10, 1), torch.Arange(10))
		part := data.RandomSplit[data.Sample](set, []int{4, 6}, 3)[1]
		loader, err := data.NewLoader(data.Collate(part, data.Stack), data.LoaderOptions{BatchSize: 4, Workers: 2})
		require.NoError(t, err)
		got := []int{}
		for batch, err := range loader.Epoch(context.Background(), 0) {
			require.NoError(t, err)
			require.Equal(t, []int{batch.Len(), 1}, batch.Input.Shape())
			got = append(got, torch.Values[int](batch.Target)...)
		}
		require.Equal(t, data.Random(10, 3).Indices(0)[4:], got)
	})
	broken := errors.New("broken")
	set := data.MapDataset(numbers(3), func(context.Context, int) (data.Sample, error) { return data.Sample{}, broken })
	_, err := set.At(context.Background(), 1)
	require.ErrorIs(t, err, broken)
}
