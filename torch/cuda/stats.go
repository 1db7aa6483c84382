package cuda

import (
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
)

// Stat is one counter of the allocator.
type Stat struct {
	Current, Peak    int64 // now, and at most since the last [ResetPeakMemory]
	Allocated, Freed int64 // added and taken away since the last [ResetAccumulatedMemory]
}

// Pools is a Stat of all memory, and of the pools for blocks of less than 1 MB and of more.
type Pools struct{ All, Small, Large Stat }

// Stats are all counters of the allocator on a device. The names are PyTorch's.
type Stats struct {
	Allocation         Pools // tensors' blocks
	Segment            Pools // pieces of memory from the driver
	Active             Pools // blocks in use, or waiting for a stream
	InactiveSplit      Pools // free blocks that cannot go back to the driver, because the rest of their segment is in use
	AllocatedBytes     Pools
	ReservedBytes      Pools // from the driver
	ActiveBytes        Pools
	InactiveSplitBytes Pools
	RequestedBytes     Pools // by tensors, before rounding

	OversizeAllocations, OversizeSegments Stat

	NumAllocRetries   int64 // allocations that had to empty the cache first
	NumOOMs           int64 // allocations that failed
	NumSyncAllStreams int64 // waits for all streams, to free what they used
	NumDeviceAlloc    int64 // calls of cudaMalloc and cuMemMap
	NumDeviceFree     int64
	MaxSplitSize      int64 // larger blocks are not split; -1 is no limit
}

// MemoryStats reads all counters of a device; zeros before its first use.
func MemoryStats(device int) Stats { return readStats(on(cgo.OpDeviceStats, device).Words(0)) }

// readStats takes the counters in the order in which cgo/shim/memory.cc lists them.
func readStats(words []uint64) (s Stats) {
	for _, group := range s.groups() {
		for _, stat := range group.stats {
			for _, at := range []*int64{&stat.Current, &stat.Peak, &stat.Allocated, &stat.Freed} {
				*at, words = int64(words[0]), words[1:]
			}
		}
	}
	for _, n := range s.numbers() {
		*n.at, words = int64(words[0]), words[1:]
	}
	return s
}

// group are the Stats of one name: three of pools, or one.
type group struct {
	name, title string
	stats       []*Stat
	bytes       bool
}

var poolNames = [...]string{"all", "small_pool", "large_pool"}

func (s *Stats) groups() []group {
	pools := func(name, title string, p *Pools, bytes bool) group {
		return group{name, title, []*Stat{&p.All, &p.Small, &p.Large}, bytes}
	}
	return []group{
		pools("allocation", "Allocations", &s.Allocation, false),
		pools("segment", "GPU reserved segments", &s.Segment, false),
		pools("active", "Active allocs", &s.Active, false),
		pools("inactive_split", "Non-releasable allocs", &s.InactiveSplit, false),
		pools("allocated_bytes", "Allocated memory", &s.AllocatedBytes, true),
		pools("reserved_bytes", "GPU reserved memory", &s.ReservedBytes, true),
		pools("active_bytes", "Active memory", &s.ActiveBytes, true),
		pools("inactive_split_bytes", "Non-releasable memory", &s.InactiveSplitBytes, true),
		pools("requested_bytes", "Requested memory", &s.RequestedBytes, true),
		{"oversize_allocations", "Oversize allocations", []*Stat{&s.OversizeAllocations}, false},
		{"oversize_segments", "Oversize GPU segments", []*Stat{&s.OversizeSegments}, false},
	}
}

// number is a counter that is not a Stat.
type number struct {
	name string
	at   *int64
}

func (s *Stats) numbers() []number {
	return []number{
		{"num_alloc_retries", &s.NumAllocRetries}, {"num_ooms", &s.NumOOMs}, {"num_sync_all_streams", &s.NumSyncAllStreams},
		{"num_device_alloc", &s.NumDeviceAlloc}, {"num_device_free", &s.NumDeviceFree}, {"max_split_size", &s.MaxSplitSize},
	}
}

// Map has the counters under PyTorch's names: "allocated_bytes.all.peak", "num_ooms".
func (s Stats) Map() map[string]int64 {
	m := map[string]int64{}
	for _, g := range s.groups() {
		for i, stat := range g.stats {
			name := g.name + "."
			if len(g.stats) > 1 {
				name += poolNames[i] + "."
			}
			m[name+"current"], m[name+"peak"], m[name+"allocated"], m[name+"freed"] = stat.Current, stat.Peak, stat.Allocated, stat.Freed
		}
	}
	for _, n := range s.numbers() {
		m[n.name] = *n.at
	}
	return m
}

// MemorySummary is PyTorch's table of the counters of a device. An abbreviated one leaves out
// the two pools.
func MemorySummary(device int, abbreviated bool) string {
	device = resolve("memory_summary", device)
	return MemoryStats(device).summary(device, abbreviated)
}

// rows is the order of the table, by index in groups; a line stands between two.
var rows = [...]int{4, 6, 8, 5, 7, 0, 2, 1, 3, 9, 10}

func (s Stats) summary(device int, abbreviated bool) string {
	const width = 75
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "|"+format+"|\n", args...) }
	rule := func(of string) { line("%s", strings.Repeat(of, width)) }
	rule("=")
	line(" %16s PyTorch CUDA memory summary, device ID %-17d ", "", device)
	rule("-")
	line("  %9s CUDA OOMs: %-12d | %6s cudaMalloc retries: %-8d  ", "", s.NumOOMs, "", s.NumAllocRetries)
	rule("=")
	line("        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ")
	groups := s.groups()
	for _, i := range rows {
		g := groups[i]
		rule("-")
		row := func(title string, stat *Stat) {
			unit := g.stats[0] // the first line's numbers decide on the units of all
			line(" %-21s | %s | %s | %s | %s ", title, g.format(stat.Current, unit.Current), g.format(stat.Peak, unit.Peak),
				g.format(stat.Allocated, unit.Allocated), g.format(stat.Freed, unit.Freed))
		}
		row(g.title, g.stats[0])
		if len(g.stats) > 1 && !abbreviated {
			row("      from large pool", g.stats[2])
			row("      from small pool", g.stats[1])
		}
	}
	rule("=")
	return b.String()
}

// format writes a number in the unit chosen for another one.
func (g group) format(n, like int64) string {
	units, step, enough, width, after := []string{" ", "K", "M"}, int64(1000), 750e3, 7, " "
	if g.bytes {
		units, step, enough, width, after = []string{"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"}, 1024, 768*1024, 6, ""
	}
	unit, size := 0, float64(like)
	for unit < len(units)-1 && size >= enough {
		unit, size, n = unit+1, size/float64(step), floorDiv(n, step)
	}
	return fmt.Sprintf("%*d %s%s", width, n, units[unit], after)
}

// floorDiv is Python's //, which differs from Go's / below zero.
func floorDiv(n, d int64) int64 {
	q := n / d
	if n%d < 0 {
		q--
	}
	return q
}
