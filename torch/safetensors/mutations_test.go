package safetensors_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// mutationsVariable says how many files are bent and read, on all processors:
//
//	SAFETENSORS_MUTATIONS=15000000 go test ./torch/safetensors -run Mutations -timeout 2h
const mutationsVariable = "SAFETENSORS_MUTATIONS"

// bent is a file in which bytes anywhere are changed, doubled, taken away or another file's.
func bent(r *rand.Rand, files [][]byte) []byte {
	b := bytes.Clone(pick(r, files))
	for range r.IntN(4) {
		at := r.IntN(len(b) + 1)
		n := min(1+r.IntN(16), len(b)-at)
		switch r.IntN(6) {
		case 0:
			if n > 0 {
				b[at] ^= 1 << r.IntN(8)
			}
		case 1:
			b = append(b[:at:at], b[at+n:]...)
		case 2:
			b = append(b[:at+n:at+n], b[at:]...)
		case 3:
			b = append(append(b[:at:at], pick(r, tokens)...), b[at:]...)
		case 4:
			other := pick(r, files)
			from := r.IntN(len(other) + 1)
			b = append(append(b[:at:at], other[from:min(from+64, len(other))]...), b[at:]...)
		case 5:
			b = b[:at]
		}
	}
	return b
}

// small is how long files are that are bent: all lengths that matter are written in a few digits.
const small = 2 << 10

// tokens are what headers are made of, and numbers at the edge.
var tokens = []string{
	`{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, `\u0000`, `\ud800`, ` `, `-1`, `0`, `1e3`, `0.5`, `18446744073709551615`,
	`9223372036854775807`, `4611686018427387904`, `"x"`, `"dtype"`, `"F32"`, `"F4"`, `"shape"`, `"data_offsets"`, `"__metadata__"`,
	`null`, `true`, "\x00", "\xff", "ü", `{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, `[[[[[[[[[[[[[[[[`, `{"a":{"a":{"a":{"a":`,
}

// corpus are files that are bent: sound ones and hostile ones.
func corpus() (files [][]byte) {
	for r := rand.New(rand.NewPCG(3, 4)); len(files) < 2000; {
		if b, _ := hostile(r); len(b) < small {
			files = append(files, b)
		}
	}
	return files
}

// FuzzRead has Go's fuzzer bend files:
//
//	go test ./torch/safetensors -run '^$' -fuzz FuzzRead -fuzztime 60s -fuzzminimizetime 10x
func FuzzRead(f *testing.F) {
	for _, b := range corpus() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		start := time.Now()
		file, err := safetensors.Read(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			file.Close()
		}
		require.Less(t, time.Since(start), 10*time.Second)
	})
}

// Files that were bent at random are read or refused: nothing panics, hangs, takes memory or leaves a tensor.
func TestMutations(t *testing.T) {
	torchtest.NoLeaks(t)
	files := corpus()
	reliability.Bent{
		Name: "safetensors", Variable: mutationsVariable, Short: 20_000, Largest: 2 * small,
		Read: func(r *rand.Rand) ([]byte, bool) {
			b := bent(r, files)
			file, err := safetensors.Read(bytes.NewReader(b), int64(len(b)))
			if err == nil {
				file.Close()
			}
			return b, err == nil
		},
	}.Run(t)
}

// A large file whose header was bent takes no more memory than its size allows.
func TestMutationsOfALargeFile(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "large.safetensors")
	torch.Scope(func() {
		tensors := map[string]torch.Tensor{}
		for i := range 8 {
			tensors[fmt.Sprint("weight", i)] = torch.Ones(2 << 20)
		}
		require.NoError(t, safetensors.Save(path, maps.All(tensors)))
	})
	reliability.BentLarge(t, path, 100, func(path string) bool {
		file, err := safetensors.Load(path)
		if err == nil {
			file.Close()
		}
		return err == nil
	})
}
