package export

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A row's errors add up to nearly nothing, for a few numbers that are the next at the other side, which hardly raises the errors' squares:
// what reads numbers of one sign is then several times nearer.
func TestBalanced(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(7)
	const rows, n = 8, 576
	cases := map[string]struct {
		dtype   torch.DType
		inwards bool
		scale   float64 // of the weights

		relative, absolute float64 // from a number to the next
	}{
		"bfloat16": {torch.BFloat16, false, 0.05, 0x1p-7, 1e-30},
		"float16":  {torch.Float16, false, 0.05, 0x1p-10, 0x1p-24},
		"int8":     {torch.Int8, false, 40, 0, 1},
		"inwards":  {torch.Int8, true, 40, 0, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			torch.Scope(func() {
				w := torch.RandN(rows, n).MulScalar(c.scale).Clamp(-127, 127)
				near := w.Round()
				if c.dtype != torch.Int8 {
					near = w.To(c.dtype).To(torch.Float32)
				}
				got := balanced(w, c.dtype, c.inwards)
				require.Equal(t, c.dtype, got.DType())
				own := got.To(torch.Float32)
				others := own.Ne(near)
				few := others.Sum(1).Max().Float64()
				require.Greater(t, few, 0.0)
				require.LessOrEqual(t, few, 2*math.Sqrt(n)+1)
				lost, plain := own.Sub(w), near.Sub(w)
				require.Less(t, lost.Mul(plain).MaskedSelect(others).Max().Float64(), 0.0, "at the other side")
				require.Less(t, lost.Abs().Sub(w.Abs().MulScalar(c.relative)).Max().Float64(), c.absolute, "the next number")
				require.Less(t, lost.Square().Sum().Float64(), 1.1*plain.Square().Sum().Float64())
				require.Less(t, lost.Sum(1).Abs().Mean().Float64(), 0.2*plain.Sum(1).Abs().Mean().Float64())
				x := torch.Rand(n, 64)
				require.Less(t, lost.MatMul(x).Square().Sum().Float64(), 0.5*plain.MatMul(x).Square().Sum().Float64())
				if c.inwards {
					require.LessOrEqual(t, own.Abs().Sub(near.Abs()).Max().Float64(), 0.0)
				}
			})
		})
	}
}

// A row with numbers that are none, or too large, is rounded as it is elsewhere, and what can be rounded one way alone is.
func TestBalancedOddRows(t *testing.T) {
	torchtest.NoLeaks(t)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	oneNaN := func(x torch.Tensor) torch.Tensor { return x.MaskedFill(x.IsNaN(), math.NaN()) }
	for name, row := range map[string][]float32{
		"infinite": {inf, 1.001, -1.001, -inf}, "nan": {nan, 1.001, 2.002}, "large": {math.MaxFloat32, 1.001, 1.001}, "one": {1.001},
		"the largest": {0x1.FEp127, 0, 0}, "zeros": {0, 0, 0}, "small": {1e-45, -1e-45, 1e-45},
	} {
		t.Run(name, func(t *testing.T) {
			torch.Scope(func() {
				w := torch.FromSlice(row, 1, len(row))
				torchtest.Equal(t, oneNaN(balanced(w, torch.BFloat16, false)), oneNaN(w.To(torch.BFloat16)))
			})
		})
	}
	torch.Scope(func() {
		require.Equal(t, []int{0, 3}, balanced(torch.Zeros(0, 3), torch.BFloat16, false).Shape())
		require.Equal(t, []int{3, 0}, balanced(torch.Zeros(3, 0), torch.BFloat16, false).Shape())
		w := torch.FromSlice([]float32{127.4, 127.4, 127.4, nan, 300, -300}, 2, 3)
		require.Equal(t, []int8{127, 127, 127, 0, 127, -127}, torch.Values[int8](balanced(w, torch.Int8, false)))
		refusesAll(t, "balanced", map[string][]any{
			"expected weights of float32, got [2] of Double": {torch.Ones(2).To(torch.Float64), torch.BFloat16, false},
			"expected weights of float32, got [] of Float":   {torch.Ones(), torch.BFloat16, false},
			"not implemented for 'Int'":                      {torch.Ones(2), torch.Int32, false},
		})
	})
}
