package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// dilatedCase is a convolution whose kernel sees pixels that lie apart, and the operator that computes it.
type dilatedCase struct {
	images, channels, outputs, height, width int
	kernel, groups                           int
	stride, padding, dilation                [2]int
	activation, target                       string
}

const ofOneDNN = "torch.ops.mkldnn._convolution_pointwise.default"

var dilatedCases = []dilatedCase{
	{1, 64, 64, 28, 28, 3, 1, one, two, two, "relu", dilatedTarget},
	{2, 64, 64, 29, 27, 3, 1, one, [2]int{4, 4}, [2]int{4, 4}, "none", dilatedTarget}, // sides that are no multiples
	{1, 64, 64, 30, 33, 3, 1, one, [2]int{}, three, "hardswish", dilatedTarget},       // without zeros around
	{3, 32, 64, 20, 22, 3, 1, one, [2]int{2, 4}, two, "swish", dilatedTarget},         // not as many on all sides
	{1, 64, 64, 28, 28, 3, 1, one, one, two, "relu", ofOneDNN},                        // half a distance of zeros
	{1, 64, 64, 28, 28, 3, 1, two, two, two, "relu", ofOneDNN},                        // steps
	{1, 64, 64, 28, 28, 3, 1, one, [2]int{2, 3}, [2]int{2, 3}, "none", ofOneDNN},      // not as far apart on all sides
	{1, 64, 64, 28, 28, 3, 1, one, [2]int{24, 24}, [2]int{24, 24}, "none", ofOneDNN},  // which hardly meets anything
	{1, 64, 64, 28, 28, 5, 1, one, two, two, "none", ofOneDNN},
	{1, 64, 64, 28, 28, 3, 2, one, two, two, "none", ofOneDNN},
	{1, 64, 50, 28, 28, 3, 1, one, two, two, "relu", ofOneDNN}, // outputs that fill no vectors
}

// Dilated convolutions compute what libtorch's do, with what is behind them and what is added.
func TestDilatedConvolutions(t *testing.T) { eachCase(t, dilatedCases, dilatedCase.test) }

func (c dilatedCase) test(t *testing.T) {
	w, b := torch.RandN(c.outputs, c.channels/c.groups, c.kernel, c.kernel).MulScalar(0.05), torch.RandN(c.outputs)
	other := torch.RandN(c.images, c.outputs, 1, 1)
	x := torch.RandN(c.images, c.channels, c.height, c.width)
	o := F.ConvOptions{Stride: c.stride[:], Padding: c.padding[:], Dilation: c.dilation[:], Groups: c.groups}
	for _, added := range []bool{false, true} {
		text := requireCompiled(t, func(x torch.Tensor) torch.Tensor {
			y := F.Conv2d(x, w, b, o)
			if added {
				return y.Add(other.ExpandAs(y)).ReLU()
			}
			return activations[c.activation](y)
		}, x)
		require.Contains(t, text, c.target)
	}
}

// All forms without steps serve, for images of any size, smaller than a distance, too, and in any dtype.
func TestDilatedImages(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for dtype, apart := range map[torch.DType]float64{torch.Float32: 1e-5, torch.BFloat16: 4e-2} {
		for _, side := range [][2]int{{1, 1}, {1, 9}, {2, 3}, {7, 5}, {13, 14}} {
			torch.Scope(func() {
				x, w, bias := torch.RandN(2, 16, side[0], side[1]).To(dtype), torch.RandN(32, 16, 3, 3), torch.RandN(32)
				for _, tile := range [][]int{{2, 2}, {4, 4}, {2, 4}} {
					packed, ok := packedWeight(t, "libtorchgo::winograd_weight", w, tile, 1, false, dtype)
					if !ok {
						continue
					}
					for d := 1; d < 5; d++ {
						o := F.ConvOptions{Padding: []int{d, 2 * d}, Dilation: d}
						want := F.Conv2d(x.To(torch.Float64), w.To(torch.Float64), bias.To(torch.Float64), o)
						sum := torch.RandN(want.Shape()...).To(dtype)
						got, ok := inner("libtorchgo::dilated", x, packed, bias, sum, []int{d, 2 * d}, d, "none")
						require.True(t, ok)
						require.True(t, got.IsContiguous(torch.ChannelsLast))
						off := got.To(torch.Float64).Sub(want.Add(sum.To(torch.Float64))).Abs().Max().Float64()
						require.Less(t, off, apart*want.Abs().Max().Float64(), "%v %v %v %d", dtype, side, tile, d)
					}
				}
			})
		}
	}
}

// What does not fit is an error that says what does not.
func TestDilatedErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w, ok := packedWeight(t, "libtorchgo::winograd_weight", torch.RandN(32, 16, 3, 3), []int{4, 4}, 1, false, torch.Float32)
		if !ok {
			t.Skip("this processor has no kernel")
		}
		steps, _ := packedWeight(t, "libtorchgo::winograd_weight", torch.RandN(32, 16, 3, 3), []int{2, 2}, 2, false, torch.Float32)
		x, none, two := torch.RandN(1, 16, 5, 5), []int{0, 0}, []int{2, 2}
		refusesAll(t, "dilated", map[string][]any{
			"expected images of":               {torch.RandN(16, 5), w, nil, nil, two, 2, "none"},
			"of winograd_weight without steps": {x, steps, nil, nil, two, 2, "none"},
			"dilation is":                      {x, w, nil, nil, two, 0, "none"},
			"padding is [-2, 0]":               {x, w, nil, nil, []int{-2, 0}, 2, "none"},
			"expected multiples of 3":          {x, w, nil, nil, two, 3, "none"},
			"padding is [3, 3]":                {x, w, nil, nil, []int{3, 3}, 1, "none"},
			"are smaller than the kernel":      {x, w, nil, nil, none, 3, "none"},
			"what is added does not fit":       {x, w, nil, torch.RandN(1, 32, 4, 5), two, 2, "none"},
			"do not fit images":                {torch.RandN(1, 24, 5, 5), w, nil, nil, two, 2, "none"},
			"there is no activation":           {x, w, nil, nil, two, 2, "loud"},
		})
	})
}
