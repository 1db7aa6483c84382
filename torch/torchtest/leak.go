package torchtest

import (
	"strings"
	"testing"
	"time"

	"github.com/libtorch-go/libtorch/torch"
)

// NoLeaks fails the test, when it ends, unless as many tensors are open, as many bytes of host
// memory in use and as many hooks and custom functions held as now. Tensors without a Close are fine as long as nothing refers
// to them: the garbage collector gets its chance first.
//
// Call it first, in tests that do not run in parallel with others. Cleanups registered
// after it run before it looks.
func NoLeaks(t testing.TB) {
	t.Helper()
	before := settle(nil)
	t.Cleanup(func() {
		if after := settle(&before); !same(after, before) {
			t.Errorf("open tensors: %d before, %d after; bytes of host memory: %d before, %d after; Go values in graphs: %d before, %d after%s",
				before.Live(), after.Live(), before.HostBytes, after.HostBytes, before.Callbacks, after.Callbacks, origins())
		}
	})
}

// settle collects garbage until the counts are as wanted, or, for nil, no longer fall. One
// round may not do: what the first frees may have kept something else alive, and on a busy
// machine the runtime gets to its cleanups late.
func settle(want *torch.MemoryStats) torch.MemoryStats {
	const rounds, calm, pause = 200, 2, 5 * time.Millisecond
	torch.GC()
	stats, unchanged := torch.Stats(), 0
	for range rounds {
		if want != nil && same(stats, *want) {
			break
		}
		time.Sleep(pause)
		torch.GC()
		next := torch.Stats()
		if unchanged++; !same(next, stats) {
			unchanged = 0
		}
		if stats = next; want == nil && unchanged == calm {
			break
		}
	}
	return stats
}

func same(a, b torch.MemoryStats) bool {
	return a.Live() == b.Live() && a.HostBytes == b.HostBytes && a.Callbacks == b.Callbacks
}

func origins() string {
	list := torch.LiveOrigins()
	if len(list) == 0 {
		return "\nbuild with -tags torchdebug to see where the open tensors were made"
	}
	return "\nopen tensors were made at\n" + strings.Join(list, "\n")
}
