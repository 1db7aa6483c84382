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
