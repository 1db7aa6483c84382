package export

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Rows are those that libtorch finds, whatever their dtype and however the indices lie.
func TestTables(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		table, indices := torch.RandN(50, 7), torch.RandInt(0, 50, []int{6, 9})
		for name, c := range map[string]struct{ table, indices torch.Tensor }{
			"matrix": {table, indices}, "column": {table, indices.Select(1, 3)}, "turned": {table, indices.T()},
			"int32": {table, indices.To(torch.Int32)}, "bfloat16": {table.To(torch.BFloat16), indices},
			"one":  {table, indices.Select(0, 1).Select(0, 1)},
			"none": {table, indices.Narrow(0, 0, 0)}, "columns": {torch.RandN(7, 50).T(), indices}, "empty rows": {torch.RandN(50, 0), indices},
			"many": {table, torch.RandInt(0, 50, []int{1 << 13})}, "bytes": {torch.RandInt(0, 99, []int{50, 3}).To(torch.Uint8), indices},
		} {
			got, ok := inner("libtorchgo::embedding", c.table, c.indices)
			require.True(t, ok, name)
			require.True(t, torch.Call("embedding", c.table, c.indices)[0].(torch.Tensor).Equal(got), name)
		}
		for _, bad := range []int{-1, 50} {
			torch.Unsafe(func() {
				err := torch.Try(func() { torch.Call("libtorchgo::embedding", table, torch.Full([]int{3}, bad).To(torch.Int64)) })
				require.ErrorIs(t, err, torch.ErrIndex)
				require.ErrorContains(t, err, fmt.Sprintf("row %d was asked for, of a table of 50", bad))
			})
		}
		indices = torch.RandInt(0, 50, []int{4})
		text := requireCompiled(t, func(x torch.Tensor) torch.Tensor { return F.Embedding(indices, table).Sum().Add(x) }, torch.RandN(2))
		require.NotContains(t, text, "embedding", "rows of constants are one")
		compiled := forInference(t, func(indices torch.Tensor) torch.Tensor { return F.Embedding(indices, table) }, indices)
		require.Contains(t, compiled.String(), "libtorchgo.embedding.default")
	})
}
