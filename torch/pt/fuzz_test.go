package pt

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/pickle"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// corpus are files that the fuzzer begins with: sound ones, sound ones that were bent, hostile ones
// and those that it found.
const corpus = "testdata/corpus.zip"

// small is how long files are that the fuzzer can work with.
const small = 4 << 10

func corpusFiles(t testing.TB) (list [][]byte) {
	z, err := zip.OpenReader(corpus)
	require.NoError(t, err)
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		file, err := io.ReadAll(r)
		require.NoError(t, err)
		list = append(list, file)
	}
	return list
}

// FuzzRead reads files of strangers up to the point where tensors would be made, and what is
// sound as a whole:
//
//	go test ./torch/pt -run '^$' -fuzz FuzzRead -fuzztime 60s -fuzzminimizetime 10x
func FuzzRead(f *testing.F) {
	for _, file := range corpusFiles(f) {
		if len(file) < small {
			f.Add(file)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		start := time.Now()
		v, err := Read(bytes.NewReader(file), int64(len(file)))
		if err == nil {
			Close(v)
		}
		require.Less(t, time.Since(start), 10*time.Second)
	})
}

// FuzzPickle is about the pickle alone, which is most of what can be wrong: it finds its way faster.
func FuzzPickle(f *testing.F) {
	for _, c := range hostile {
		if at := bytes.Index(c.file, []byte(proto)); at >= 0 && len(c.file) < small {
			f.Add(c.file[at:])
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := &decoder{builders: allBuilders(), globals: map[string]bool{"a.B": true}, most: 1 << 20, storages: map[string]*storage{
			"0": {key: "0", size: 64}, "1": {key: "1", size: 0},
		}}
		v, _, err := pickle.Read(bytes.NewReader(text), 0, int64(len(text)), pickle.Limits{Budget: 8 << 20, Allow: d.allow})
		if err == nil {
			_ = d.check(v)
		}
	})
}

// Nothing of the corpus panics, hangs or leaves a tensor.
func TestCorpus(t *testing.T) {
	torchtest.NoLeaks(t)
	files := corpusFiles(t)
	require.GreaterOrEqual(t, len(files), 500)
	for _, file := range files {
		if v, err := Read(bytes.NewReader(file), int64(len(file))); err == nil {
			Close(v)
		}
	}
}
