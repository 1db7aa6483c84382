package export

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// turnedHalves are the negated second half of each row, and the first, as models write it.
var turnedHalves = map[string]func(x torch.Tensor) torch.Tensor{
	"chunk": func(x torch.Tensor) torch.Tensor {
		halves := x.Chunk(2, -1)
		return torch.Cat([]torch.Tensor{halves[1].Neg(), halves[0]}, -1)
	},
	"split": func(x torch.Tensor) torch.Tensor {
		halves := x.SplitWithSizes([]int{x.Size(-1) / 2, x.Size(-1) / 2}, x.Dim()-1)
		return torch.Cat([]torch.Tensor{halves[1].Neg(), halves[0]}, x.Dim()-1)
	},
	"slice": func(x torch.Tensor) torch.Tensor {
		half := x.Size(-1) / 2
		first, second := x.Slice(torch.SliceOptions{Dim: -1, End: &half}), x.Slice(torch.SliceOptions{Dim: -1, Start: &half})
		return torch.Cat([]torch.Tensor{second.Neg(), first}, -1)
	},
	"narrow": func(x torch.Tensor) torch.Tensor {
		half := x.Size(-1) / 2
		return torch.Cat([]torch.Tensor{x.Narrow(-1, half, half).Neg(), x.Narrow(-1, 0, half)}, -1)
	},
}

func rotated(x, cos, sin torch.Tensor) torch.Tensor {
	return x.Mul(cos).Add(turnedHalves["chunk"](x).Mul(sin))
}

// rotaryCase is a rotary embedding; factors are of these sizes.
type rotaryCase struct {
	sizes, cos, sin []int
	turned          bool // rows and heads have changed places
}

// Whole vectors and parts of one, factors for all rows, for each and for a batch, and no rows at all.
var rotaryCases = []rotaryCase{
	{[]int{1, 8, 1, 64}, []int{1, 64}, []int{1, 64}, true},
	{[]int{2, 3, 5, 6}, []int{2, 1, 5, 6}, []int{5, 6}, true},
	{[]int{2, 5, 3, 34}, []int{5, 1, 34}, []int{2, 5, 3, 34}, false},
	{[]int{2}, []int{2}, []int{1, 2}[1:], false},
	{[]int{2, 2, 2, 3, 100}, []int{1, 100}, []int{2, 2, 2, 3, 100}, false},
	{[]int{3, 0, 8}, []int{8}, []int{8}, false},
}

// The operator computes what libtorch's do, and its results lie as theirs.
func TestRotary(t *testing.T) {
	eachCase(t, rotaryCases, func(c rotaryCase, t *testing.T) {
		x, cos, sin := torch.RandN(c.sizes...), torch.RandN(c.cos...), torch.RandN(c.sin...)
		if c.turned {
			x = torch.RandN(c.sizes[0], c.sizes[2], c.sizes[1], c.sizes[3]).Transpose(1, 2)
		}
		got, ok := inner("libtorchgo::rotary", x, cos, sin)
		if !ok {
			return
		}
		want := rotated(x, cos, sin)
		require.Equal(t, want.Shape(), got.Shape())
		for i, size := range want.Shape() {
			require.True(t, size == 1 || want.NumEl() == 0 || want.Stride()[i] == got.Stride()[i], "%v, not %v", got.Stride(), want.Stride())
		}
		torchtest.AllClose(t, got, want)
		columns := x.Transpose(-1, 0).Contiguous().Transpose(-1, 0) // whose numbers do not lie side by side
		got, _ = inner("libtorchgo::rotary", columns, cos, sin)
		torchtest.AllClose(t, got, want)
	})
}

func TestRotaryErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.RandN(3, 4)
		refusesAll(t, "rotary", map[string][]any{
			"an even number of float32":  {torch.RandN(3, 5), x, x},
			"of Double":                  {x.To(torch.Float64), x, x},
			"in five dimensions at most": {torch.RandN(1, 1, 1, 1, 3, 4), x, x},
			"for [3, 4], got [2, 4]":     {x, torch.RandN(2, 4), x},
			"for [3, 4], got [3, 1]":     {x, x, torch.RandN(3, 1)},
		})
	})
}

// Models spell rotary embeddings out in several ways; what only looks like one stays as it is.
func TestCompiledRotary(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		x, cos, sin := torch.RandN(2, 5, 3, 8).Transpose(1, 2), torch.RandN(5, 8), torch.RandN(5, 8)
		if _, ok := inner("libtorchgo::rotary", x, cos, sin); !ok {
			return
		}
		for name, turned := range turnedHalves {
			for _, fn := range []func(x torch.Tensor) torch.Tensor{
				func(x torch.Tensor) torch.Tensor { return x.Mul(cos).Add(turned(x).Mul(sin)) },
				func(x torch.Tensor) torch.Tensor { return cos.Mul(x).Add(sin.Mul(turned(x))) },
			} {
				text := requireCompiled(t, fn, x)
				require.Contains(t, text, "libtorchgo.rotary.default", name)
				require.Equal(t, 1, strings.Count(text, "torch.ops."), text)
			}
		}
		for name, fn := range map[string]func(x torch.Tensor) torch.Tensor{
			"of another": func(x torch.Tensor) torch.Tensor { return x.Mul(cos).Add(turnedHalves["chunk"](x.Exp()).Mul(sin)) },
			"the other way": func(x torch.Tensor) torch.Tensor {
				halves := x.Chunk(2, -1)
				return x.Mul(cos).Add(torch.Cat([]torch.Tensor{halves[1], halves[0].Neg()}, -1).Mul(sin))
			},
			"no halves": func(x torch.Tensor) torch.Tensor {
				return x.Mul(cos).Add(torch.Cat([]torch.Tensor{x.Narrow(-1, 2, 6).Neg(), x.Narrow(-1, 0, 2)}, -1).Mul(sin))
			},
			"of rows": func(x torch.Tensor) torch.Tensor {
				halves := x.Chunk(2, 0)
				return x.Mul(cos).Add(torch.Cat([]torch.Tensor{halves[1].Neg(), halves[0]}, 0).Mul(sin))
			},
			"a factor a row": func(x torch.Tensor) torch.Tensor {
				return x.Mul(cos).Add(turnedHalves["chunk"](x).Mul(sin.Narrow(1, 0, 1)))
			},
			"lying as what is put together": func(x torch.Tensor) torch.Tensor { return turnedHalves["chunk"](x).Mul(sin).Add(x.Mul(cos)) },
			"twice": func(x torch.Tensor) torch.Tensor {
				return x.Mul(cos).Add(turnedHalves["chunk"](x).Mul(sin), torch.AddOptions{Alpha: 2})
			},
		} {
			require.NotContains(t, requireCompiled(t, fn, x), "libtorchgo.rotary", name)
		}
	})
}
