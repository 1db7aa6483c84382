package serve_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// load makes a model of a program.
func load(t *testing.T, path string) serve.Model {
	t.Helper()
	p, err := export.Load(path)
	require.NoError(t, err)
	m, err := serve.Program(p)
	require.NoError(t, err)
	return m
}

// A program of Python's has Python's names, and row by row Python's bits.
func TestProgram(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	dir := t.TempDir()
	out, err := peer.Command(t, "testdata/program.py", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	v, err := pt.Load(filepath.Join(dir, "net.pt"))
	require.NoError(t, err)
	defer pt.Close(v)
	var python []torch.Tensor
	for _, own := range v.([]any) {
		python = append(python, own.(torch.Tensor))
	}
	s := start(t, load(t, filepath.Join(dir, "net.pt2")), serve.Options{MaxBatch: 16})
	sig := s.Signature()
	require.Equal(t, []serve.Spec{spec("pair_0", -1, 2), spec("pair_1", -1, 4), spec("offset", -1, 1)}, sig.Inputs)
	require.Equal(t, []serve.Spec{spec("scores", -1, 5), {Name: "best", DType: torch.Int64, Shape: []int{-1}}}, sig.Outputs)
	torch.Scope(func() {
		got, err := s.Run(t.Context(), python[:3]...)
		require.NoError(t, err)
		torchtest.Equal(t, got[0], python[3])
		torchtest.Equal(t, got[1], python[4])
	})
	for _, o := range []export.CompileOptions{{}, {Exact: true, DType: torch.BFloat16}} {
		p, err := export.Load(filepath.Join(dir, "net.pt2"))
		require.NoError(t, err)
		m, err := serve.Program(p, o)
		if o.Exact {
			require.ErrorContains(t, err, "Exact")
			p.Close()
			continue
		}
		require.NoError(t, err)
		fast := start(t, m, serve.Options{MaxBatch: 16})
		require.Equal(t, sig, fast.Signature())
		torch.Scope(func() {
			got, err := fast.Run(t.Context(), python[:3]...)
			require.NoError(t, err)
			torchtest.AllClose(t, got[0], python[3])
			torchtest.Equal(t, got[1], python[4])
		})
	}
	relu := start(t, load(t, filepath.Join(dir, "relu.pt2")), serve.Options{})
	require.Equal(t, []serve.Spec{spec("input", 2, 3)}, relu.Signature().Inputs)
	require.Equal(t, []serve.Spec{spec("output", 2, 3)}, relu.Signature().Outputs)
	torch.Scope(func() {
		got, err := relu.Run(t.Context(), torch.Ones(2, 3).Neg())
		require.NoError(t, err)
		torchtest.Equal(t, got[0], torch.Zeros(2, 3))
	})
}

// A program whose context has ended while it is compiled is an error however it is compiled, and may be served later.
func TestProgramContext(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p, err := export.Export(func(x torch.Tensor) torch.Tensor { return x.Add(x) }, []any{torch.Ones(2, 3)})
		require.NoError(t, err)
		why := errors.New("another version is here")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		for _, o := range [][]export.CompileOptions{nil, {{}}} {
			_, err = serve.ProgramContext(ctx, p, o...)
			require.ErrorIs(t, err, why)
		}
		m, err := serve.ProgramContext(t.Context(), p)
		require.NoError(t, err)
		defer m.Close()
		torch.Inference(func() {
			out, err := m.Run(t.Context(), []torch.Tensor{torch.Ones(2, 3)})
			require.NoError(t, err)
			torchtest.Equal(t, torch.Full([]int{2, 3}, 2.0), out[0])
		})
	})
}
