package export

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Group norms of images, signals and volumes whose channels lie last are those of libtorch's, with what is behind them.
func TestGroupNorms(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, c := range []struct {
		shape      []int
		groups     int
		affine     bool
		activation string
	}{
		{[]int{2, 24, 9, 7}, 4, true, "swish"}, {[]int{1, 64, 300}, 64, true, "gelu"}, {[]int{3, 7, 1, 1}, 1, false, "none"},
		{[]int{2, 20, 3, 4, 5}, 5, true, "relu"}, {[]int{1, 33, 40, 30}, 3, true, "none"}, {[]int{0, 8, 4, 4}, 2, true, "relu"},
		{[]int{2, 8, 1}, 4, true, "none"},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			torch.Scope(func() {
				channels := c.shape[1]
				var o F.GroupNormOptions
				var w, b any
				if c.affine {
					o.Weight, o.Bias = torch.RandN(channels), torch.RandN(channels)
					w, b = o.Weight, o.Bias
				}
				x := torch.RandN(c.shape...).MulScalar(3).AddScalar(50) // far from zero
				want := activations[c.activation](F.GroupNorm(x.To(torch.Float64), c.groups, doubled(o))).To(torch.Float32)
				for _, own := range []torch.Tensor{x, x.Transpose(1, 2).Contiguous().Transpose(1, 2)} {
					got, ok := inner("libtorchgo::group_norm", own, c.groups, w, b, 1e-5, c.activation)
					require.True(t, ok)
					require.Equal(t, want.Shape(), got.Shape())
					if got.NumEl() > 0 {
						require.Less(t, got.Sub(want).Abs().Max().Float64(), 2e-5*max(1, want.Abs().Max().Float64()))
					}
				}
			})
		})
	}
	torch.Scope(func() {
		w := torch.RandN(16, 8, 3)
		text := requireCompiled(t, func(x torch.Tensor) torch.Tensor {
			return F.SiLU(F.GroupNorm(F.Conv1d(x, w, torch.Tensor{}), 4)).Add(F.GroupNorm(x.Sum(1, 2).Reshape(2, 1, 1), 1))
		}, torch.RandN(2, 8, 30))
		require.NotContains(t, text, "aten.silu")
		require.NotContains(t, text, "aten.group_norm")
		refusesAll(t, "group_norm", map[string][]any{
			"3 groups do not fit 8":     {torch.RandN(1, 8, 4), 3, nil, nil, 1e-5, "none"},
			"the weight does not fit":   {torch.RandN(1, 8, 4), 4, torch.RandN(7), nil, 1e-5, "none"},
			"expected images of":        {torch.RandN(1, 8), 4, nil, nil, 1e-5, "none"},
			"there is no activation me": {torch.RandN(1, 8, 4), 4, nil, nil, 1e-5, "me"},
		})
	})
}

// doubled are the options of a group norm in float64.
func doubled(o F.GroupNormOptions) F.GroupNormOptions {
	if o.Weight.Defined() {
		o.Weight, o.Bias = o.Weight.To(torch.Float64), o.Bias.To(torch.Float64)
	}
	return o
}
