package data

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// A Sampler says which samples an epoch visits, and in what order.
type Sampler interface {
	// Len is the number of samples of every epoch.
	Len() int
	// Indices lists them. The caller may change the list.
	Indices(epoch int) []int
}

// Sequential visits samples 0 to n-1 in order.
func Sequential(n int) Sampler { return sequential(n) }

type sequential int

func (s sequential) Len() int { return int(s) }

func (s sequential) Indices(int) []int {
	list := make([]int, s)
	for i := range list {
		list[i] = i
	}
	return list
}

// Random visits samples 0 to n-1 in an order that depends on the seed and the epoch: that
// of torch.randperm with a generator seeded by their sum, as in PyTorch's
// DistributedSampler.
func Random(n int, seed uint64) Sampler { return random{n, seed} }

type random struct {
	n    int
	seed uint64
}

func (r random) Len() int { return r.n }

func (r random) Indices(epoch int) []int {
	generator := torch.NewGenerator(torch.CPU).Seed(r.seed + uint64(epoch))
	defer generator.Close()
	order := torch.TensorOptions{Generator: generator}.RandPerm(r.n)
	defer order.Close()
	return torch.Values[int](order)
}

// Shard is every world-th sample of another sampler, from the rank-th on: the part of
// one of several processes that share an epoch. All shards have the same length; where the
// samples do not go round, the first are used again, as PyTorch's DistributedSampler
// does. It panics with a *[torch.Error] unless 0 <= rank < world.
func Shard(s Sampler, rank, world int) Sampler {
	if rank < 0 || rank >= world {
		torch.Throw("shard", torch.KindValue, "rank %d is not one of %d", rank, world)
	}
	return shard{s, rank, world}
}

type shard struct {
	all         Sampler
	rank, world int
}

func (s shard) Len() int { return (s.all.Len() + s.world - 1) / s.world }

func (s shard) Indices(epoch int) []int {
	all := s.all.Indices(epoch)
	list := make([]int, s.Len())
	for k := range list {
		list[k] = all[(s.rank+k*s.world)%len(all)]
	}
	return list
}

// A BatchSampler says which samples go together into a batch.
type BatchSampler interface {
	// Len is the number of batches of every epoch.
	Len() int
	// Batches lists the indices of each. Nobody changes the lists.
	Batches(epoch int) [][]int
}

// Batched groups the samples of a sampler into batches of size. The last one is smaller
// where they do not go round, or is left out with dropLast. It panics with a
// *[torch.Error] unless size is positive.
func Batched(s Sampler, size int, dropLast bool) BatchSampler {
	if size <= 0 {
		torch.Throw("batched", torch.KindValue, "a batch size of %d", size)
	}
	return batched{s, size, dropLast}
}

type batched struct {
	samples  Sampler
	size     int
	dropLast bool
}

func (b batched) Len() int {
	n := b.samples.Len()
	if !b.dropLast {
		n += b.size - 1
	}
	return n / b.size
}

func (b batched) Batches(epoch int) [][]int {
	list := slices.Collect(slices.Chunk(b.samples.Indices(epoch), b.size))
	return list[:min(b.Len(), len(list))]
}
