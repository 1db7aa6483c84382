package serve_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export/aoti"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A package says itself what goes in, and zeros show what comes out; requests share batches, and each has Python's bits.
func TestAOTI(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	dir := t.TempDir()
	out, err := peer.Command(t, "testdata/package.py", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	python, err := safetensors.Load(filepath.Join(dir, "run.safetensors"))
	require.NoError(t, err)
	defer python.Close()
	open := func(file string, outputs ...serve.Spec) *serve.Server {
		p, err := aoti.LoadTrusted(filepath.Join(dir, file), aoti.LoadOptions{Runners: 2})
		require.NoError(t, err)
		m, err := serve.AOTI(p, outputs...)
		require.NoError(t, err)
		return start(t, m, serve.Options{MaxBatch: 8, Lanes: 2, Buckets: []int{8}})
	}

	s := open("rows.pt2")
	require.Equal(t, []serve.Spec{spec("input_0", -1, 3), spec("input_1", -1, 1)}, s.Signature().Inputs)
	require.Equal(t, []serve.Spec{spec("sum", -1, 3), {Name: "sign", DType: torch.Bool, Shape: []int{-1}}}, s.Signature().Outputs)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			torch.Scope(func() {
				row := func(name string) torch.Tensor { return python.Tensors[name].Narrow(0, i, 1) }
				got, err := s.Run(t.Context(), row("x"), row("y"))
				require.NoError(t, err)
				torchtest.Equal(t, got[0], row("sum"))
				torchtest.Equal(t, got[1], row("sign"))
			})
		})
	}
	all.Wait()
	torch.Scope(func() {
		_, err := s.Run(t.Context(), torch.Ones(1, 4), torch.Ones(1, 1))
		require.ErrorIs(t, err, serve.ErrInput)
	})

	// A size that varies elsewhere is no row, nor is one that an output does not have.
	for _, c := range []struct {
		outputs []serve.Spec
		want    serve.Spec
	}{{nil, spec("output", -1)}, {[]serve.Spec{spec("total", -1)}, spec("total", -1)}} {
		p, err := aoti.LoadTrusted(filepath.Join(dir, "total.pt2"))
		require.NoError(t, err)
		m, err := serve.AOTI(p, c.outputs...)
		require.NoError(t, err)
		require.Equal(t, serve.Signature{Inputs: []serve.Spec{spec("input", -1, -1)}, Outputs: []serve.Spec{c.want}, NoBatch: c.outputs == nil},
			m.Signature())
		m.Close()
	}
}
