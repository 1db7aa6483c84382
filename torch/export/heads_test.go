package export

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// headsCase is an attention: which mask it has, and what our kernel is told.
type headsCase struct {
	batch, heads, rows, keys, depth, width int
	mask                                   string
	causal                                 bool
	scale                                  any
}

var headsCases = []headsCase{
	{1, 12, 197, 197, 64, 64, "", false, nil},
	{2, 3, 128, 128, 32, 32, "keys", false, nil},
	{2, 3, 61, 33, 16, 48, "all", false, 0.3},
	{1, 2, 48, 17, 8, 5, "condition", false, nil},
	{3, 1, 8, 1, 2, 1, "", false, nil},
	{1, 2, 100, 16, 20, 80, "rows", false, 1},
	{2, 2, 50, 70, 24, 24, "", true, nil},
	{2, 2, 70, 50, 6, 33, "", true, 2.0},
	{1, 1, 9, 600, 100, 100, "one", false, nil},
	{0, 4, 20, 20, 8, 8, "", false, nil},
	{1, 4, 1, 513, 64, 64, "", false, nil},
	{2, 3, 7, 61, 13, 33, "all", false, 0.3},
	{1, 2, 5, 3, 100, 7, "", true, nil},
	{1, 2, 2, 20_000, 8, 8, "keys", false, nil},
	{2, 2, 4, 40, 24, 90, "condition", false, nil},
	{2, 2, 0, 4, 8, 8, "", false, nil},
}

// mask is what the case's products are added to, or a condition.
func (c headsCase) masked(dtype torch.DType) torch.Tensor {
	switch c.mask {
	case "keys":
		return torch.RandN(c.batch, 1, 1, c.keys).To(dtype)
	case "rows":
		return torch.RandN(c.rows, 1).To(dtype)
	case "all":
		return torch.RandN(c.keys, c.batch, c.heads, c.rows).To(dtype).Permute(1, 2, 3, 0)
	case "one":
		return torch.RandN(1, c.keys).To(dtype)
	case "condition":
		return torch.RandN(c.batch, c.heads, c.rows, c.keys).GtScalar(-0.5)
	}
	return torch.Tensor{}
}

// Attention against libtorch's in float64, of heads that lie behind each other and side by side, with many rows and with few.
func TestHeads(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, c := range headsCases {
		for dtype, apart := range map[torch.DType]float64{torch.Float32: 2e-6, torch.BFloat16: 1.5e-2} {
			t.Run(fmt.Sprint(c, dtype), func(t *testing.T) { torch.Scope(func() { c.test(t, dtype, apart) }) })
		}
	}
}

func (c headsCase) test(t *testing.T, dtype torch.DType, apart float64) {
	side := func(rows, size int) torch.Tensor {
		return torch.RandN(rows, c.batch, c.heads, size).To(dtype).Permute(1, 2, 0, 3)
	}
	q, k, v := side(c.rows, c.depth), side(c.keys, c.depth), torch.RandN(c.batch, c.heads, c.keys, c.width).To(dtype)
	mask := c.masked(dtype)
	got := attentionOf(t, q, k, v, mask, c.causal, c.scale)
	require.Equal(t, []int{c.batch, c.heads, c.rows, c.width}, got.Shape())
	if got.NumEl() == 0 {
		return
	}
	require.Equal(t, byLibtorch(q, k, v, mask, c.causal, c.scale).Stride(), got.Stride())
	double := func(x torch.Tensor) torch.Tensor {
		if !x.Defined() || x.DType() == torch.Bool {
			return x
		}
		return x.To(torch.Float64)
	}
	want := byLibtorch(double(q), double(k), double(v), double(mask), c.causal, c.scale)
	require.Less(t, got.To(torch.Float64).Sub(want).Abs().Max().Float64(), apart*want.Abs().Max().Float64())
	if c.rows < 8 && dtype == torch.BFloat16 {
		require.True(t, byLibtorch(q, k, v, mask, c.causal, c.scale).Equal(got), "few rows are left to libtorch")
	}
}

// Groups of queries that share keys and values, of many rows and of one, are not copied for each of them.
func TestGroupedHeads(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	const batch, heads, shared, keys, depth = 2, 12, 3, 40, 16
	k, v := torch.RandN(batch, heads/shared, keys, depth), torch.RandN(batch, heads/shared, keys, 24)
	for name, c := range map[string]struct {
		rows   int
		mask   torch.Tensor
		causal bool
	}{
		"rows":       {rows: 30},
		"causal":     {rows: 40, causal: true},
		"masked":     {rows: 30, mask: torch.RandN(batch, heads, 30, keys)},
		"one":        {rows: 1},
		"one masked": {rows: 1, mask: torch.RandN(batch, 1, 1, keys).GtScalar(0)},
		"one causal": {rows: 1, causal: true},
		"one each":   {rows: 1, mask: torch.RandN(batch, heads, 1, keys)},
		"few":        {rows: 3, mask: torch.RandN(3, keys)},
	} {
		torch.Scope(func() {
			q := torch.RandN(c.rows, batch, heads, depth).Permute(1, 2, 0, 3)
			fn := func(q torch.Tensor) torch.Tensor {
				o := F.ScaledDotProductAttentionOptions{AttnMask: c.mask, IsCausal: c.causal, EnableGQA: true}
				return F.ScaledDotProductAttention(q, k, v, o).Reshape(batch, -1)
			}
			text := requireCompiled(t, fn, q)
			require.Contains(t, text, "libtorchgo.attention.default", name)
		})
	}
	refusesAll(t, "attention", map[string][]any{
		"Number of heads": {torch.RandN(1, 5, 20, 8), torch.RandN(1, 2, 20, 8), torch.RandN(1, 2, 20, 8), nil, false, nil, true},
	})
}

