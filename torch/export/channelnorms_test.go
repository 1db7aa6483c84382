package export

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// normCase is a norm of images, signals, volumes or rows, of groups of channels or, without, of batches.
type normCase struct {
	shape      []int
	groups     int
	affine     bool
	activation string
}

var normCases = []normCase{
	{[]int{2, 24, 9, 7}, 4, true, "swish"}, {[]int{1, 64, 300}, 64, true, "gelu"}, {[]int{3, 7, 1, 1}, 1, false, "none"},
	{[]int{2, 20, 3, 4, 5}, 5, true, "relu"}, {[]int{1, 33, 40, 30}, 3, true, "none"}, {[]int{0, 8, 4, 4}, 2, true, "relu"},
	{[]int{2, 8, 1}, 4, true, "none"}, {[]int{5, 12}, 3, true, "none"},
	{[]int{2, 24, 9, 7}, 0, true, "relu"}, {[]int{1, 13, 300}, 0, true, "hardswish"}, {[]int{3, 7, 1, 1}, 0, true, "none"},
	{[]int{2, 20, 3, 4, 5}, 0, true, "gelu"}, {[]int{0, 8, 4, 4}, 0, true, "relu"}, {[]int{5, 12}, 0, true, "sigmoid"},
	{[]int{1, 64, 80, 90}, 0, true, "relu"},
}

// Norms of what has its channels last are those of libtorch's, with what is behind them.
func TestChannelNorms(t *testing.T) { eachCase(t, normCases, normCase.test) }

func (c normCase) test(t *testing.T) {
	x := torch.RandN(c.shape...).MulScalar(3).AddScalar(5000) // far from zero
	w, b := torch.RandN(c.shape[1]), torch.RandN(c.shape[1])
	o := F.GroupNormOptions{Weight: w.To(torch.Float64), Bias: b.To(torch.Float64)}
	args := []any{x, c.groups, w, b, 1e-5, c.activation}
	if !c.affine {
		o, args[2], args[3] = F.GroupNormOptions{}, nil, nil
	}
	name := "libtorchgo::group_norm"
	double := x.To(torch.Float64)
	var want torch.Tensor
	if c.groups > 0 {
		want = F.GroupNorm(double, c.groups, o)
	} else {
		name, args = "libtorchgo::batch_norm", []any{x, w, b, c.activation}
		want = double.Mul(o.Weight.Reshape(alongChannels(x)...)).Add(o.Bias.Reshape(alongChannels(x)...))
	}
	want = activations[c.activation](want).To(torch.Float32)
	for _, own := range []torch.Tensor{x, x.Transpose(0, 1).Contiguous().Transpose(0, 1), x.Transpose(1, -1).Contiguous().Transpose(1, -1)} {
		args[0] = own
		got, ok := inner(name, args...)
		require.True(t, ok)
		require.Equal(t, want.Shape(), got.Shape())
		if got.NumEl() > 0 {
			require.Less(t, got.Sub(want).Abs().Max().Float64(), 2e-5*max(1, want.Abs().Max().Float64()))
		}
	}
}

// alongChannels is the shape of a number for each of x's channels.
func alongChannels(x torch.Tensor) []int {
	shape := slices.Repeat([]int{1}, x.Dim())
	shape[1] = -1
	return shape
}

// Compiled programs take them for norms of what convolutions of ours make, and of rows.
func TestCompiledNorms(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		w := torch.RandN(16, 8, 3)
		mean, variance := torch.RandN(16), torch.Rand(16).AddScalar(1)
		norm := F.BatchNormOptions{RunningMean: mean, RunningVar: variance, Weight: torch.RandN(16), Bias: torch.RandN(16)}
		text := requireCompiled(t, func(x torch.Tensor) torch.Tensor {
			y := F.Conv1d(x, w, torch.Tensor{})
			y = F.BatchNorm(y, norm).ReLU().Add(y) // not part of the weights: what is without it is read, too
			y = F.SiLU(F.GroupNorm(y, 4))
			rows := F.BatchNorm(y.SumDim([]int{2}), norm).Sigmoid().Reshape(2, 16, 1)
			return y.Mul(rows).Add(F.GroupNorm(x.Sum(1, 2).Reshape(2, 1, 1), 1))
		}, torch.RandN(2, 8, 30))
		for _, of := range []string{"silu", "relu", "group_norm", "batch_norm", "sigmoid"} {
			require.NotContains(t, text, "aten."+of)
		}
		x := torch.RandN(1, 8, 4)
		refusesAll(t, "group_norm", map[string][]any{
			"3 groups do not fit 8":      {x, 3, nil, nil, 1e-5, "none"},
			"the weight does not fit":    {x, 4, torch.RandN(7), nil, 1e-5, "none"},
			"expected rows or images of": {torch.RandN(8), 4, nil, nil, 1e-5, "none"},
			"there is no activation me":  {x, 4, nil, nil, 1e-5, "me"},
		})
		refusesAll(t, "batch_norm", map[string][]any{
			"the bias does not fit 8":    {x, torch.RandN(8), torch.RandN(9), "none"},
			"expected rows or images of": {x.To(torch.Float64), torch.RandN(8), torch.RandN(8), "none"},
		})
	})
}
