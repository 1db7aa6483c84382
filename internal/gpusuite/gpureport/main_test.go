package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
)

const output = `=== RUN   TestCard
    suite_test.go:50: torch: device cuda:0: CUDA is not available: no | driver
--- SKIP: TestCard (0.01s)
=== RUN   TestBytes
=== ATTR  TestBytes figure {"name":"bytes","got":"0","bar":"0"}
=== RUN   TestBytes/inner
=== ATTR  TestBytes/inner figure {"name":"MB","got":"3"}
--- PASS: TestBytes (1.25s)
    --- PASS: TestBytes/inner (0.50s)
=== RUN   TestGraph
    graph_test.go:1: they differ
--- FAIL: TestGraph (2.00s)
FAIL
`

func TestReport(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "gpusuite.txt")
	require.NoError(t, os.WriteFile(path, []byte(output), 0o644))
	r := report{Machine: "a card", Date: "today"}
	require.NoError(t, r.collect([]string{path}))
	require.NoError(t, r.write(folder))
	want := []test{
		{"gpusuite", "TestCard", "SKIP", 0.01, "suite_test.go:50: torch: device cuda:0: CUDA is not available: no | driver", nil},
		{"gpusuite", "TestBytes", "PASS", 1.25, "", []reliability.Figure{{Name: "bytes", Got: "0", Bar: "0"}, {Name: "MB", Got: "3"}}},
		{"gpusuite", "TestGraph", "FAIL", 2, "graph_test.go:1: they differ", nil},
	}
	var back report
	text, err := os.ReadFile(filepath.Join(folder, "results.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, want, back.Tests)
	page, err := os.ReadFile(filepath.Join(folder, "results.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), "| gpusuite | TestBytes | PASS | 1.2 | bytes: 0 (0); MB: 3 |")
	require.Contains(t, string(page), "no / driver |")
	require.Contains(t, string(page), "1 passed, 1 failed, 1 skipped.")

	require.ErrorIs(t, (&report{}).collect([]string{path + "x"}), os.ErrNotExist)
	_, err = read(strings.NewReader("=== ATTR  T figure {"), "x")
	require.Error(t, err)
}
