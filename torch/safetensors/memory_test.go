//go:build linux

package safetensors_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// memoryChild is what the test runs itself with, to load the file in that variable into a model.
const memoryChild = "SAFETENSORS_MEMORY"

// rows is the size of the model's tensors, which are square.
const rows = 1024

func TestMain(m *testing.M) {
	if path := os.Getenv(memoryChild); path != "" {
		if err := loadAndTell(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// loadAndTell makes a model, loads the file into it and prints the peak of memory above what there was before.
func loadAndTell(path string) error {
	torch.Zeros(rows, rows).Close() // libtorch is there
	before, err := proc.Self()
	if err != nil {
		return err
	}
	r, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	tensors := map[string]torch.Tensor{}
	for _, name := range r.Names() {
		tensors[name] = torch.Zeros(rows, rows)
	}
	if err := r.Close(); err != nil {
		return err
	}
	if err := safetensors.LoadInto(path, func(yield func(string, torch.Tensor) bool) {
		for name, t := range tensors {
			if !yield(name, t) {
				return
			}
		}
	}); err != nil {
		return err
	}
	after, err := proc.Self()
	fmt.Println(after.Peak - before.Resident)
	return err
}

// A file goes into a model without a second copy: the process takes no more than the model, which is as large as
// the file, and a twentieth.
func TestPeakMemory(t *testing.T) {
	n := reliability.Size(125, 32) // tensors of 4 MB
	header, at := map[string]any{}, 0
	for i := range n {
		header[fmt.Sprint("w", i)] = map[string]any{"dtype": "F32", "shape": []int{rows, rows}, "data_offsets": []int{at, at + 4*rows*rows}}
		at += 4 * rows * rows
	}
	text, err := json.Marshal(header)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.safetensors")
	require.NoError(t, os.WriteFile(path, file(string(text), 0), 0o600))
	size := int64(8 + len(text) + at)
	require.NoError(t, os.Truncate(path, size)) // the rest is zeros that take no place on the disk
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), memoryChild+"="+path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	peak, err := strconv.Atoi(string(out[:len(out)-1]))
	require.NoError(t, err, string(out))
	reliability.AtMost(t, "safetensors into a model: peak memory by the size of the file", float64(peak)/float64(size), 1.05)
}
