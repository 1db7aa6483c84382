package pytext_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/pytext"
)

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		shape             []int
		size, list, tuple string
	}{
		{nil, "torch.Size([])", "[]", "()"},
		{[]int{2}, "torch.Size([2])", "[2]", "(2,)"},
		{[]int{2, -3}, "torch.Size([2, -3])", "[2, -3]", "(2, -3)"},
	} {
		require.Equal(t, c.size, pytext.Size(c.shape))
		require.Equal(t, c.list, pytext.List(c.shape))
		require.Equal(t, c.tuple, pytext.Tuple(c.shape))
	}
}

func TestFloats(t *testing.T) {
	for want, v := range map[string]float64{
		"0.0": 0, "-1.0": -1, "0.5": 0.5, "0.0001": 1e-4, "1e-05": 1e-5, "1.5e-07": 1.5e-7, "1000000.0": 1e6,
		"1234567890123456.0": 1234567890123456, "1e+16": 1e16, "1e+300": 1e300, "nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1),
	} {
		require.Equal(t, want, pytext.Float(v))
	}
	require.Equal(t, "-0.0", pytext.Float(math.Copysign(0, -1)))
	require.Equal(t, "[2.0, 0.25]", pytext.Floats([]float64{2, 0.25}))
}
