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

// A convolution of 1 x 1 and one of each channel behind it, together: images larger than the rows that are near, steps over them, rows that
// see nothing but zeros.
func TestOwnPairs(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, c := range []ownCase{
		{1, 16, 64, 112, 112, [2]int{3, 3}, []int{2, 2}, []int{1, 1}, true, false, "relu"},
		{2, 24, 72, 40, 61, [2]int{5, 5}, []int{1, 1}, []int{2, 2}, true, false, "hardswish"},
		{3, 7, 21, 9, 5, [2]int{3, 2}, []int{4, 1}, []int{0, 1}, false, false, "none"},
		{1, 8, 600, 30, 120, [2]int{3, 3}, []int{1, 1}, []int{6, 0}, true, false, "relu6"},
		{2, 3, 16, 2, 1, [2]int{2, 1}, []int{3, 2}, []int{5, 4}, false, false, "hardsigmoid"},
		{0, 8, 16, 8, 8, [2]int{3, 3}, []int{1, 1}, []int{1, 1}, true, false, "relu"},
		{3, 20, 96, 2, 2, [2]int{3, 3}, []int{1, 1}, []int{1, 1}, true, false, "relu"}, // few pixels, which meet several panels at once
		{1, 16, 200, 1, 3, [2]int{5, 5}, []int{2, 2}, []int{2, 2}, false, false, "hardswish"},
		{2, 8, 7000, 9, 4, [2]int{3, 3}, []int{1, 1}, []int{1, 1}, true, false, "swish"}, // a row after the other
	} {
		for dtype, apart := range map[torch.DType]float64{torch.Float32: 4e-6, torch.BFloat16: 1e-2} { // which rounds between, too
			t.Run(fmt.Sprint(c, dtype), func(t *testing.T) { torch.Scope(func() { c.testPair(t, dtype, apart) }) })
		}
	}
}

func (c ownCase) testPair(t *testing.T, dtype torch.DType, apart float64) {
	x, wide := torch.RandN(c.images, c.channels, c.height, c.width).To(dtype), torch.RandN(c.outputs, c.channels, 1, 1).To(dtype)
	each := torch.RandN(c.outputs, 1, c.kernel[0], c.kernel[1]).To(dtype)
	packed, ok := packedWeight(t, "libtorchgo::direct_weight", wide)
	if !ok {
		t.Skip("this processor has no kernel")
	}
	ofEach, ok := inner("libtorchgo::depthwise_weight", each)
	require.True(t, ok)
	var bias any
	wanted := torch.Tensor{}
	if c.bias {
		wanted = torch.RandN(c.outputs)
		bias, wanted = wanted, wanted.To(torch.Float64)
	}
	activation := activations[c.activation]
	want := activation(F.Conv2d(x.To(torch.Float64), wide.To(torch.Float64), wanted, F.ConvOptions{}))
	want = F.Conv2d(want, each.To(torch.Float64), wanted, F.ConvOptions{Stride: c.stride, Padding: c.padding, Groups: c.outputs})
	most := want.Abs()
	want = activation(want)
	for _, x := range []torch.Tensor{x, x.Contiguous(torch.ChannelsLast)} {
		got, ok := inner("libtorchgo::direct_depthwise", x, packed, c.outputs, bias, c.activation, ofEach, bias, c.stride, c.padding,
			c.activation)
		require.True(t, ok)
		require.Equal(t, want.Shape(), got.Shape())
		if want.NumEl() > 0 {
			require.Less(t, got.To(torch.Float64).Sub(want).Abs().Max().Float64(), apart*most.Max().Float64())
		}
	}
}

// What weighs channels: the means of images, and products with a number for each channel, in place and not.
func TestOwnGates(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, shape := range [][]int{{1, 16, 1, 1}, {2, 72, 28, 28}, {3, 61, 7, 5}, {1, 3, 40, 33}, {2, 100, 3, 3}, {1, 7, 1, 90}} {
		for dtype, apart := range map[torch.DType]float64{torch.Float32: 2e-7, torch.BFloat16: 1e-2} {
			t.Run(fmt.Sprint(shape, dtype), func(t *testing.T) { torch.Scope(func() { testGates(t, shape, dtype, apart) }) })
		}
	}
}

func testGates(t *testing.T, shape []int, dtype torch.DType, apart float64) {
	x, by := torch.RandN(shape...).To(dtype), torch.RandN(shape[0], shape[1], 1, 1).To(dtype)
	for _, x := range []torch.Tensor{x, x.Contiguous(torch.ChannelsLast), x.Transpose(2, 3).Contiguous().Transpose(2, 3)} {
		means, ok := inner("libtorchgo::means", x)
		if !ok {
			t.Skip("this processor has no kernel")
		}
		want := x.To(torch.Float64).MeanDim([]int{2, 3}, torch.MeanOptions{KeepDim: true})
		require.Equal(t, want.Shape(), means.Shape())
		require.Less(t, means.To(torch.Float64).Sub(want).Abs().Max().Float64(), apart)
		rows, ok := inner("libtorchgo::means", x, false)
		require.True(t, ok)
		torchtest.Equal(t, rows, means.Flatten(1, -1))
		scaled, ok := inner("libtorchgo::scale", x, by)
		require.True(t, ok)
		require.True(t, scaled.Equal(x.Mul(by)) && scaled.IsContiguous(torch.ChannelsLast))
		own := x.Contiguous(torch.ChannelsLast).Clone()
		_, ok = inner("libtorchgo::scale_", own, by)
		require.True(t, ok)
		require.True(t, own.Equal(scaled))
	}
}

