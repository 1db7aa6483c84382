package data

import (
	"fmt"
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// A Sampler says which samples an epoch visits, and in what order.
type Sampler interface {
	// Len is the number of samples of every epoch.
	Len() int
	// Indices lists them. The caller may change the list.
	Indices(epoch int) []int
}

// Sequential visits samples 0 to n-1 in order. It panics with a *[torch.Error] if n is
// negative.
func Sequential(n int) Sampler {
	need("sequential", atLeast("the number of samples", n, 0))
	return sequential(n)
}

type sequential int

func (s sequential) Len() int { return int(s) }

func (s sequential) at(k int) int { return k }

func (s sequential) Indices(int) []int { return listed(s) }

// Random visits samples 0 to n-1 in an order that depends on the seed and the epoch: that
// of torch.randperm with a generator seeded by their sum, as in PyTorch's
// DistributedSampler. It panics with a *[torch.Error] if n is negative.
func Random(n int, seed uint64) Sampler {
	need("random", atLeast("the number of samples", n, 0))
	return drawn{n, seed, func(g *torch.Generator) torch.Tensor { return torch.TensorOptions{Generator: g}.RandPerm(n) }}
}

// RandomOf visits the samples with these indices in random order, as PyTorch's SubsetRandomSampler does: that of
// torch.randperm with a generator seeded by the sum of seed and epoch.
func RandomOf(indices []int, seed uint64) Sampler {
	return chosen{slices.Clone(indices), Random(len(indices), seed)}
}

type chosen struct {
	indices []int
	order   Sampler
}

func (c chosen) Len() int { return len(c.indices) }

func (c chosen) Indices(epoch int) []int {
	order := c.order.Indices(epoch)
	for k, i := range order {
		order[k] = c.indices[i]
	}
	return order
}

// RandomDraws visits count samples of 0 to n-1, each drawn independently of the others, so that a sample can come several times
// or never: PyTorch's RandomSampler with replacement, and the same samples for a generator seeded by the sum of seed and
// epoch. It panics with a *[torch.Error] if a number is negative, or n is zero where count is not.
func RandomDraws(n, count int, seed uint64) Sampler {
	need("random_draws", atLeast("the number of samples", n, min(1, count)))
	need("random_draws", atLeast("the number of draws", count, 0))
	return drawn{count, seed, func(g *torch.Generator) torch.Tensor { return draws(n, count, g) }}
}

// draws draws 32 at a time, as PyTorch does: the numbers depend on it.
func draws(n, count int, g *torch.Generator) torch.Tensor {
	const together = 32
	rows := []torch.Tensor{torch.TensorOptions{DType: torch.Int64}.Empty(0)}
	for ; count > 0; count -= together {
		rows = append(rows, torch.TensorOptions{Generator: g}.RandIntN(n, min(count, together)))
	}
	return torch.Cat(rows)
}

// Weighted visits count samples, each drawn with a probability in proportion to its weight: for classes of unequal size. Without
// replacement no sample comes twice. It is PyTorch's WeightedRandomSampler with a generator seeded by the sum of seed
// and epoch. It panics with a *[torch.Error] if count is negative or weights are not numbers of which enough are positive.
func Weighted(weights []float64, count int, replacement bool, seed uint64) Sampler {
	positive := 0
	for _, w := range weights {
		if !(w >= 0 && w <= math.MaxFloat64) {
			need("weighted", fmt.Errorf("a weight is %v, expected a finite number of at least 0", w))
		}
		if w > 0 {
			positive++
		}
	}
	most := positive
	if replacement && positive > 0 {
		most = math.MaxInt
	}
	need("weighted", between("the number of draws", count, 0, most))
	weights = slices.Clone(weights)
	return drawn{count, seed, func(g *torch.Generator) torch.Tensor {
		if count == 0 {
			return torch.TensorOptions{DType: torch.Int64}.Empty(0)
		}
		return torch.FromSlice(weights).Multinomial(count, torch.MultinomialOptions{Replacement: replacement, Generator: g})
	}}
}

// drawn is n samples that draw takes from a generator, seeded anew for every epoch.
type drawn struct {
	n    int
	seed uint64
	draw func(*torch.Generator) torch.Tensor
}

func (d drawn) Len() int { return d.n }

func (d drawn) Indices(epoch int) (order []int) {
	afford(d.n)
	torch.Scope(func() {
		generator := torch.NewGenerator(torch.CPU).ManualSeed(d.seed + uint64(epoch))
		defer generator.Close()
		order = torch.Values[int](d.draw(generator))
	})
	return order
}

// ShardOptions are the rarer arguments of [Shard].
type ShardOptions struct {
	DropLast bool // leave out the last samples that cannot be divided equally, rather than use the first ones again
}

// Shard is every world-th sample of another sampler, from the rank-th on: the part of one
// of several processes that share an epoch. All shards have the same length; if the
// samples cannot be divided equally, the first are used again, as PyTorch's
// DistributedSampler does, or left out with DropLast. It panics with a *[torch.Error] unless 0 <= rank < world.
func Shard(s Sampler, rank, world int, opts ...ShardOptions) Sampler {
	need("shard", atLeast("the number of shards", world, 1))
	need("shard", between("the rank", rank, 0, world-1))
	return shard{s, rank, world, option.One(opts).DropLast}
}

type shard struct {
	all         Sampler
	rank, world int
	dropLast    bool
}

func (s shard) Len() int { return newEvery(sequential(s.all.Len()), s).Len() }

func (s shard) Indices(epoch int) []int { return listed(orderOf(s, epoch)) }

// A BatchSampler says which samples go together into a batch.
type BatchSampler interface {
	// Len is the number of batches of every epoch.
	Len() int
	// Batches lists the indices of each. Nobody changes the lists.
	Batches(epoch int) [][]int
}

// Batched groups the samples of a sampler into batches of size. The last one is smaller
// if they cannot be divided equally, or is left out with dropLast. It panics with a
// *[torch.Error] unless size is positive.
func Batched(s Sampler, size int, dropLast bool) BatchSampler {
	need("batched", atLeast("the size of a batch", size, 1))
	return batched{s, size, dropLast}
}

type batched struct {
	samples  Sampler
	size     int
	dropLast bool
}

func (b batched) Len() int { return b.count(b.samples.Len()) }

// count is how many batches n samples make.
func (b batched) count(n int) int {
	if b.dropLast {
		return n / b.size
	}
	return parts(n, b.size)
}

func (b batched) Batches(epoch int) [][]int {
	p := planOf(b, epoch)
	afford(p.Len())
	list := make([][]int, p.Len())
	for k := range list {
		list[k] = p.batch(k)
	}
	return list
}
