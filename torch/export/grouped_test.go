package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// groupedCase is a convolution of groups, and the operator that computes it.
type groupedCase struct {
	images, channels, outputs, groups int
	kernel, stride, padding           [2]int
	activation, target                string
}

var (
	three, two, one = [2]int{3, 3}, [2]int{2, 2}, [2]int{1, 1}
	groupedCases    = []groupedCase{
		{1, 32, 32, 4, three, one, one, "relu", groupedTarget},
		{2, 32, 32, 8, three, two, one, "none", groupedTarget},                               // two groups make a vector
		{1, 24, 24, 12, three, one, one, "swish", groupedTarget},                             // four do
		{3, 64, 96, 2, [2]int{1, 5}, [2]int{1, 2}, [2]int{0, 2}, "hardswish", groupedTarget}, // six vectors of each
		{1, 10, 80, 5, one, one, [2]int{}, "relu", groupedTarget},
		{1, 16, 8, 8, three, one, two, "none", ofOneDNN},  // eight make one
		{1, 24, 36, 3, three, one, one, "relu", ofOneDNN}, // two do, of three
		{1, 16, 16, 16, three, one, one, "relu", depthwiseTarget},
	}
)

// Convolutions of groups compute what libtorch's do, with what is behind them and what is added.
func TestGroupedConvolutions(t *testing.T) { eachCase(t, groupedCases, groupedCase.test) }

func (c groupedCase) test(t *testing.T) {
	w, b := torch.RandN(c.outputs, c.channels/c.groups, c.kernel[0], c.kernel[1]).MulScalar(0.2), torch.RandN(c.outputs)
	other := torch.RandN(c.images, c.outputs, 1, 1)
	x := torch.RandN(c.images, c.channels, 13, 18)
	for _, bias := range []torch.Tensor{b, {}} {
		for _, added := range []bool{false, true} {
			text := requireCompiled(t, func(x torch.Tensor) torch.Tensor {
				y := F.Conv2d(x, w, bias, F.ConvOptions{Stride: c.stride[:], Padding: c.padding[:], Groups: c.groups})
				if added {
					return y.Add(other.ExpandAs(y)).ReLU()
				}
				return activations[c.activation](y)
			}, x)
			if !added {
				require.Contains(t, text, c.target)
			}
		}
	}
}

// Groups of any number of outputs compute in bfloat16 what they are in float32, whether they fill its vectors, which are longer, or not.
func TestGroupedConvolutionsInHalf(t *testing.T) {
	eachCase(t, []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 40}, func(own int, t *testing.T) {
		const groups, apart = 8, 2e-2
		x, w, b := torch.RandN(2, 4*groups, 6, 5), torch.RandN(own*groups, 4, 3, 3).MulScalar(0.2), torch.RandN(own*groups)
		p, err := Export(func(x torch.Tensor) torch.Tensor { return F.Conv2d(x, w, b, F.ConvOptions{Groups: groups}).ReLU() }, []any{x})
		require.NoError(t, err)
		defer p.Close()
		e, _ := lowered(t, p, nil)
		torch.NoGrad(func() {
			want, err := p.Run(x)
			require.NoError(t, err)
			got, err := e.Run(x)
			require.NoError(t, err)
			require.Less(t, got[0].Sub(want[0]).Abs().Max().Float64(), apart*want[0].Max().Float64())
		})
	})
}

// What does not fit is an error that says what does not.
func TestGroupedErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		part, ok := inner("libtorchgo::direct_weight", torch.RandN(8, 4, 3, 3))
		require.True(t, ok)
		w, x, ones, square := torch.Stack([]torch.Tensor{part, part}), torch.RandN(1, 8, 5, 5), []int{1, 1}, []int{3, 3}
		refusesAll(t, "grouped", map[string][]any{
			"are not those of groups":                {x, part, nil, nil, 16, square, ones, ones, "none"},
			"2 groups do not fit 9 channels":         {torch.RandN(1, 9, 5, 5), w, nil, nil, 16, square, ones, ones, "none"},
			"groups do not fit 8 channels and 24":    {x, w, nil, nil, 24, square, ones, ones, "none"},
			"do not fit images of":                   {torch.RandN(1, 12, 5, 5), w, nil, nil, 16, square, ones, ones, "none"},
			"padding is":                             {x, w, nil, nil, 16, square, ones, []int{-1, 0}, "none"},
			"are smaller than the kernel":            {torch.RandN(1, 8, 2, 5), w, nil, nil, 16, square, ones, []int{0, 0}, "none"},
			"the bias does not fit 16 outputs":       {x, w, torch.RandN(8), nil, 16, square, ones, ones, "none"},
			"expected images of float32 or bfloat16": {x.To(torch.Float64), w, nil, nil, 16, square, ones, ones, "none"},
		})
	})
}