// The largest of neighbouring pixels are libtorch's to the bit: of channels that fill no vector, at all sides, with what is no number.
func TestOwnMaxima(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, c := range []struct{ shape, kernel, stride, padding []int }{
		{[]int{1, 64, 112, 112}, []int{3, 3}, []int{2, 2}, []int{1, 1}},
		{[]int{2, 21, 9, 7}, []int{2, 2}, []int{2, 2}, []int{0, 0}},
		{[]int{1, 100, 5, 5}, []int{5, 3}, []int{1, 4}, []int{2, 1}},
		{[]int{3, 1, 1, 6}, []int{2, 2}, []int{1, 1}, []int{1, 1}},
		{[]int{0, 16, 4, 4}, []int{3, 3}, []int{1, 1}, []int{1, 1}},
	} {
		for _, dtype := range []torch.DType{torch.Float32, torch.BFloat16} {
			torch.Scope(func() {
				x := torch.RandN(c.shape...).To(dtype).Contiguous(torch.ChannelsLast)
				x.MaskedFillInPlace(x.GtScalar(2), math.NaN()).MaskedFillInPlace(x.LtScalar(-1), math.Inf(-1))
				got, ok := inner("libtorchgo::max_pool2d", x, c.kernel, c.stride, c.padding)
				if !ok {
					t.Skip("this processor has no kernel")
				}
				want := F.MaxPool2d(x, c.kernel, F.MaxPoolOptions{Stride: c.stride, Padding: c.padding})
				require.Equal(t, want.Shape(), got.Shape())
				require.True(t, got.IsNaN().Equal(want.IsNaN())) // in bfloat16 of other bits
				torchtest.Equal(t, got.MaskedFill(got.IsNaN(), 0), want.MaskedFill(want.IsNaN(), 0).Contiguous(torch.ChannelsLast))
			})
		}
	}
}

// Programs take them where the windows lie as ours do.
func TestLargest(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, w := torch.RandN(1, 3, 12, 12), torch.RandN(16, 3, 3, 3)
		for _, o := range []F.MaxPoolOptions{{}, {Stride: 2, Padding: 1}, {Dilation: 2}, {Stride: 3, CeilMode: true}} {
			p, err := Export(func(x torch.Tensor) torch.Tensor {
				return F.MaxPool2d(F.Conv2d(x, w, torch.Tensor{}, F.ConvOptions{}), 3, o)
			}, []any{x})
			require.NoError(t, err)
			defer p.Close()
			c, err := Compile(p)
			require.NoError(t, err)
			defer c.Close()
			own := strings.Contains(c.String(), "libtorchgo.max_pool2d.")
			require.Equal(t, strings.Contains(c.String(), "libtorchgo.direct.") && o.Dilation == nil && !o.CeilMode, own)
			torch.Inference(func() {
				got, err := c.Run(x)
				require.NoError(t, err)
				want, err := p.Run(x)
				require.NoError(t, err)
				torchtest.AllClose(t, got[0], want[0])
			})
		}
	})
}

// Wrong arguments are errors here, too.
func TestOwnGatesErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, one := torch.RandN(1, 16, 4, 4), []int{1, 1}
		plain, ok := packedWeight(t, "libtorchgo::direct_weight", torch.RandN(32, 16, 1, 1))
		if !ok {
			t.Skip("this processor has no kernel")
		}
		direct, _ := inner("libtorchgo::direct_weight", torch.RandN(32, 16, 3, 3))
		refuses(t, map[string]refusal{
			"not plain": {"direct_depthwise", []any{x, direct, 32, nil, "relu", torch.RandN(3, 3, 32), nil, one, one, "relu"},
				"do not fit images of"},
			"another": {"direct_depthwise", []any{x, plain, 32, nil, "relu", torch.RandN(3, 3, 16), nil, one, one, "relu"},
				"do not fit 32 channels"},
			"its bias": {"direct_depthwise", []any{x, plain, 32, nil, "relu", torch.RandN(3, 3, 32), torch.RandN(16), one, one, "relu"},
				"the bias does not fit 32 outputs"},
			"strided": {"direct_depthwise", []any{x, plain, 32, nil, "relu", torch.RandN(32, 3, 3).Permute(1, 2, 0), nil, one, one, "relu"},
				"expected contiguous weights"},
			"no images": {"means", []any{torch.RandN(16, 4, 4)}, "expected images of float32 or bfloat16"},
			"padding":   {"max_pool2d", []any{x, []int{3, 2}, one, []int{1, 2}}, "more than half of the kernel"},
			"kernel":    {"max_pool2d", []any{x, []int{0, 2}, one, []int{0, 0}}, "kernel is"},
			"larger":    {"max_pool2d", []any{x, []int{5, 1}, one, []int{0, 0}}, "smaller than the kernel"},
			"bytes":     {"max_pool2d", []any{x.To(torch.Uint8), one, one, []int{0, 0}}, "expected images of float32 or bfloat16"},
			"double":    {"means", []any{x.To(torch.Float64)}, "expected images of float32 or bfloat16"},
			"no pixels": {"means", []any{torch.RandN(1, 16, 0, 4)}, "have no means"},
			"gates":     {"scale", []any{x, torch.RandN(1, 15, 1, 1)}, "expected a number for each channel"},
			"pixels":    {"scale_", []any{x.Contiguous(torch.ChannelsLast), torch.RandN(1, 16, 1, 2)}, "expected a number for each channel"},
			"halves":    {"scale", []any{x, torch.RandN(1, 16, 1, 1).To(torch.Float16)}, "expected images of float32 or bfloat16"},
			"planes":    {"scale_", []any{x, torch.RandN(1, 16, 1, 1)}, "expected images with their channels last"},
		})
	})
}
