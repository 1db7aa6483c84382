package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// volumeCase is a convolution of volumes, and the operator that computes it.
type volumeCase struct {
	count, channels, outputs int
	size, kernel             [3]int
	stride, padding          [3]int
	dilation, groups         int
	activation, target       string
}

var volumeCases = []volumeCase{
	{1, 16, 32, [3]int{5, 14, 14}, [3]int{3, 3, 3}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, 1, 1, "relu", volumesTarget},
	{2, 32, 32, [3]int{4, 9, 17}, [3]int{3, 3, 3}, [3]int{2, 2, 2}, [3]int{1, 1, 1}, 1, 1, "none", volumesTarget},
	{2, 3, 20, [3]int{6, 18, 15}, [3]int{3, 7, 7}, [3]int{1, 2, 2}, [3]int{1, 3, 3}, 1, 1, "swish", volumesTarget},
	{3, 8, 6, [3]int{7, 5, 4}, [3]int{1, 3, 3}, [3]int{1, 1, 1}, [3]int{0, 1, 1}, 1, 1, "none", volumesTarget},
	{1, 8, 16, [3]int{7, 5, 4}, [3]int{5, 1, 1}, [3]int{2, 1, 1}, [3]int{3, 0, 0}, 1, 1, "relu", volumesTarget},
	{1, 8, 16, [3]int{1, 5, 4}, [3]int{3, 3, 3}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, 1, 1, "relu", volumesTarget},
	{2, 8, 16, [3]int{4, 5, 4}, [3]int{1, 1, 1}, [3]int{2, 2, 2}, [3]int{0, 0, 0}, 1, 1, "none", volumesTarget},
	{1, 8, 8, [3]int{4, 5, 6}, [3]int{3, 3, 3}, [3]int{1, 1, 1}, [3]int{2, 2, 2}, 2, 1, "none", "torch.ops.aten.conv3d.default"},
	{1, 8, 8, [3]int{4, 5, 6}, [3]int{3, 3, 3}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, 1, 8, "none", "torch.ops.aten.conv3d.default"},
}

// Convolutions of volumes compute what libtorch's do, with what is behind them and what is added.
func TestVolumes(t *testing.T) { eachCase(t, volumeCases, volumeCase.test) }

func (c volumeCase) test(t *testing.T) {
	w, b := torch.RandN(c.outputs, c.channels/c.groups, c.kernel[0], c.kernel[1], c.kernel[2]).MulScalar(0.1), torch.RandN(c.outputs)
	other := torch.RandN(c.count, c.outputs, 1, 1, 1)
	for _, added := range []bool{false, true} {
		fn := func(x torch.Tensor) torch.Tensor {
			y := F.Conv3d(x, w, b, F.ConvOptions{Stride: c.stride[:], Padding: c.padding[:], Dilation: c.dilation, Groups: c.groups})
			if added {
				return y.Add(other.ExpandAs(y)).ReLU()
			}
			return activations[c.activation](y)
		}
		text := requireCompiled(t, fn, torch.RandN(c.count, c.channels, c.size[0], c.size[1], c.size[2]))
		require.Contains(t, text, c.target)
	}
}

// Large volumes are computed some slices at a time.
func TestLargeVolumes(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		w := torch.RandN(8, 16, 3, 3, 3).MulScalar(0.05)
		text := requireCompiled(t, func(x torch.Tensor) torch.Tensor {
			return F.Conv3d(x, w, torch.Tensor{}, F.ConvOptions{Padding: 1}).ReLU()
		}, torch.RandN(2, 16, 5, 180, 200))
		require.Contains(t, text, volumesTarget)
	})
}

// What follows volumes sees what it saw, and batch norms are part of the weights.
func TestVolumeBlocks(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		w, v := torch.RandN(16, 16, 3, 3, 3).MulScalar(0.1), torch.RandN(16, 16, 1, 1, 1).MulScalar(0.2)
		mean, variance := torch.RandN(16), torch.Rand(16).AddScalar(1)
		fn := func(x torch.Tensor) torch.Tensor {
			y := F.Conv3d(x, w, torch.Tensor{}, F.ConvOptions{Padding: 1})
			y = F.BatchNorm(y, F.BatchNormOptions{RunningMean: mean, RunningVar: variance}).ReLU()
			x = F.Conv3d(y, v, torch.Tensor{}).Add(x).ReLU()
			means := x.MeanDim([]int{-1, -2}, torch.MeanOptions{KeepDim: true})
			y = F.MaxPool3d(x.Mul(means), 2)
			return torch.Cat([]torch.Tensor{y.Flatten(1, -1), x.View(2, -1)}, 1)
		}
		text := requireCompiled(t, fn, torch.RandN(2, 16, 4, 6, 6))
		require.NotContains(t, text, "batch_norm")
		require.NotContains(t, text, "add.Tensor")
		require.NotContains(t, text, "aten.relu")
	})
}

// What does not fit is an error that says what does not.
func TestVolumeErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w, ok := inner("libtorchgo::direct_weight", torch.RandN(8, 3*4, 3, 3))
		require.True(t, ok)
		x, three, one := torch.RandN(1, 4, 5, 5, 5), []int{3, 3, 3}, []int{1, 1, 1}
		none, ok := inner("libtorchgo::volumes", x.Narrow(0, 0, 0), w, nil, nil, 8, three, []int{2, 1, 1}, one, false, "none")
		require.True(t, ok)
		require.Equal(t, []int{0, 8, 3, 5, 5}, none.Shape())
		refusesAll(t, "volumes", map[string][]any{
			"expected volumes":                        {torch.RandN(4, 5, 5, 5), w, nil, nil, 8, three, one, one, false, "none"},
			"kernel is [3, 3], expected 3 numbers":    {x, w, nil, nil, 8, []int{3, 3}, one, one, false, "none"},
			"stride is [0, 1, 1], expected 3 numbers": {x, w, nil, nil, 8, three, []int{0, 1, 1}, one, false, "none"},
			"are smaller than the kernel":             {x, w, nil, nil, 8, []int{9, 3, 3}, one, one, false, "none"},
			"do not fit images of":                    {x, w, nil, nil, 8, []int{2, 3, 3}, one, one, false, "none"},
			"what is added does not fit":              {x, w, nil, torch.RandN(1, 8, 4, 5, 5), 8, three, one, one, false, "none"},
			"are not those of winograd_weight":        {x, w, nil, nil, 8, three, one, one, true, "none"},
		})
	})
}
