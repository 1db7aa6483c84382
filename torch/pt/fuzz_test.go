package pt

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/pickle"
)

// corpus are files, one a line, that the fuzzer found its way with: sound ones, hostile ones and what
// became of them.
//
//go:embed testdata/corpus.txt
var corpus string

// small is how long files are that the fuzzer can work with.
const small = 4 << 10

func corpusFiles(t testing.TB) (list [][]byte) {
	for lines := bufio.NewScanner(strings.NewReader(corpus)); lines.Scan(); {
		file, err := base64.StdEncoding.DecodeString(lines.Text())
		require.NoError(t, err)
		list = append(list, file)
	}
	return list
}

// FuzzRead reads files of strangers up to the point where tensors would be made, and what is
// sound as a whole:
//
//	go test ./torch/pt -run '^$' -fuzz FuzzRead -fuzztime 60s
func FuzzRead(f *testing.F) {
	for _, file := range corpusFiles(f) {
		f.Add(file)
	}
	for _, c := range hostile() {
		if len(c.file) < small {
			f.Add(c.file)
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
	for _, c := range hostile() {
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

func TestCorpusIsThere(t *testing.T) {
	require.GreaterOrEqual(t, len(corpusFiles(t)), 500)
}
