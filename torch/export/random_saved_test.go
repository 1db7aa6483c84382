package export_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/fuzz/networks"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// What Go writes of networks that nobody has thought of, Python loads and computes to the bit:
//
//	LIBTORCH_GO_RANDOM_NETWORKS=0:1000 go test -timeout 1h -run TestRandomPrograms ./torch/export
func TestRandomPrograms(t *testing.T) {
	torch.SetNumThreads(1)
	dir := t.TempDir()
	count := 0
	export.EachSeed(t, 40, func(t *testing.T, seed uint64) {
		n := networks.Draw(seed)
		program, err := export.ExportRandom(n, n.Results...)
		require.NoError(t, err)
		defer program.Close()
		name := filepath.Join(dir, fmt.Sprint(seed))
		require.NoError(t, program.Save(name+".pt2"))
		var want []any
		for _, y := range n.Forward(n.Results...)(n.Input()) {
			want = append(want, y)
		}
		require.NoError(t, pt.Save(name+".pt", []any{pt.Tuple{pt.Tuple{n.Input()}, want}}))
		count++
	})
	torchtest.NoLeaks(t)
	require.Equal(t, count, python(t, "programs", "load", dir).count(t))
}

// A size that values decide, or that is nothing of the inputs' sizes that is looked for, has a symbol of its own: no pass takes it for what
// it was when the program was captured. Python is told that, as it knows no such symbols from files.
func TestSizesThatValuesDecide(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		fn := func(x torch.Tensor) torch.Tensor { return x.GtScalar(0).Nonzero().MulScalar(2) }
		x := torch.RandN(3, 4)
		batch := map[string]map[int]export.Dim{"x": {0: {Name: "batch"}}}
		p, err := export.Export(fn, []any{x}, export.ExportOptions{DynamicShapes: batch})
		require.NoError(t, err)
		defer p.Close()
		require.Contains(t, p.String(), "nonzero: \"i64[u0, 2]\"")
		c, err := export.Compile(p)
		require.NoError(t, err)
		defer c.Close()
		for _, x := range []torch.Tensor{x, torch.RandN(9, 4), torch.RandN(1, 4).AbsInPlace().NegInPlace()} {
			got, err := c.Run(x)
			require.NoError(t, err)
			require.True(t, got[0].Equal(fn(x)))
		}
		dir := t.TempDir()
		require.NoError(t, p.Save(filepath.Join(dir, "p.pt2")))
		require.NoError(t, pt.Save(filepath.Join(dir, "p.pt"), []any{pt.Tuple{pt.Tuple{x}, []any{fn(x)}}}))
		require.Equal(t, 1, python(t, "programs", "load", dir).count(t))
	})
}
