package jit_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestInspect(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(modules(t), "outer.pt")
	info, err := jit.Inspect(t.Context(), path, jit.InspectOptions{Sample: []jit.Sample{{DType: torch.Float32, Shape: []int{3, 4}}}})
	require.NoError(t, err)
	m, err := jit.LoadTrusted(path, jit.LoadOptions{SHA256: info.SHA256})
	require.NoError(t, err)
	defer m.Close()
	require.Equal(t, m.Methods(), info.Methods)
	require.Equal(t, m.Attributes(), info.Attributes)
	require.Equal(t, m.String(), info.Tree)
	require.Equal(t, []any{"Outer", 6, int64(64 + 8 + 64 + 8 + 32 + 8), false}, []any{info.Name, info.Tensors, info.Bytes, info.Stateful})
}

// What a file does to its process, it does to a child.
func TestInspectRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	save := func(name, source string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, define(t, source).Save(path))
		return path
	}
	damaged := filepath.Join(dir, "damaged.pt")
	require.NoError(t, os.WriteFile(damaged, []byte("damaged"), 0o600))
	zeros := jit.InspectOptions{Sample: []jit.Sample{{DType: torch.Float32, Shape: []int{2}}}, Timeout: 5 * time.Minute}
	_, err := jit.Inspect(t.Context(), damaged)
	require.ErrorContains(t, err, "refused in a process of its own: not a sound file")
	_, err = jit.Inspect(t.Context(), save("memory", "def forward(self, x):\n    return torch.zeros([1 << 40]) + x"), zeros)
	require.ErrorContains(t, err, "would pass the limit")
	_, err = jit.Inspect(t.Context(), save("wrong", "def forward(self, x):\n    return torch.mm(x, x)"), zeros)
	require.ErrorContains(t, err, "self must be a matrix")
	_, err = jit.Inspect(t.Context(), filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)

	loop := save("loop", "def forward(self, x):\n    while True:\n        x = x + 1\n    return x")
	quick := jit.InspectOptions{Sample: zeros.Sample, Timeout: 3 * time.Second}
	_, err = jit.Inspect(t.Context(), loop, quick)
	var failed *jit.InspectError
	require.ErrorAs(t, err, &failed)
	require.Error(t, failed.Err)
	require.NotEmpty(t, failed.Error())
	_, err = jit.Inspect(t.Context(), loop, jit.InspectOptions{Command: []string{"true"}})
	require.ErrorContains(t, err, "did not call jit.InspectChild")

	const growing = "def forward(self, x):\n    l = [x]\n    while True:\n        l.append(torch.ones([1 << 26]))\n    return torch.cat(l)"
	small := jit.InspectOptions{Sample: zeros.Sample, Memory: 1 << 30, Timeout: 5 * time.Minute}
	_, err = jit.Inspect(t.Context(), save("growing", growing), small)
	require.ErrorAs(t, err, &failed)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	t.Log(err)
}
