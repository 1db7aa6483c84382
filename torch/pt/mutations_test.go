package pt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// mutationsVariable says how many files are bent and read, on all processors:
//
//	PT_MUTATIONS=15000000 go test ./torch/pt -run Mutations -timeout 2h
const mutationsVariable = "PT_MUTATIONS"

// edges are numbers that sums and products of them overflow.
var edges = []uint64{0, 1, 255, 1<<16 - 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<62 - 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// codes are bytes that mean something to a pickle machine.
const codes = "\x80\x95.N\x88\x89KMJ\x8a\x8bG\x8cX\x8dUTCB\x8e\x96]})\x8f(aesu\x90\x91t\x85\x86\x87c\x93R\x81bQhjqr\x94012"

// bent is a file with a few changes.
func bent(r *rand.Rand, files [][]byte) []byte {
	b := bytes.Clone(files[r.IntN(len(files))])
	for range 1 + r.IntN(4) {
		if len(b) == 0 {
			return b
		}
		at := r.IntN(len(b))
		n := min(1+r.IntN(16), len(b)-at)
		switch r.IntN(8) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = codes[r.IntN(len(codes))]
		case 2:
			b = append(b[:at:at], b[at+n:]...)
		case 3:
			b = append(b[:at+n:at+n], b[at:]...)
		case 4:
			other := files[r.IntN(len(files))]
			if len(other) > 0 {
				from := r.IntN(len(other))
				b = append(append(b[:at:at], other[from:min(from+64, len(other))]...), b[at:]...)
			}
		case 5:
			b = append(append(b[:at:at], codes[r.IntN(len(codes))]), b[at:]...)
		case 6:
			var edge [8]byte
			binary.LittleEndian.PutUint64(edge[:], edges[r.IntN(len(edges))])
			copy(b[at:], edge[:[]int{2, 4, 8}[r.IntN(3)]])
		case 7:
			b = b[:at]
		}
	}
	return b
}

// Files that were bent at random are read or refused: nothing panics, nothing hangs, nothing takes memory, no tensor
// is left.
func TestMutations(t *testing.T) {
	torchtest.NoLeaks(t)
	var files, pickles [][]byte
	for _, f := range corpusFiles(t) {
		if len(f) >= small {
			continue
		}
		files = append(files, f)
		if at, end := bytes.Index(f, []byte(proto)), bytes.Index(f, []byte("PK\x07\x08")); at >= 0 && end > at {
			pickles = append(pickles, f[at+len(proto):end])
		}
	}
	require.NotEmpty(t, pickles)
	reliability.Bent{
		Name: ".pt", Variable: mutationsVariable, Short: 20_000, Largest: 2 * small,
		Read: func(r *rand.Rand) ([]byte, bool) {
			b := bent(r, files)
			if r.IntN(2) == 0 {
				b = archived(string(bytes.TrimSuffix(bent(r, pickles), []byte("."))))
			}
			v, err := Read(bytes.NewReader(b), int64(len(b)), LoadOptions{Globals: []string{"a.B"}})
			if err == nil {
				Close(v)
			}
			return b, err == nil
		},
	}.Run(t)
}

// A large file in which what it says of itself was bent takes no more memory than its size allows.
func TestMutationsOfALargeFile(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "large.pt")
	torch.Scope(func() {
		dict := &Dict{}
		for i := range 8 {
			dict.Set(fmt.Sprint("weight", i), torch.Ones(2<<20))
		}
		require.NoError(t, Save(path, dict))
	})
	reliability.BentLarge(t, path, 100, func(path string) bool {
		v, err := Load(path, LoadOptions{Globals: []string{"a.B"}})
		if err == nil {
			Close(v)
		}
		return err == nil
	})
}