// Keys and values that a program repeats for the queries of a group are not repeated, but where they are repeated in another order.
func TestRepeatedHeads(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	const batch, heads, shared, rows, depth = 2, 6, 3, 20, 8
	torch.Scope(func() {
		mask := torch.RandN(rows, rows)
		for dim, calls := range map[int]int{1: 0, 2: 1} {
			repeat := func(x torch.Tensor) torch.Tensor {
				sizes := []int{-1, -1, -1, -1, -1}
				sizes[dim] = shared
				return x.Unsqueeze(dim).Expand(sizes...).Reshape(batch, heads, rows, depth)
			}
			fn := func(x torch.Tensor) torch.Tensor {
				few := x.Narrow(1, 0, heads/shared)
				o := F.ScaledDotProductAttentionOptions{AttnMask: mask}
				return F.ScaledDotProductAttention(x, repeat(few.Sin()), repeat(few.Cos()), o).Transpose(1, 2).Reshape(batch, rows, -1)
			}
			text := requireCompiled(t, fn, torch.RandN(batch, heads, rows, depth))
			require.Equal(t, 1, strings.Count(text, "libtorchgo.attention.default"))
			require.Equal(t, 2*(1-calls), strings.Count(text, "aten.expand"), text)
		}
		// one head, expanded, is not all heads
		text := requireCompiled(t, func(x torch.Tensor) torch.Tensor {
			one := func(x torch.Tensor) torch.Tensor { return x.Unsqueeze(2).Expand(-1, -1, heads, -1, -1).Select(1, 1) }
			return F.ScaledDotProductAttention(x, one(x.Sin()), one(x.Cos())).Transpose(1, 2).Reshape(batch, rows, -1)
		}, torch.RandN(batch, heads, rows, depth))
		require.Equal(t, 2, strings.Count(text, "aten.expand"), text)
	})
}

func attentionOf(t *testing.T, q, k, v, mask torch.Tensor, causal bool, scale any) torch.Tensor {
	t.Helper()
	var m any
	if mask.Defined() {
		m = mask
	}
	got, ok := inner("libtorchgo::attention", q, k, v, m, causal, scale, false)
	require.True(t, ok)
	return got
}

func byLibtorch(q, k, v, mask torch.Tensor, causal bool, scale any) torch.Tensor {
	var m any
	if mask.Defined() {
		m = mask
	}
	return torch.Call("scaled_dot_product_attention", q, k, v, m, 0.0, causal, torch.Arg("scale", scale))[0].(torch.Tensor)
}

// Rows that a mask leaves out altogether are zeros, what is no number stays none in its own row, and large products do not overflow.
func TestHeadsAtTheEdges(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, c := range []struct{ rows, none, some, nan int }{{20, 3, 5, 7}, {3, 1, 2, 2}} { // many, and few
		q, k, v := torch.RandN(1, 1, c.rows, 8), torch.RandN(1, 1, 40, 8), torch.RandN(1, 1, 40, 4)
		mask := torch.Zeros(c.rows, 40)
		mask.Select(0, c.none).FillInPlace(math.Inf(-1))
		mask.Narrow(0, c.some, 1).Narrow(1, 17, 23).FillInPlace(math.Inf(-1))
		for _, m := range []torch.Tensor{mask, mask.EqScalar(0)} {
			got, want := attentionOf(t, q, k, v, m, false, nil), byLibtorch(q, k, v, m, false, nil)
			require.Less(t, got.Sub(want).Abs().Max().Float64(), 1e-6)
			require.Zero(t, got.Select(2, c.none).Abs().Max().Float64())
		}
		q.Select(2, c.nan).FillInPlace(math.NaN())
		got := attentionOf(t, q, k, v, torch.Tensor{}, false, nil)
		for row := range c.rows {
			require.Equal(t, row == c.nan, got.Select(2, row).IsNaN().All().Item().(bool), row)
		}
		large := q.Select(2, 0).Unsqueeze(2).Expand(1, 1, c.rows, 8).MulScalar(1e18)
		got = attentionOf(t, large, k.MulScalar(1e18), v, torch.Tensor{}, false, nil)
		require.True(t, got.IsFinite().All().Item().(bool))
	}
}

// A compiled program asks our operator where libtorch's was, with the mask and the scale it had.
func TestCompiledHeads(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	x, half := torch.RandN(2, 30, 24), 0.5
	for name, mask := range map[string]torch.Tensor{"": {}, "mask": torch.RandN(30, 30)} {
		fn := func(x torch.Tensor) torch.Tensor {
			q := x.View(2, 30, 3, 8).Transpose(1, 2)
			return F.ScaledDotProductAttention(q, q, q, F.ScaledDotProductAttentionOptions{AttnMask: mask, Scale: &half})
		}
		c := forInference(t, fn, x)
		require.Equal(t, 1, strings.Count(c.String(), "libtorchgo.attention.default"), name)
		torch.Inference(func() {
			got, err := c.Run(x)
			require.NoError(t, err)
			require.Less(t, got[0].Sub(fn(x)).Abs().Max().Float64(), 2e-6, name)
			torch.Close(got...)
		})
	}
}
