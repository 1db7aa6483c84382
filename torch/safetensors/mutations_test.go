package safetensors

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mutationsVariable says how many headers are bent and read, on all processors:
//
//	SAFETENSORS_MUTATIONS=15000000 go test ./torch/safetensors -run Mutations -timeout 2h
const mutationsVariable = "SAFETENSORS_MUTATIONS"

var sound = []string{
	`{}`, `{"__metadata__":{"a":"b","c":"ü"},"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`,
	`{"x":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]},"y":{"dtype":"BF16","shape":[0,7],` +
		`"data_offsets":[1,1]},"z":{"shape":[1],"dtype":"C64","data_offsets":[1,9]}}`,
	`{"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4],"more":{"x":[1,{"y":null}]}},"b":{"dtype":"U64",` +
		`"shape":[1,1,1],"data_offsets":[4,12]}}   `,
}

// pieces are what headers are made of, and numbers at the edge.
var pieces = []string{`{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, `\u0000`, `\ud800`, ` `, `-1`, `0`, `1e3`, `0.5`,
	`18446744073709551615`, `9223372036854775807`,
	`4611686018427387904`, `"x"`, `"dtype"`, `"F32"`, `"F4"`, `"shape"`, `"data_offsets"`, `"__metadata__"`, `null`, `true`, "\x00",
	"\xff", "ü",
	`{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, `[[[[[[[[[[[[[[[[`, `{"a":{"a":{"a":{"a":`}

func bent(r *rand.Rand) []byte {
	which := r.IntN(len(sound))
	header, data := []byte(sound[which]), []int{0, 24, 9, 12}[which]
	for range r.IntN(4) {
		at := r.IntN(len(header) + 1)
		n := min(r.IntN(12), len(header)-at)
		switch r.IntN(4) {
		case 0:
			header = append(header[:at:at], header[at+n:]...)
		case 1:
			header = append(append(header[:at:at], pieces[r.IntN(len(pieces))]...), header[at:]...)
		case 2:
			header = append(append(header[:at:at], pieces[r.IntN(len(pieces))]...), header[at+n:]...)
		case 3:
			if at < len(header) {
				header[at] ^= 1 << r.IntN(8)
			}
		}
	}
	length := uint64(len(header))
	if r.IntN(16) == 0 {
		length = []uint64{0, 1, length + 1, length - 1, 1 << 27, 1 << 62, 1 << 63, 1<<64 - 1}[r.IntN(8)]
	}
	b := append(binary.LittleEndian.AppendUint64(nil, length), header...)
	if r.IntN(4) == 0 {
		data = r.IntN(32)
	}
	return append(b, make([]byte, data)...)
}

// Headers that were bent at random are read or refused: nothing panics, hangs or takes memory.
func TestMutations(t *testing.T) {
	total := int64(30_000)
	if n, err := strconv.ParseInt(os.Getenv(mutationsVariable), 10, 64); err == nil {
		total = n
	}
	var done, slowest, accepted atomic.Int64
	var all sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), uint64(total)))
			for n := done.Add(1); n <= total; n = done.Add(1) {
				b := bent(r)
				began := time.Now()
				if _, _, err := readHeader(bytes.NewReader(b), int64(len(b))); err == nil {
					accepted.Add(1)
				}
				if took := int64(time.Since(began)); took > slowest.Load() {
					slowest.Store(took)
				}
			}
		})
	}
	all.Wait()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d headers, %d sound, the slowest in %v, %d MB from the system", total, accepted.Load(), time.Duration(slowest.Load()), m.Sys>>20)
	require.Positive(t, accepted.Load())
	require.Less(t, slowest.Load(), int64(10*time.Second))
	require.Less(t, m.Sys, uint64(512<<20))
}
