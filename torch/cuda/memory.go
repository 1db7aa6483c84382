package cuda

import (
	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
)

// MemoryStats is the state of libtorch's caching allocator on one device, in bytes.
type MemoryStats struct {
	Allocated, PeakAllocated int64 // held by tensors
	Reserved, PeakReserved   int64 // held by the allocator, cached blocks included
	Retries                  int64 // allocations that had to empty the cache first
	OutOfMemory              int64 // allocations that failed
}

// Memory is the state of the allocator on a device.
func Memory(device int) MemoryStats {
	c := on(cgo.OpDeviceMemory, device)
	return MemoryStats{
		Allocated: int64(c.IntResult(0)), PeakAllocated: int64(c.IntResult(1)),
		Reserved: int64(c.IntResult(2)), PeakReserved: int64(c.IntResult(3)),
		Retries: int64(c.IntResult(4)), OutOfMemory: int64(c.IntResult(5)),
	}
}

// ResetPeakMemory starts the peaks of [Memory] anew from what is held now.
func ResetPeakMemory(device int) { on(cgo.OpResetPeakMemory, device) }

// EmptyCache gives blocks that no tensor uses back to the driver, for other processes.
func EmptyCache() { on(cgo.OpEmptyCache, -1) }

// MemoryInfo is the free and the total memory of a card, in bytes, as the driver sees it.
func MemoryInfo(device int) (free, total int64) {
	c := on(cgo.OpMemoryInfo, device)
	return int64(c.IntResult(0)), int64(c.IntResult(1))
}

// on runs an entry that takes a device. Without CUDA it panics before libtorch can answer
// with an assertion about an allocator that is not there.
func on(op cgo.Op, device int) *cgo.Call {
	if err := cgo.CUDAError(); err != nil {
		torch.Throw(op.String(), torch.KindNoCUDA, "%v: %v", torch.ErrNoCUDA, err)
	}
	var c cgo.Call
	c.Begin(op)
	c.Code(int64(torch.CUDA(device)) - 1)
	torch.RawDone(&c)
	return &c
}
