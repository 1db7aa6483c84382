package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// The files of a checkpoint.
const (
	dataFile     = "checkpoint.pt"
	manifestFile = "manifest.json"
)

// formatVersion is that of the manifest.
const formatVersion = 1

// manifest is what a checkpoint says of itself.
type manifest struct {
	Format  int              `json:"format"`
	Epoch   int              `json:"epoch"`
	Batch   int              `json:"batch"`
	Step    int              `json:"step"`
	Metric  string           `json:"metric"` // a text, because JSON has no NaN
	User    json.RawMessage  `json:"user"`
	Bytes   int64            `json:"bytes"`  // of checkpoint.pt
	CRC32C  uint32           `json:"crc32c"` // of checkpoint.pt
	Tensors map[string]entry `json:"tensors"`
}

func (m *manifest) metric() float64 {
	f, err := strconv.ParseFloat(m.Metric, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// entry is what the manifest says of a tensor.
type entry struct {
	DType  string `json:"dtype"`
	Shape  []int  `json:"shape"`
	CRC32C uint32 `json:"crc32c"` // of its elements in row-major order
}

// sealed is a manifest with its hash.
type sealed struct {
	Manifest json.RawMessage `json:"manifest"`
	SHA256   string          `json:"sha256"`
}

// DamageError says what is wrong with a checkpoint that cannot be trusted.
type DamageError struct {
	Path string
	Err  error
}

// Error names the checkpoint.
func (e *DamageError) Error() string {
	return fmt.Sprintf("checkpoint: %s is damaged: %v", e.Path, e.Err)
}

// Unwrap is what is wrong.
func (e *DamageError) Unwrap() error { return e.Err }

// seal is the text of a manifest, in the one form that it has.
func (m *manifest) seal() ([]byte, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	whole, err := json.Marshal(sealed{text, hex.EncodeToString(sum[:])})
	return append(whole, '\n'), err
}

// readManifest reads a manifest that is as it was written.
func readManifest(path string) (*manifest, error) {
	text, err := os.ReadFile(filepath.Join(path, manifestFile))
	if err != nil {
		return nil, err
	}
	var s sealed
	m := &manifest{}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("its manifest: %w", err)
	}
	if err := json.Unmarshal(s.Manifest, m); err != nil {
		return nil, fmt.Errorf("its manifest: %w", err)
	}
	if m.Format != formatVersion {
		return nil, fmt.Errorf("its manifest has format %d, expected %d", m.Format, formatVersion)
	}
	if again, err := m.seal(); err != nil || !bytes.Equal(again, text) {
		return nil, errors.New("its manifest is not as it was written")
	}
	return m, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// verify compares the file with the manifest, byte by byte.
func (m *manifest) verify(path string) error {
	f, err := os.Open(filepath.Join(path, dataFile))
	if err != nil {
		return err
	}
	defer f.Close()
	sum := crc32.New(castagnoli)
	n, err := io.CopyBuffer(sum, struct{ io.Reader }{f}, make([]byte, buffer))
	switch {
	case err != nil:
		return err
	case n != m.Bytes:
		return fmt.Errorf("%s has %d bytes, expected %d", dataFile, n, m.Bytes)
	case sum.Sum32() != m.CRC32C:
		return fmt.Errorf("the sum of %s is %08x, expected %08x%s", dataFile, sum.Sum32(), m.CRC32C, m.blame(path))
	}
	return nil
}

// blame names the tensors that differ, as far as the file can be read.
func (m *manifest) blame(path string) string {
	v, err := pt.Load(filepath.Join(path, dataFile))
	if err != nil {
		return ""
	}
	defer pt.Close(v)
	text := ""
	_ = torch.Try(func() {
		for name, e := range entries(v, "") {
			if was, ok := m.Tensors[name]; ok && was.CRC32C != e.CRC32C {
				text += "; " + name + " differs"
			}
		}
	})
	return text
}

// buffer is how many bytes are handled at a time.
const buffer = 1 << 20

// entries are the tensors of a value by their places in it, with their sums.
func entries(v any, at string) map[string]entry {
	list := map[string]entry{}
	visit(v, at, func(name string, t torch.Tensor) {
		list[name] = entry{t.DType().String(), t.Shape(), sumOf(t)}
	})
	return list
}

func visit(v any, at string, see func(string, torch.Tensor)) {
	switch v := v.(type) {
	case torch.Tensor:
		see(at, v)
	case pt.Parameter:
		see(at, v.Tensor)
	case *pt.Dict:
		for key, value := range v.All() {
			visit(value, join(at, key), see)
		}
	case []any:
		for i, value := range v {
			visit(value, join(at, i), see)
		}
	}
}

func join(at string, key any) string {
	if at == "" {
		return fmt.Sprint(key)
	}
	return fmt.Sprint(at, ".", key)
}

// sumOf is the CRC32C of a tensor's elements in row-major order.
func sumOf(t torch.Tensor) (sum uint32) {
	torch.Scope(func() {
		torch.NoGrad(func() {
			flat := t.Detach().To(torch.CPU).Contiguous().View(-1)
			item := flat.ElementSize()
			b := make([]byte, min(buffer/item, max(flat.NumEl(), 1))*item)
			for at, n := 0, flat.NumEl(); at < n; at += len(b) / item {
				part := b[:min(len(b)/item, n-at)*item]
				torch.Scope(func() { bridge.Bytes(flat.Narrow(0, at, len(part)/item), part) })
				sum = crc32.Update(sum, castagnoli, part)
			}
		})
	})
	return sum
}
