package cuda_test

import (
	endian "encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// counters are numbers of all sizes, as cgo/shim/memory.cc lists them.
func counters(scale uint64) (words []uint64) {
	const pools, singles, numbers, stat = 9 * 3, 2, 6, 4
	n := uint64(7)
	for range (pools+singles)*stat + numbers {
		n = n*6364136223846793005 + 1442695040888963407
		words = append(words, n%(scale+1))
	}
	words[len(words)-1] = math.MaxUint64 // max_split_size is -1
	words[0] = uint64(math.MaxUint64 - 2_000_000)
	return words
}

// The table of the counters is Python's, character by character.
func TestMemorySummaryEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	var got strings.Builder
	var maps []map[string]int64
	for _, scale := range []uint64{0, 900, 800_000, 5_000_000_000, 1 << 50} {
		stats := cuda.ReadStats(counters(scale))
		maps = append(maps, stats.Map())
		got.WriteString(stats.Summary(3, false) + stats.Summary(12, true))
	}
	text, err := json.Marshal(maps)
	require.NoError(t, err)
	want, err := peer.Command(t, filepath.Join("testdata", "summary.py"), string(text)).Output()
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// picture writes words and texts as cgo/shim/cuda/memory.cc does.
func picture(items ...any) string {
	var b []byte
	for _, item := range items {
		switch v := item.(type) {
		case int:
			b = endian.LittleEndian.AppendUint64(b, uint64(v))
		case float64:
			b = endian.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case string:
			b = append(endian.LittleEndian.AppendUint64(b, uint64(len(v))), v...)
		}
	}
	return string(b)
}

const base = 0x7f0000000000

func somePicture() cuda.Snapshot {
	const mb = 1 << 20
	return cuda.ReadSnapshot(picture(
		2, // segments
		0, base, 2*mb, 1000, 1024, 1536, 0, 0, 0, 0, 0,
		3, 1024, 1000, 1, 1, 512, 500, 0, 1, 2*mb-1536, 0, 0, 0,
		0, base+20*mb, 20*mb, 0, 0, 0, 0xabc, 1, 1, 0, 7, 1, 20*mb, 0, 0, 0,
		1, 6, // traces: of one device
		3, base, 2*mb, 0, 1_700_000_000_000_000, "", "",
		0, base, 1024, 0, 1_700_000_000_000_001, "", "weights é",
		1, base+1024, 512, 0, 1_700_000_000_000_002, "", "",
		2, base+1024, 512, 0, 1_700_000_000_000_003, "", "",
		8, 123, 1<<40, 0, 1_700_000_000_000_004, "", "",
		77, 0, 0, 0, 5, "", "",
		"max_split_size_mb:32", 32*mb, 0.75, 1, 1, 0, 0,
	))
}

func TestSnapshot(t *testing.T) {
	torchtest.NoLeaks(t)
	s := somePicture()
	require.Equal(t, cuda.NewPool(0, 7), s.Segments[1].Pool)
	require.Equal(t, cuda.Block{Size: 512, Requested: 500, InUse: true}, s.Segments[0].Blocks[1])
	require.Equal(t, "action 77", s.Traces[0][5].Action)
	require.Equal(t, "weights é", s.Traces[0][1].Metadata)

	path := filepath.Join(t.TempDir(), "snapshot.pickle")
	require.ErrorIs(t, s.Write(filepath.Join(path, "x")), os.ErrNotExist)
	s.Traces[0] = s.Traces[0][:5]
	require.NoError(t, s.Write(path))
	out, err := peer.Command(t, filepath.Join("testdata", "snapshot.py"), path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "read\n", string(out))
}

func TestProperties(t *testing.T) {
	words := make([]uint64, 34, 55)
	words[0], words[1] = endian.LittleEndian.Uint64([]byte("NVIDIA H")), endian.LittleEndian.Uint64([]byte("200\x00junk"))
	words[32], words[33] = 0x0706050403020100, 0x0f0e0d0c0b0a0908
	for i := range 18 {
		words = append(words, uint64(i+1))
	}
	p := cuda.ReadProperties(append(words, 0, 1, 1))
	require.Equal(t, cuda.Properties{
		Name: "NVIDIA H200", UUID: "00010203-0405-0607-0809-0a0b0c0d0e0f", Major: 1, Minor: 2, TotalMemory: 3, MultiProcessorCount: 4,
		WarpSize:                    5,
		MaxThreadsPerMultiProcessor: 6, MaxThreadsPerBlock: 7, RegsPerMultiprocessor: 8, SharedMemoryPerBlock: 9, SharedMemoryPerBlockOptin: 10,
		SharedMemoryPerMultiproc: 11, L2CacheSize: 12, MemoryBusWidth: 13, ClockRate: 14, MemoryClockRate: 15, PCIDomain: 16, PCIBus: 17,
		PCISlot:    18,
		IsMultiGPU: true, ECC: true,
	}, p)
	require.Equal(t, "NVIDIA H200 (capability 1.2, 0 MB, 4 multiprocessors)", p.String())
}
