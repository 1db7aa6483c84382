package functional_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

func TestSpread(t *testing.T) {
	require.Equal(t, []int{1, 1, 1}, F.Spread("x", 1, 3))
	require.Equal(t, []int{1, 2}, F.Spread("x", []int{1, 2}, 2))
	require.Empty(t, F.Spread("x", 1, 0))
	for _, n := range []int{-1, math.MinInt, 65, 1 << 40, math.MaxInt} {
		for _, size := range []F.Size{1, []int{1, 2}, nil} {
			err := torch.Try(func() { F.Spread("x", size, n) })
			require.ErrorIs(t, err, torch.ErrValue)
			require.ErrorContains(t, err, "expected 0 to 64 of them")
		}
	}
}
