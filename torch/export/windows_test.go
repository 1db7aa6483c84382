package export

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Windows that are shifted, as Swin Transformer v2 has them: scores of each head have a factor of their own, a bias, and, with one more
// dimension before the others, a mask of which a part is written to at a time. All of it is an attention.
func TestShiftedWindows(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	const windows, heads, rows, size = 6, 3, 16, 8
	torch.Scope(func() {
		logits, bias := torch.Rand(heads, 1, 1), torch.RandN(1, heads, rows, rows)
		fn := func(x torch.Tensor) torch.Tensor {
			head := func(x torch.Tensor) torch.Tensor { return x.View(windows, rows, heads, size).Transpose(1, 2) }
			q, k := F.Normalize(head(x.Sin())), F.Normalize(head(x.Cos()))
			scores := q.MatMul(k.Transpose(-2, -1)).Mul(logits.Exp()).Add(bias)
			regions := x.NewZeros([]int{windows, rows})
			for i := range 4 {
				regions.Narrow(0, i, windows-i).Narrow(1, 4*i, 4).FillInPlace(i)
			}
			apart := regions.Unsqueeze(1).Sub(regions.Unsqueeze(2))
			mask := apart.MaskedFill(apart.NeScalar(0), -100)
			scores = scores.View(1, windows, heads, rows, rows).Add(mask.Unsqueeze(1).Unsqueeze(0)).View(-1, heads, rows, rows)
			return F.Softmax(scores, -1).MatMul(head(x)).Transpose(1, 2).Reshape(windows, rows, heads*size)
		}
		text := requireCompiled(t, fn, torch.RandN(windows, rows, heads*size))
		require.Equal(t, 1, strings.Count(text, "libtorchgo.attention.default"))
		for _, gone := range []string{"softmax", "fill", "zeros", "matmul.default"} {
			require.NotContains(t, text, "aten."+gone)
		}
	})
}

// Windows of batches, as MaxViT has them, are as many batches, unless something is added that each window of a batch has of its own.
func TestWindowsOfBatches(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	const windows, heads, rows, size = 6, 3, 16, 8
	torch.Scope(func() {
		bias, half := torch.RandN(heads, rows, rows), torch.RandN(rows, rows).GtScalar(0)
		own := torch.RandN(windows, 1, rows, rows)
		for name, c := range map[string]struct {
			batches, calls int
			mask           func(scores torch.Tensor) torch.Tensor
		}{
			"plain": {2, 1, func(s torch.Tensor) torch.Tensor { return s }},
			"bias":  {2, 1, func(s torch.Tensor) torch.Tensor { return s.Add(bias) }},
			"ones":  {2, 1, func(s torch.Tensor) torch.Tensor { return s.Add(bias.Reshape(1, 1, heads, rows, rows)) }},
			"condition": {2, 1, func(s torch.Tensor) torch.Tensor {
				return s.MaskedFill(half.Reshape(1, 1, 1, rows, rows), math.Inf(-1))
			}},
			"of one":      {1, 1, func(s torch.Tensor) torch.Tensor { return s.Add(own) }},
			"of each":     {2, 0, func(s torch.Tensor) torch.Tensor { return s.Add(own) }},
			"of all":      {2, 0, func(s torch.Tensor) torch.Tensor { return s.Add(own.Unsqueeze(0).Expand(2, -1, heads, -1, -1)) }},
			"of one, all": {1, 1, func(s torch.Tensor) torch.Tensor { return s.Add(own.Unsqueeze(0)) }},
		} {
			fn := func(x torch.Tensor) torch.Tensor {
				head := func(x torch.Tensor) torch.Tensor {
					return x.Reshape(c.batches, windows, rows, heads, size).Permute(0, 1, 3, 2, 4)
				}
				scores := torch.Einsum("B G H I D, B G H J D -> B G H I J", head(x.Sin()), head(x.Cos()).MulScalar(0.5))
				y := torch.Einsum("BGHIJ,BGHJD->BGHID", F.Softmax(c.mask(scores), -1), head(x))
				return y.Permute(0, 1, 3, 2, 4).Reshape(c.batches, windows, rows, heads*size)
			}
			text := requireCompiled(t, fn, torch.RandN(c.batches, windows, rows, heads*size))
			require.Equal(t, c.calls, strings.Count(text, "libtorchgo.attention.default"), name)
			require.Equal(t, c.calls == 0, strings.Contains(text, "aten.softmax"), name)
		}
	})
}

// The same of any number of batches.
func TestWindowsOfAnyBatches(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		bias := torch.RandN(3, 16, 16)
		fn := func(x torch.Tensor) torch.Tensor {
			head := x.Unflatten(3, 3, 8).Transpose(2, 3)
			scores := head.Sin().MatMul(head.Transpose(-2, -1)).Add(bias)
			return F.Softmax(scores, -1).MatMul(head.Cos()).Transpose(2, 3).Flatten(3, -1)
		}
		p, err := Export(fn, []any{torch.RandN(2, 6, 16, 24)}, ExportOptions{DynamicShapes: map[string]map[int]Dim{"x": {0: {Name: "n"}}}})
		require.NoError(t, err)
		defer p.Close()
		c, err := Compile(p, CompileOptions{Inference: true})
		require.NoError(t, err)
		defer c.Close()
		require.Contains(t, c.String(), "libtorchgo.attention.default")
		torch.Inference(func() {
			for _, n := range []int{1, 2, 5, 0} {
				x := torch.RandN(n, 6, 16, 24)
				got, err := c.Run(x)
				require.NoError(t, err)
				want := fn(x)
				require.Equal(t, want.Shape(), got[0].Shape())
				torchtest.AllClose(t, got[0], want)
			}
		})
	})
}

// A factor that is not the same for all scores of a head, or a mask that is added before it, is none of an attention's.
func TestNoHeadsFactor(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		bias, rows, each := torch.RandN(20, 20), torch.Rand(20, 1), torch.Rand(3, 1, 1)
		for name, scores := range map[string]func(torch.Tensor) torch.Tensor{
			"rows":         func(s torch.Tensor) torch.Tensor { return s.Mul(rows).Add(bias) },
			"before":       func(s torch.Tensor) torch.Tensor { return s.Add(bias).Mul(each) },
			"before minus": func(s torch.Tensor) torch.Tensor { return s.MaskedFill(bias.GtScalar(0.5), -1e9).Mul(each) },
		} {
			fn := func(x torch.Tensor) torch.Tensor {
				return F.Softmax(scores(x.MatMul(x.Cos().Transpose(-2, -1))), -1).MatMul(x.Sin())
			}
			text := requireCompiled(t, fn, torch.RandN(2, 3, 20, 8))
			require.NotContains(t, text, "attention", name)
		}
	})
}
