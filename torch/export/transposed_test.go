package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// transposedCase is a transposed convolution of images, or of signals where their size is one number.
type transposedCase struct {
	size, kernel, stride, padding, more []int
	groups, dilation                    int
	activation                          string
	ours                                bool
}

var transposedCases = []transposedCase{
	{[]int{7, 9}, []int{2, 2}, []int{2, 2}, []int{0, 0}, []int{0, 0}, 1, 1, "relu", true},
	{[]int{6, 5}, []int{4, 4}, []int{2, 2}, []int{1, 1}, []int{0, 0}, 1, 1, "none", true},
	{[]int{5, 8}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}, 1, 1, "swish", true},
	{[]int{5, 8}, []int{3, 5}, []int{1, 3}, []int{2, 0}, []int{0, 0}, 1, 1, "none", true},
	{[]int{4, 3}, []int{1, 2}, []int{3, 4}, []int{0, 1}, []int{0, 0}, 1, 1, "relu", true},
	{[]int{31}, []int{16}, []int{8}, []int{4}, []int{0}, 1, 1, "none", true},
	{[]int{31}, []int{7}, []int{2}, []int{0}, []int{1}, 1, 1, "gelu", true},
	{[]int{2}, []int{3}, []int{3}, []int{1}, []int{0}, 1, 1, "none", true},
	{[]int{31}, []int{4}, []int{4}, []int{0}, []int{2}, 1, 1, "none", false}, // there are no numbers behind the last kernel
	{[]int{7, 9}, []int{3, 3}, []int{2, 2}, []int{0, 0}, []int{0, 0}, 2, 1, "none", false},
	{[]int{7, 9}, []int{3, 3}, []int{2, 2}, []int{0, 0}, []int{0, 0}, 1, 2, "none", false},
}

// Transposed convolutions compute what libtorch's do, with what is behind them.
func TestTransposedConvolutions(t *testing.T) { eachCase(t, transposedCases, transposedCase.test) }

func (c transposedCase) test(t *testing.T) {
	const inputs, outputs = 12, 6
	conv := F.ConvTranspose2d
	if len(c.size) == 1 {
		conv = F.ConvTranspose1d
	}
	w := torch.RandN(append([]int{inputs, outputs / c.groups}, c.kernel...)...).MulScalar(0.3)
	x := torch.RandN(append([]int{2, inputs}, c.size...)...)
	o := F.ConvTransposeOptions{Stride: c.stride, Padding: c.padding, OutputPadding: c.more, Groups: c.groups, Dilation: c.dilation}
	for _, bias := range []torch.Tensor{torch.RandN(outputs), {}} {
		text := requireCompiled(t, func(x torch.Tensor) torch.Tensor { return activations[c.activation](conv(x, w, bias, o)) }, x)
		if c.ours {
			require.Contains(t, text, transposedTarget)
		} else {
			require.NotContains(t, text, transposedTarget)
		}
	}
}

// Batch norms behind transposed convolutions are part of the weights, and what is added to them is.
func TestTransposedBlocks(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		w, v, mean, variance := torch.RandN(8, 8, 2, 2), torch.RandN(8, 8, 3, 3), torch.RandN(8), torch.Rand(8).AddScalar(1)
		text := requireCompiled(t, func(x torch.Tensor) torch.Tensor {
			y := F.ConvTranspose2d(x, w, torch.Tensor{}, F.ConvTransposeOptions{Stride: 2})
			y = F.BatchNorm(y, F.BatchNormOptions{RunningMean: mean, RunningVar: variance}).ReLU()
			return F.Conv2d(y, v, torch.Tensor{}, F.ConvOptions{Padding: 1}).Add(y)
		}, torch.RandN(2, 8, 9, 7))
		for _, gone := range []string{"aten.batch_norm", "aten.conv_transpose", "aten.relu", "aten.add"} {
			require.NotContains(t, text, "torch.ops."+gone)
		}
	})
}

// What does not fit is an error that says what does not.
func TestTransposedErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w, ok := inner("libtorchgo::direct_weight", torch.RandN(24, 4, 1, 1))
		require.True(t, ok)
		x, none, two := torch.RandN(1, 4, 5, 5), []int{0, 0}, []int{2, 2}
		refusesAll(t, "transposed", map[string][]any{
			"expected images of":     {torch.RandN(4, 5), w, nil, 6, two, two, none, none, "none"},
			"stride is":              {x, w, nil, 6, two, none, none, none, "none"},
			"does not fit images of": {x, w, nil, 6, two, two, none, []int{1, 0}, "none"},
			"with padding of [9, 0]": {x, w, nil, 6, two, two, []int{9, 0}, none, "none"},
			"do not fit 36 outputs":  {x, w, nil, 9, two, two, none, none, "none"},
			"do not fit images":      {torch.RandN(1, 3, 5, 5), w, nil, 6, two, two, none, none, "none"},
		})
	})
}
