package export

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// ownConvolution computes a convolution by an operator of ours: Winograd's with tiles of 2 or 4, or for 0 the direct one. ok is false on
// a processor without a kernel.
func ownConvolution(t *testing.T, x, w, bias, sum torch.Tensor, tile int, stride, padding []int, relu bool) (y torch.Tensor, ok bool) {
	name, args := "libtorchgo::winograd", []any{w, tile}
	if tile == 0 {
		name, args = "libtorchgo::direct", args[:1]
	}
	packed, ok := inner(name+"_weight", args...)
	if !ok {
		return y, false
	}
	optional := func(x torch.Tensor) any {
		if x.Defined() {
			return x
		}
		return nil
	}
	args = []any{x, packed, optional(bias), optional(sum)}
	if tile == 0 {
		args = append(args, stride)
	}
	y, ok = inner(name, append(args, padding, relu)...)
	require.True(t, ok)
	return y, true
}

// The results are those of a convolution in double precision, as near as a float32 convolution's, for images of any size.
func TestOwnConvolutions(t *testing.T) {
	one, same := []int{1, 1}, []int{1, 1}
	for _, c := range []struct {
		images, channels, outputs, height, width int
		kernel                                   [2]int
		stride, padding                          []int
		bias, sum, relu                          bool
	}{
		{1, 16, 32, 4, 4, [2]int{3, 3}, one, same, false, false, false},
		{2, 64, 64, 16, 16, [2]int{3, 3}, one, same, true, false, true},
		{3, 32, 96, 7, 9, [2]int{3, 3}, one, same, true, true, true},
		{1, 16, 32, 3, 3, [2]int{3, 3}, one, []int{0, 0}, false, true, false},
		{5, 48, 64, 5, 13, [2]int{3, 3}, one, []int{2, 0}, true, true, false},
		{1, 16, 32, 1, 1, [2]int{3, 3}, one, same, true, false, false},
		{40, 128, 64, 8, 8, [2]int{3, 3}, one, same, true, true, true},
		{1, 8, 16, 6, 2, [2]int{3, 3}, one, []int{1, 2}, false, false, true}, // the narrow kernel's
		{0, 16, 32, 8, 8, [2]int{3, 3}, one, same, true, false, true},
		{2, 3, 64, 31, 18, [2]int{7, 7}, []int{2, 2}, []int{3, 3}, true, false, true},
		{1, 64, 32, 9, 8, [2]int{1, 1}, []int{2, 3}, []int{0, 0}, true, true, false},
		{3, 5, 32, 6, 11, [2]int{2, 5}, []int{3, 1}, []int{0, 4}, false, true, true},
		{1, 1, 16, 1, 1, [2]int{1, 1}, one, []int{0, 0}, false, false, false},
	} {
		for _, tile := range []int{0, 2, 4} {
			if tile > 0 && (c.kernel != [2]int{3, 3} || c.stride[0] > 1) {
				continue
			}
			t.Run(fmt.Sprint(c, tile), func(t *testing.T) {
				torchtest.NoLeaks(t)
				torch.ManualSeed(1)
				torch.Scope(func() {
					x, w := torch.RandN(c.images, c.channels, c.height, c.width), torch.RandN(c.outputs, c.channels, c.kernel[0], c.kernel[1])
					var bias, sum torch.Tensor
					want := F.Conv2d(x.To(torch.Float64), w.To(torch.Float64), torch.Tensor{}, F.ConvOptions{Stride: c.stride, Padding: c.padding})
					if c.bias {
						bias = torch.RandN(c.outputs)
						want = want.Add(bias.To(torch.Float64).Reshape(1, -1, 1, 1))
					}
					if c.sum {
						sum = torch.RandN(want.Shape()...)
						want = want.Add(sum.To(torch.Float64))
					}
					if c.relu {
						want = want.ReLU()
					}
					for _, x := range []torch.Tensor{x, x.Contiguous(torch.ChannelsLast), x.Transpose(2, 3).Contiguous().Transpose(2, 3)} {
						got, ok := ownConvolution(t, x, w, bias, sum, tile, c.stride, c.padding, c.relu)
						if !ok {
							t.Skip("this processor has no kernel")
						}
						require.Equal(t, want.Shape(), got.Shape())
						require.True(t, got.IsContiguous(torch.ChannelsLast))
						if want.NumEl() > 0 {
							require.Less(t, got.To(torch.Float64).Sub(want).Abs().Max().Float64(), 4e-6*want.Abs().Max().Float64())
						}
					}
				})
			})
		}
	}
}

