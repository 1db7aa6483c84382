package profiler_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/profiler"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// chromeTrace is what viewers look at.
type chromeTrace struct {
	Events []struct {
		Phase    string         `json:"ph"`
		Category string         `json:"cat"`
		Name     string         `json:"name"`
		Start    float64        `json:"ts"`
		Duration float64        `json:"dur"`
		Args     map[string]any `json:"args"`
	} `json:"traceEvents"`
}

func TestExportChromeTrace(t *testing.T) {
	torchtest.NoLeaks(t)
	odd := []string{"plain: 50 % of it", "a\"b", "a\\b", "a\nb\tc\x01", "\xff", "große Schleife", "日本", "%%41", "100%%", ""}
	r := profile(t, profiler.Options{Activities: onCPU, RecordShapes: true, ProfileMemory: true}, func(*profiler.Profiler) {
		torch.Scope(func() { torch.Zeros(2, 3).ReLU() })
		for _, name := range odd {
			profiler.Record(name, func() {})
		}
	})
	dir := t.TempDir()
	plain, packed := filepath.Join(dir, "trace.json"), filepath.Join(dir, "trace.json.gz")
	require.NoError(t, r.ExportChromeTrace(plain))
	require.NoError(t, r.ExportChromeTrace(packed))
	require.ErrorIs(t, r.ExportChromeTrace(filepath.Join(dir, "no", "trace.json")), os.ErrNotExist)
	require.ErrorContains(t, r.ExportChromeTrace(dir), "cannot write the trace to "+dir)

	text, err := os.ReadFile(plain)
	require.NoError(t, err)
	require.True(t, utf8.Valid(text))
	var trace chromeTrace
	require.NoError(t, json.Unmarshal(text, &trace))
	seen := map[string]int{}
	for _, e := range trace.Events {
		seen[e.Category+" "+e.Name]++
		if e.Name == "aten::relu" {
			require.Equal(t, "X", e.Phase)
			require.Equal(t, []any{[]any{2.0, 3.0}}, e.Args["Input Dims"])
			require.Positive(t, e.Duration)
		}
	}
	require.Equal(t, 1, seen["cpu_op aten::relu"])
	require.Equal(t, 4, seen["cpu_instant_event [memory]"], "two tensors came and went")
	for _, name := range odd {
		require.Equal(t, 1, seen["user_annotation "+strings.ToValidUTF8(name, "\uFFFD")], "%q", name)
	}

	f, err := os.Open(packed)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	unpacked, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, string(text), string(unpacked))

	r.Close()
	r.Close()
	require.ErrorIs(t, r.ExportChromeTrace(plain), os.ErrClosed)
	require.Equal(t, 1, count(r, "aten::relu"), "events outlive the trace")
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "libtorch-go-trace-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
