package data

// An order is the samples of an epoch. That of [Sequential], and its shards, takes no memory:
// a source may have any number of samples.
type order interface {
	Len() int
	at(k int) int
}

// orderOf is the order of an epoch, from a sampler.
func orderOf(s Sampler, epoch int) order {
	switch s := s.(type) {
	case sequential:
		return s
	case shard:
		return newEvery(orderOf(s.all, epoch), s)
	}
	return list(s.Indices(epoch))
}

// listed returns an order as a list.
func listed(o order) []int {
	afford(o.Len())
	all := make([]int, o.Len())
	for k := range all {
		all[k] = o.at(k)
	}
	return all
}

type list []int

func (l list) Len() int     { return len(l) }
func (l list) at(k int) int { return l[k] }

// every is each world-th sample from the rank-th on, starting again after the last.
type every struct {
	all               order
	rank, world, size int
}

func newEvery(all order, s shard) every {
	n := all.Len()
	size := parts(n, s.world)
	if s.dropLast {
		size = n / s.world
	}
	return every{all, s.rank % max(1, n), s.world, size}
}

func (e every) Len() int { return e.size }

func (e every) at(k int) int {
	at, rest := k*e.world, e.all.Len()-e.rank // at is less than the length
	if at < rest {
		return e.all.at(at + e.rank)
	}
	return e.all.at(at - rest)
}

// A plan is the batches of an epoch.
type plan interface {
	Len() int
	batch(k int) []int
}

// planOf is the plan of an epoch, from a sampler of batches.
func planOf(b BatchSampler, epoch int) plan {
	if b, ok := b.(batched); ok {
		samples := orderOf(b.samples, epoch)
		return chunks{samples, b.size, b.count(samples.Len())}
	}
	return lists(b.Batches(epoch))
}

type lists [][]int

func (l lists) Len() int          { return len(l) }
func (l lists) batch(k int) []int { return l[k] }

// chunks are parts of an order, of size samples each; the last may have fewer.
type chunks struct {
	samples     order
	size, count int
}

func (c chunks) Len() int { return c.count }

func (c chunks) batch(k int) []int {
	from := k * c.size // less than the number of samples
	return listed(part{c.samples, from, min(c.size, c.samples.Len()-from)})
}

type part struct {
	all     order
	from, n int
}

func (p part) Len() int     { return p.n }
func (p part) at(k int) int { return p.all.at(p.from + k) }

// parts is how many parts of that size n samples have, the last one not always full.
func parts(n, size int) int {
	whole := n / size
	if n%size > 0 {
		whole++
	}
	return whole
}