// What is not a number stays so behind a ReLU, as with torch's.
func TestOwnConvolutionsNaN(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, w := torch.Full([]int{1, 16, 4, 4}, math.NaN()), torch.Ones(32, 16, 3, 3)
		for _, tile := range []int{0, 2, 4} {
			if y, ok := ownConvolution(t, x, w, torch.Tensor{}, torch.Tensor{}, tile, []int{1, 1}, []int{1, 1}, true); ok {
				require.True(t, y.IsNaN().All().Item().(bool))
			}
		}
	})
}

// Wrong arguments are errors: the operators look at all that they read.
func TestOwnConvolutionsErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, w := torch.RandN(1, 16, 4, 4), torch.RandN(32, 16, 3, 3)
		direct, ok := inner("libtorchgo::direct_weight", w)
		if !ok {
			t.Skip("this processor has no kernel")
		}
		require.Error(t, torch.Try(func() { torch.Call("libtorchgo::direct_weight", w) })) // an inner operator
		winograd, _ := inner("libtorchgo::winograd_weight", w, 4)
		one := []int{1, 1}
		for name, c := range map[string]struct {
			op   string
			args []any
			says string
		}{
			"weight":   {"winograd_weight", []any{w, 3}, "tiles of 3 outputs"},
			"kernel":   {"winograd_weight", []any{torch.RandN(32, 16, 3, 2), 4}, "expected weights of 3 x 3"},
			"outputs":  {"direct_weight", []any{torch.RandN(33, 16, 3, 3)}, "no kernel for 16 channels and 33 outputs"},
			"empty":    {"direct_weight", []any{torch.Empty(0, 16, 3, 3)}, "expected float32 weights"},
			"plain":    {"winograd", []any{x, w, nil, nil, one, true}, "not those of winograd_weight"},
			"width":    {"winograd", []any{x, winograd.Reshape(36, -1, 16, 8), nil, nil, one, true}, "no kernel for weights in panels of 8"},
			"channels": {"winograd", []any{torch.RandN(1, 32, 4, 4), winograd, nil, nil, one, true}, "do not fit images of"},
			"dtype":    {"winograd", []any{x.To(torch.Float64), winograd, nil, nil, one, true}, "expected float32 images"},
			"bias":     {"winograd", []any{x, winograd, torch.RandN(31), nil, one, true}, "the bias does not fit"},
			"sum":      {"winograd", []any{x, winograd, nil, torch.RandN(1, 32, 4, 5), one, true}, "what is added does not fit"},
			"padding":  {"winograd", []any{x, winograd, nil, nil, []int{1, 3}, true}, "padding is"},
			"small":    {"winograd", []any{torch.RandN(1, 16, 1, 4), winograd, nil, nil, []int{0, 0}, true}, "smaller than the kernel"},
			"stride":   {"direct", []any{x, direct, nil, nil, []int{1, 0}, one, true}, "stride is"},
			"larger":   {"direct", []any{torch.RandN(1, 16, 2, 4), direct, nil, nil, one, []int{0, 0}, true}, "smaller than the kernel"},
			"others":   {"direct", []any{torch.RandN(1, 15, 4, 4), direct, nil, nil, one, one, true}, "do not fit images of"},
		} {
			t.Run(name, func(t *testing.T) {
				err := torch.Try(func() { torch.Unsafe(func() { torch.Call("libtorchgo::"+c.op, c.args...) }) })
				require.ErrorContains(t, err, c.says)
			})
		}
	})
}
