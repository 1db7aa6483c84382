package reliability

import (
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libtorch-go/libtorch/internal/proc"
)

// Bent is a reader that gets files which were bent at random.
type Bent struct {
	Name     string
	Variable string                                       // says in the environment how many files there are
	Short    int64                                        // how many there are without it
	Largest  int                                          // bytes of a file
	Read     func(r *rand.Rand) (file []byte, sound bool) // bends a file and reads it
}

// garbage is how many files are bent before what is left of them is collected, and nothing else collects it: they make a gigabyte of it in
// a second, and the memory that counts is what it takes to read them, not what a collector that had to wait for its turn has not come to.
const garbage = 64

// Run has the files read on all processors. It is a fault if one takes ten seconds, or if all processors together
// come to take more memory than twice the largest file and 64 MB.
func (b Bent) Run(t *testing.T) {
	total := b.Short
	if n, err := strconv.ParseInt(os.Getenv(b.Variable), 10, 64); err == nil {
		total = n
	}
	warm := rand.New(rand.NewPCG(0, 0))
	for range 500 { // they load libtorch, whose memory is not the files'
		b.Read(warm)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	debug.FreeOSMemory()
	ok(t, proc.ResetPeak(os.Getpid()))
	before, err := proc.Self()
	ok(t, err)
	var done, slowest, sound, largest atomic.Int64
	ended := make(chan struct{})
	var told, all sync.WaitGroup
	told.Go(func() { progress(t, ended, &done, total) })
	for worker := range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), uint64(total)))
			for n := done.Add(1); n <= total; n = done.Add(1) {
				began := time.Now()
				file, isSound := b.Read(r)
				most(&slowest, int64(time.Since(began)))
				most(&largest, int64(len(file)))
				if isSound {
					sound.Add(1)
				}
				if n%garbage == 0 {
					runtime.GC()
				}
			}
		})
	}
	all.Wait()
	close(ended)
	told.Wait()
	after, err := proc.Self()
	ok(t, err)
	Note(t, b.Name+", bent files", total)
	Note(t, b.Name+", bent files that are sound", sound.Load())
	AtMost(t, b.Name+", bent files: largest", largest.Load(), int64(b.Largest), "bytes")
	AtMost(t, b.Name+", bent files: slowest", time.Duration(slowest.Load()).Seconds(), 10, "s")
	const mb = 1 << 20
	AtMost(t, b.Name+", bent files: memory", float64(after.Peak-before.Resident)/mb, float64(2*b.Largest)/mb+64, "MB")
	AtLeast(t, b.Name+", bent files that are sound", sound.Load(), 1)
}

// progress says each minute how many files have been read: millions take an hour.
func progress(t *testing.T, ended <-chan struct{}, done *atomic.Int64, total int64) {
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	for {
		select {
		case <-ended:
			return
		case <-minute.C:
			t.Logf("%d of %d files", done.Load(), total)
		}
	}
}

// most keeps the largest of all numbers.
func most(in *atomic.Int64, n int64) {
	for old := in.Load(); n > old; old = in.Load() {
		if in.CompareAndSwap(old, n) {
			return
		}
	}
}
