package data

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// NewDataset makes a data set of n samples from a function that returns one. It panics with a
// *[torch.Error] if n is negative.
//
//	photos := data.NewDataset(len(paths), func(ctx context.Context, i int) (data.Sample, error) {
//		image, err := imageio.Read(paths[i])
//		return data.Sample{Input: image, Target: torch.FromValue(labels[i])}, err
//	})
func NewDataset[S any](n int, at func(ctx context.Context, i int) (S, error)) Dataset[S] {
	need("new_dataset", atLeast("the number of samples", n, 0))
	return made[S]{n, at}
}

type made[S any] struct {
	n  int
	at func(ctx context.Context, i int) (S, error)
}

func (m made[S]) Len() int                                 { return m.n }
func (m made[S]) At(ctx context.Context, i int) (S, error) { return m.at(ctx, i) }

// Subset is the samples of a data set with these indices, in their order. It panics with a *[torch.Error] if
// the set has no sample of an index.
func Subset[S any](set Dataset[S], indices []int) Dataset[S] {
	n := set.Len()
	for _, i := range indices {
		need("subset", between("an index", i, 0, n-1))
	}
	indices = slices.Clone(indices)
	return NewDataset(len(indices), func(ctx context.Context, i int) (S, error) { return set.At(ctx, indices[i]) })
}

// Concat is the samples of several data sets, one set after the other.
func Concat[S any](sets ...Dataset[S]) Dataset[S] {
	sets = slices.Clone(sets)
	ends, total := make([]int, len(sets)), 0
	for k, set := range sets {
		n := set.Len()
		need("concat", between("the length of a data set", n, 0, math.MaxInt-total))
		total += n
		ends[k] = total
	}
	return NewDataset(total, func(ctx context.Context, i int) (S, error) {
		k, _ := slices.BinarySearch(ends, i+1)
		if k > 0 {
			i -= ends[k-1]
		}
		return sets[k].At(ctx, i)
	})
}

// RandomSplit divides a data set at random into parts without overlap. The lengths are numbers of samples,
// or fractions of them (float64) whose sum is 1; what rounding leaves over goes to the parts in turn, from the first on. The same
// seed gives the same parts, those of torch.utils.data.random_split with a generator of that seed. It
// panics with a *[torch.Error] if the lengths are not those of the whole set.
//
//	parts := data.RandomSplit(set, []float64{0.8, 0.2}, 1)
//	train, test := parts[0], parts[1]
func RandomSplit[S any, N int | float64](set Dataset[S], lengths []N, seed uint64) []Dataset[S] {
	n := set.Len()
	counts, err := shares(n, lengths)
	need("random_split", err)
	order := Random(n, seed).Indices(0)
	parts := make([]Dataset[S], len(counts))
	for k, count := range counts {
		parts[k] = Subset(set, order[:count])
		order = order[count:]
	}
	return parts
}

// shares are the lengths of the parts of n samples.
func shares[N int | float64](n int, lengths []N) ([]int, error) {
	fractions, isFractions := any(lengths).([]float64)
	if isFractions {
		return fractionsOf(n, fractions)
	}
	counts, sum := any(lengths).([]int), 0
	for _, count := range counts {
		if err := between("a length", count, 0, n-sum); err != nil {
			return nil, fmt.Errorf("%w: the lengths have to sum to the %d samples of the set", err, n)
		}
		sum += count
	}
	if sum != n {
		return nil, fmt.Errorf("the lengths %v sum to %d, expected the %d samples of the set", counts, sum, n)
	}
	return counts, nil
}

func fractionsOf(n int, fractions []float64) ([]int, error) {
	counts, sum, left := make([]int, len(fractions)), 0.0, n
	for k, fraction := range fractions {
		if !(fraction >= 0 && fraction <= 1) {
			return nil, fmt.Errorf("a fraction is %v, expected 0 to 1", fraction)
		}
		sum += fraction
		counts[k] = int(math.Floor(float64(n) * fraction))
		left -= counts[k]
	}
	if math.Abs(sum-1) > 1e-9 {
		return nil, fmt.Errorf("the fractions %v sum to %v, expected 1", fractions, sum)
	}
	for k := range left {
		counts[k%len(counts)]++
	}
	return counts, nil
}

// MapDataset is a data set whose samples are those of another, changed by fn: the place for what is done to each sample, such
// as decoding.
func MapDataset[A, B any](set Dataset[A], fn func(ctx context.Context, sample A) (B, error)) Dataset[B] {
	return NewDataset(set.Len(), func(ctx context.Context, i int) (b B, err error) {
		a, err := set.At(ctx, i)
		if err != nil {
			return b, err
		}
		return fn(ctx, a)
	})
}

// At is sample i, as views of the tensors: with it a set of tensors can be divided by [Subset] and [RandomSplit].
func (d *TensorDataset) At(_ context.Context, i int) (Sample, error) {
	s := Sample{Input: d.input.t.Select(0, i)}
	if d.target.t.Defined() {
		s.Target = d.target.t.Select(0, i)
	}
	return s, nil
}

var _ Dataset[Sample] = (*TensorDataset)(nil)
