package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCurves(t *testing.T) {
	dir := t.TempDir()
	table, drawn := filepath.Join(dir, "sgd.csv"), filepath.Join(dir, "both.svg")
	lines := filepath.Join(dir, "adam")
	require.NoError(t, os.Mkdir(lines, 0o755))
	require.NoError(t, os.WriteFile(table, []byte("step,tag,value\n1,loss,2\n2,loss,1\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(lines, "scalars.jsonl"), []byte(`{"step":1,"tag":"loss","value":3}`+"\n"), 0o644))
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"curves", table, "-o", drawn, lines}, &out))
	require.Equal(t, drawn+": 2 runs\n", out.String())
	svg, err := os.ReadFile(drawn)
	require.NoError(t, err)
	for _, text := range []string{"<text x=\"52\" y=\"20\">" + table, ">" + lines + "</text>", ">loss</text>"} {
		require.Contains(t, string(svg), text)
	}
	require.ErrorContains(t, run(t.Context(), []string{"curves"}, &out), "curves: expected RUN")
	require.ErrorIs(t, run(t.Context(), []string{"curves", drawn + "x"}, &out), os.ErrNotExist)
	require.ErrorContains(t, run(t.Context(), []string{"curves", table, "-o", filepath.Join(table, "x")}, &out), "cannot draw to ")
}
