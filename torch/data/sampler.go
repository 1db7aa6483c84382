package data

import (
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
	return random{n, seed}
}

type random struct {
	n    int
	seed uint64
}

func (r random) Len() int { return r.n }

func (r random) Indices(epoch int) []int {
	afford(r.n)
	generator := torch.NewGenerator(torch.CPU).ManualSeed(r.seed + uint64(epoch))
	defer generator.Close()
	order := torch.TensorOptions{Generator: generator}.RandPerm(r.n)
	defer order.Close()
	return torch.Values[int](order)
}

// Shard is every world-th sample of another sampler, from the rank-th on: the part of one
// of several processes that share an epoch. All shards have the same length; if the
// samples cannot be divided equally, the first are used again, as PyTorch's
// DistributedSampler does. It panics with a *[torch.Error] unless 0 <= rank < world.
func Shard(s Sampler, rank, world int) Sampler {
	need("shard", atLeast("the number of shards", world, 1))
	need("shard", between("the rank", rank, 0, world-1))
	return shard{s, rank, world}
}

type shard struct {
	all         Sampler
	rank, world int
}

func (s shard) Len() int { return parts(s.all.Len(), s.world) }

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
