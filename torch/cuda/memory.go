package cuda

import (
	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// MemoryUse is the state of libtorch's caching allocator on one device, in bytes. [MemoryStats]
// has all counters.
type MemoryUse struct {
	Allocated, PeakAllocated int64 // held by tensors
	Reserved, PeakReserved   int64 // held by the allocator, cached blocks included
	Retries                  int64 // allocations that had to empty the cache first
	OutOfMemory              int64 // allocations that failed
}

// Memory is the state of the allocator on a device; zeros before its first use.
func Memory(device int) MemoryUse {
	c := on(cgo.OpDeviceMemory, device)
	return MemoryUse{
		Allocated: int64(c.IntResult(0)), PeakAllocated: int64(c.IntResult(1)),
		Reserved: int64(c.IntResult(2)), PeakReserved: int64(c.IntResult(3)),
		Retries: int64(c.IntResult(4)), OutOfMemory: int64(c.IntResult(5)),
	}
}

// ResetPeakMemory sets the peaks of [Memory] and [MemoryStats] to what is held now.
func ResetPeakMemory(device int) { on(cgo.OpResetPeakMemory, device) }

// ResetAccumulatedMemory sets the sums Allocated and Freed of [MemoryStats] to zero.
func ResetAccumulatedMemory(device int) { on(cgo.OpResetAccumulatedMemory, device) }

// EmptyCache gives blocks that no tensor uses back to the driver, for other processes. Without a
// card there are none.
func EmptyCache() {
	if IsAvailable() {
		on(cgo.OpEmptyCache, -1)
	}
}

// MemoryInfo is the free and the total memory of a card, in bytes, as the driver sees it.
func MemoryInfo(device int) (free, total int64) {
	c := on(cgo.OpMemoryInfo, device)
	return int64(c.IntResult(0)), int64(c.IntResult(1))
}

// SetMemoryFraction limits this process to a fraction of a card's memory. Allocations
// beyond the limit fail with torch.ErrOutOfMemory. 1 is the default.
func SetMemoryFraction(device int, fraction float64) {
	if !(fraction >= 0 && fraction <= 1) {
		begin(cgo.OpSetMemoryFraction)
		torch.Throw(cgo.OpSetMemoryFraction.String(), torch.KindValue, "expected a fraction between 0 and 1, got %v", fraction)
	}
	on(cgo.OpSetMemoryFraction, device, func(c *cgo.Call) { c.Float(fraction) })
}

// MemoryFraction is the part of a card's memory that this process may take.
func MemoryFraction(device int) float64 { return on(cgo.OpMemoryFraction, device).FloatResult(0) }

// PoolID names a pool of memory for graphs: graphs that are captured with the same one share
// memory. The zero PoolID stands for a pool of the graph's own.
type PoolID struct{ first, second uint64 }

// NewPoolID is a name for a pool that is made by the first graph that is captured with it.
func NewPoolID() PoolID {
	c := begin(cgo.OpNewPoolID)
	bridge.Done(c)
	return poolResult(c)
}

func poolResult(c *cgo.Call) PoolID { return PoolID{c.WordResult(0), c.WordResult(1)} }

func (id PoolID) put(c *cgo.Call) {
	c.Word(id.first)
	c.Word(id.second)
}

// MemPool is a part of the allocator with blocks of its own, on the device that is current when
// it is made: a place for tensors that should be apart from others, or that graphs share.
type MemPool struct {
	h *cgo.Handle
}

// NewMemPool makes a pool. It is freed by Close, or by the garbage collector; the memory of
// tensors in it lasts for as long as they do.
func NewMemPool() *MemPool {
	c := begin(cgo.OpNewMemPool)
	resolve("new_mem_pool", -1)
	bridge.Done(c)
	return &MemPool{c.Owned(0, cgo.DeviceKind)}
}

// ID names the pool, for [GraphOptions].
func (p *MemPool) ID() PoolID { return poolResult(p.about()) }

// Close frees the pool.
func (p *MemPool) Close() { p.handle().Close() }

func (p *MemPool) handle() *cgo.Handle {
	if p == nil {
		return nil
	}
	return p.h
}

func (p *MemPool) about() *cgo.Call {
	c := begin(cgo.OpMemPoolID)
	c.Object(p.handle())
	bridge.Done(c)
	return c
}

// WithMemPool runs fn. Everything that its thread allocates on the pool's device comes from
// the pool. The goroutine keeps its thread for that time. Backward passes run on other
// threads and so do not allocate from the pool.
func WithMemPool(p *MemPool, fn func()) {
	about := p.about()
	id, device := poolResult(about), int64(about.WordResult(2))
	turn := func(op cgo.Op) {
		c := begin(op)
		c.Code(device)
		id.put(c)
		bridge.Done(c)
	}
	lockThread(func() {
		turn(cgo.OpEnterMemPool)
		defer turn(cgo.OpLeaveMemPool)
		fn()
	})
}
