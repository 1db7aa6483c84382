package main

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A program of Python's is shown and run.
func TestProgram(t *testing.T) {
	torchtest.NoLeaks(t)
	const program = "testdata/linear.pt2"
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"show", program}, &out))
	require.Contains(t, out.String(), `linear: "f32[s77, 5]" = torch.ops.aten.linear.default(x, w);  x = w = None`)

	dir := t.TempDir()
	in, results := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "out.safetensors")
	torch.Scope(func() {
		x, w := torch.RandN(3, 4), torch.RandN(5, 4)
		require.NoError(t, safetensors.Save(in, maps.All(map[string]torch.Tensor{"x": x, "w": w})))
		require.NoError(t, run(t.Context(), []string{"run", program, "-input", in, "-output", results}, &out))
		file, err := safetensors.Load(results)
		require.NoError(t, err)
		defer file.Close()
		torchtest.AllClose(t, file.Tensors["relu"], x.MatMul(w.T()).ReLU())
		out.Reset()
		require.NoError(t, run(t.Context(), []string{"run", "-input", in, program}, &out))
		require.Contains(t, out.String(), "relu = tensor(")
		require.NoError(t, run(t.Context(), []string{"run", program, "-exact", "-input", in, "-output", results}, &out))
		exact, err := safetensors.Load(results)
		require.NoError(t, err)
		defer exact.Close()
		torchtest.Equal(t, exact.Tensors["relu"], functional.Linear(x, w).ReLU())
	})
	out.Reset()
	require.NoError(t, run(t.Context(), []string{"bench", "-input", in, "-rounds", "3", program}, &out))
	const numbers = `[0-9.]+ \([0-9.]+ to [0-9.]+\)`
	const row = ` +[0-9.]+ ms, median ` + numbers + `, ` + numbers + ` times as fast, difference [0-9.e+-]+\n`
	require.Regexp(t, `^(bfloat16 .*\n)?node by node`+row+`exact`+row+`fused`+row+`(bfloat16`+row+`)?bf16 weights`+row+
		`int8 weights`+row+`int8`+row+`$`, out.String())
	require.ErrorContains(t, run(t.Context(), []string{"run", program}, &out), "expected -input")
	require.ErrorContains(t, run(t.Context(), []string{"bench", program}, &out), "expected -input")
	require.ErrorContains(t, run(t.Context(), []string{"bench", "-input", program, program}, &out), "safetensors")
	require.ErrorContains(t, run(t.Context(), []string{"show", in}, &out), "not a sound file of torch.export.save")
}

// What a program cannot be measured in is said, and why; when it is interrupted, it ends.
func TestBenchSaysWhatIsLeftOut(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	in, path := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "exp.pt2")
	torch.Scope(func() {
		x := torch.RandN(3, 4).To(torch.Float64)
		program, err := export.Export(torch.Tensor.Exp, []any{x})
		require.NoError(t, err)
		defer program.Close()
		require.NoError(t, program.Save(path))
		require.NoError(t, safetensors.Save(in, maps.All(map[string]torch.Tensor{"x": x})))
	})
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"bench", "-input", in, "-rounds", "1", path}, &out))
	require.Regexp(t, `(?m)^int8 +export: Calibrate: .* computes nothing in float32$`, out.String())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out.Reset()
	require.ErrorIs(t, run(ctx, []string{"bench", "-input", in, path}, &out), context.Canceled)
	require.Empty(t, out.String())
}
