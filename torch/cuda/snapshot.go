package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/torch"
)

// Snapshot lists all memory that the allocator holds and, after [RecordMemoryHistory],
// its history.
type Snapshot struct {
	Segments []Segment
	Traces   [][]Trace // of each device, the oldest first
	Settings AllocatorSettings
}

// Segment is a piece of memory from the driver.
type Segment struct {
	Device                      int
	Address                     uint64
	Size                        uint64 // bytes
	Requested, Allocated, InUse uint64 // bytes: asked for by tensors, given to them, not free yet
	Stream                      uint64 // the cudaStream_t it is for
	Large, Expandable           bool
	Pool                        PoolID // of graphs, or zero
	Blocks                      []Block
}

// Block is a part of a segment.
type Block struct {
	Size, Requested uint64
	Allocated       bool // it belongs to a tensor
	InUse           bool // it does, or waits for a stream
}

// Trace is one action of the allocator.
type Trace struct {
	// "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "snapshot", "oom"
	Action   string
	Address  uint64 // for "oom" the bytes that the driver had left
	Size     uint64
	Stream   uint64
	Time     int64 // microseconds since 1970
	Compile  string
	Metadata string
}

// AllocatorSettings are those of PYTORCH_CUDA_ALLOC_CONF.
type AllocatorSettings struct {
	Text                       string
	MaxSplitSize               uint64
	GarbageCollectionThreshold float64
	ExpandableSegments         bool
	PinnedNumRegisterThreads   uint64
	ReleaseLockOnMalloc        bool
	PinnedUseHostRegister      bool
}

// MemoryHistoryOptions are the arguments of [RecordMemoryHistory].
type MemoryHistoryOptions struct {
	Off        bool // stop, and forget
	MaxEntries int  // actions kept for each device; default: all
	Clear      bool // forget what was recorded before
}

// RecordMemoryHistory makes the allocators of all devices record what they do from now
// on. They record no stacks, because these would be libtorch's, not the Go program's.
func RecordMemoryHistory(opts ...MemoryHistoryOptions) {
	o := option.One(opts)
	c := begin(cgo.OpRecordMemoryHistory)
	resolve("record_memory_history", -1)
	c.Bool(!o.Off)
	if o.MaxEntries == 0 {
		c.Int(math.MaxInt)
	} else {
		c.Int(o.MaxEntries)
	}
	c.Bool(o.Clear)
	bridge.Done(c)
}

// MemorySnapshot returns the state of the allocators of all devices.
func MemorySnapshot() Snapshot {
	c := begin(cgo.OpMemorySnapshot)
	resolve("memory_snapshot", -1)
	bridge.Done(c)
	return readSnapshot(c.Text(0))
}

// DumpSnapshot writes the state of the allocators to a file that PyTorch's memory viewer opens:
// https://pytorch.org/memory_viz, or python -m torch.cuda._memory_viz trace_plot FILE. Without
// [RecordMemoryHistory] before, the viewer shows the state only, without its history.
func DumpSnapshot(path string) error {
	var s Snapshot
	if err := torch.Try(func() { s = MemorySnapshot() }); err != nil {
		return err
	}
	return s.write(path)
}

func (s Snapshot) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("torch/cuda: %w", err)
	}
	err = pickle.Write(file, s.dict())
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("torch/cuda: %s: %w", path, err)
	}
	return nil
}

// picture reads what Picture in cgo/shim/cuda/memory.cc writes.
type picture struct{ rest string }

func (p *picture) text(n uint64) (s string) {
	s, p.rest = p.rest[:n], p.rest[n:]
	return s
}

func (p *picture) word() uint64   { return binary.LittleEndian.Uint64([]byte(p.text(8))) }
func (p *picture) flag() bool     { return p.word() != 0 }
func (p *picture) string() string { return p.text(p.word()) }

func list[T any](p *picture, read func(*picture) T) []T {
	items := make([]T, p.word())
	for i := range items {
		items[i] = read(p)
	}
	return items
}

func readSnapshot(text string) Snapshot {
	p := &picture{text}
	return Snapshot{
		Segments: list(p, readSegment),
		Traces:   list(p, func(p *picture) []Trace { return list(p, readTrace) }),
		Settings: AllocatorSettings{p.string(), p.word(), math.Float64frombits(p.word()), p.flag(), p.word(), p.flag(), p.flag()},
	}
}

func readSegment(p *picture) Segment {
	return Segment{
		Device: int(p.word()), Address: p.word(), Size: p.word(), Requested: p.word(), Allocated: p.word(), InUse: p.word(),
		Stream: p.word(), Large: p.flag(), Expandable: p.flag(), Pool: PoolID{p.word(), p.word()},
		Blocks: list(p, func(p *picture) Block { return Block{p.word(), p.word(), p.flag(), p.flag()} }),
	}
}

// actions are TraceEntry::Action.
var actions = [...]string{"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
	"segment_unmap", "snapshot", "oom"}

func readTrace(p *picture) Trace {
	n := p.word()
	action := fmt.Sprintf("action %d", n) // of a newer libtorch
	if n < uint64(len(actions)) {
		action = actions[n]
	}
	return Trace{action, p.word(), p.word(), p.word(), int64(p.word()), p.string(), p.string()}
}
