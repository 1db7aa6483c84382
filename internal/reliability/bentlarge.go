package reliability

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/libtorch-go/libtorch/internal/proc"
)

// BentLarge bends a large file where it describes itself, at its ends, and has each read as a whole. It is a fault if
// the process grows by more than twice the file and 64 MB in a read. Read tells whether the file is sound, and keeps
// nothing; what the C library keeps of its memory for later reads is not counted.
func BentLarge(t *testing.T, path string, times int, read func(path string) (sound bool)) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ok(t, err)
	defer f.Close()
	info, err := f.Stat()
	ok(t, err)
	if !read(path) { // loads libtorch, whose memory is not the file's
		t.Fatal("the file is not sound to begin with")
	}
	const end = 4 << 10
	r := rand.New(rand.NewPCG(1, uint64(times)))
	var sound int64
	var grown int
	for range times {
		at := []int64{0, max(0, info.Size()-end)}[r.IntN(2)]
		whole := make([]byte, min(end, info.Size()))
		_, err := f.ReadAt(whole, at)
		ok(t, err)
		bent := append([]byte(nil), whole...)
		for range 1 + r.IntN(4) {
			bent[r.IntN(len(bent))] ^= 1 << r.IntN(8)
		}
		_, err = f.WriteAt(bent, at)
		ok(t, err)
		debug.FreeOSMemory()
		before, err := proc.Self()
		ok(t, err)
		ok(t, proc.ResetPeak(os.Getpid()))
		if read(path) {
			sound++
		}
		after, err := proc.Self()
		ok(t, err)
		grown = max(grown, after.Peak-before.Resident)
		_, err = f.WriteAt(whole, at)
		ok(t, err)
	}
	const mb = 1 << 20
	name := fmt.Sprintf("%s of %d MB, bent", filepath.Ext(path), info.Size()>>20)
	Note(t, name+" files that are sound", sound)
	AtMost(t, name+" files: memory that one takes", float64(grown)/mb, float64(2*info.Size())/mb+64, "MB")
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
