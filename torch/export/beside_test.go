package export

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Two convolutions of 1 x 1 whose sum is one: images of many bands and of few pixels, steps over the second's pixels, any channels.
func TestOwnBeside(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, c := range []struct {
		ownCase
		others int // the channels beside
	}{
		{ownCase{1, 64, 256, 56, 56, [2]int{1, 1}, []int{1, 1}, nil, true, false, "relu"}, 64},
		{ownCase{2, 32, 96, 9, 13, [2]int{1, 1}, []int{2, 2}, nil, true, true, "none"}, 48},
		{ownCase{3, 5, 7, 4, 6, [2]int{1, 1}, []int{3, 1}, nil, false, false, "hardswish"}, 2},
		{ownCase{1, 512, 2048, 7, 7, [2]int{1, 1}, []int{2, 2}, nil, true, false, "relu"}, 1024},
		{ownCase{1, 24, 200, 1, 3, [2]int{1, 1}, []int{1, 2}, nil, true, true, "swish"}, 40},
		{ownCase{40, 16, 32, 2, 2, [2]int{1, 1}, []int{2, 1}, nil, false, true, "relu"}, 16},
		{ownCase{0, 16, 32, 8, 8, [2]int{1, 1}, []int{1, 1}, nil, true, false, "none"}, 16},
	} {
		for dtype, apart := range map[torch.DType]float64{torch.Float32: 4e-6, torch.BFloat16: 4e-3} {
			t.Run(fmt.Sprint(c, dtype), func(t *testing.T) { torch.Scope(func() { c.testBeside(t, c.others, dtype, apart) }) })
		}
	}
}

func (c ownCase) testBeside(t *testing.T, others int, dtype torch.DType, apart float64) {
	x := torch.RandN(c.images, c.channels, c.height, c.width).To(dtype)
	other := torch.RandN(c.images, others, (c.height-1)*c.stride[0]+1, c.width*c.stride[1]).To(dtype) // as few and as many as fit
	a, b := torch.RandN(c.outputs, c.channels, 1, 1).To(dtype), torch.RandN(c.outputs, others, 1, 1).To(dtype)
	packed, ok := packedWeight(t, "libtorchgo::direct_weight", torch.Cat([]torch.Tensor{a, b}, 1))
	if !ok {
		t.Skip("this processor has no kernel")
	}
	double := func(t torch.Tensor) torch.Tensor { return t.To(torch.Float64) }
	want := F.Conv2d(double(x), double(a), torch.Tensor{}).Add(
		F.Conv2d(double(other), double(b), torch.Tensor{}, F.ConvOptions{Stride: c.stride}))
	var bias, sum any
	if c.bias {
		own := torch.RandN(c.outputs)
		bias, want = own, want.Add(double(own).Reshape(1, -1, 1, 1))
	}
	if c.sum {
		own := torch.RandN(want.Shape()...).To(dtype)
		sum, want = own, want.Add(double(own))
	}
	most := want.Abs()
	want = activations[c.activation](want)
	for _, last := range []bool{false, true} {
		if last {
			x, other = x.Contiguous(torch.ChannelsLast), other.Contiguous(torch.ChannelsLast)
		}
		got, ok := inner("libtorchgo::direct_beside", x, other, packed, bias, sum, c.outputs, c.stride, c.activation)
		require.True(t, ok)
		require.Equal(t, want.Shape(), got.Shape())
		require.True(t, got.IsContiguous(torch.ChannelsLast))
		if want.NumEl() > 0 {
			require.Less(t, double(got).Sub(want).Abs().Max().Float64(), apart*most.Max().Float64())
		}
	}
}

func TestOwnBesideErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, other, one := torch.RandN(1, 16, 4, 4), torch.RandN(1, 8, 8, 8), []int{1, 1}
		w, ok := packedWeight(t, "libtorchgo::direct_weight", torch.RandN(32, 24, 1, 1))
		if !ok {
			t.Skip("this processor has no kernel")
		}
		call := func(x, other, w torch.Tensor, stride []int) []any {
			return []any{x, other, w, nil, nil, 32, stride, "none"}
		}
		refuses(t, map[string]refusal{
			"sizes":    {"direct_beside", call(x, other, w, one), "do not lie beside those of"},
			"images":   {"direct_beside", call(x, torch.RandN(2, 8, 4, 4), w, one), "do not lie beside those of"},
			"dtypes":   {"direct_beside", call(x, other.To(torch.BFloat16), w, []int{2, 2}), "do not lie beside those of"},
			"doubles":  {"direct_beside", call(x, other.To(torch.Float64), w, []int{2, 2}), "expected images of float32 or bfloat16"},
			"channels": {"direct_beside", call(x, torch.RandN(1, 9, 4, 4), w, one), "do not fit images of"},
			"stride":   {"direct_beside", call(x, other, w, []int{0, 2}), "stride is"},
			"rows":     {"direct_beside", call(x, torch.RandN(8, 8), w, one), "expected images of float32 or bfloat16"},
		})
	})
}

// Winograd's tiles whose largest neighbours are taken band by band are those of the whole images: with windows that overlap or leave
// pixels out, of tiles of any height, at all sides.
func TestOwnPooled(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	windows := []struct{ kernel, stride, padding []int }{
		{[]int{3, 3}, []int{2, 2}, []int{1, 1}}, {[]int{2, 2}, []int{2, 2}, []int{0, 0}}, {[]int{4, 2}, []int{1, 3}, []int{2, 0}},
		{[]int{2, 3}, []int{7, 1}, []int{1, 0}},
	}
	for _, c := range []ownCase{
		{2, 3, 64, 61, 250, [2]int{7, 7}, []int{2, 2}, []int{3, 3}, true, false, "relu"},
		{1, 32, 64, 29, 120, [2]int{3, 3}, []int{1, 1}, []int{1, 1}, true, false, "relu"},
		{3, 16, 128, 17, 90, [2]int{3, 3}, []int{2, 2}, []int{1, 1}, false, false, "none"},
		{2, 16, 32, 5, 7, [2]int{3, 3}, []int{1, 1}, []int{2, 2}, true, false, "hardswish"},
		{0, 16, 32, 9, 9, [2]int{3, 3}, []int{1, 1}, []int{1, 1}, true, false, "relu"},
	} {
		for _, tile := range []int{2, foldedTile, 4, flatTile} {
			for _, w := range windows {
				if c.hasForm(tile) {
					t.Run(fmt.Sprint(c, tile, w), func(t *testing.T) {
						torch.Scope(func() { c.testPooled(t, tile, w.kernel, w.stride, w.padding) })
					})
				}
			}
		}
	}
}

func (c ownCase) testPooled(t *testing.T, tile int, kernel, stride, padding []int) {
	for _, d := range []struct {
		x, numbers, y torch.DType
		apart         float64
	}{
		{torch.Float32, torch.Float32, torch.Float32, 1e-6}, {torch.Float32, torch.Float32, torch.BFloat16, 5e-3},
		{torch.BFloat16, torch.BFloat16, torch.BFloat16, 5e-3}, {torch.BFloat16, torch.Float32, torch.BFloat16, 5e-3},
	} {
		x := torch.RandN(c.images, c.channels, c.height, c.width).To(d.x)
		w := torch.RandN(c.outputs, c.channels, c.kernel[0], c.kernel[1]).To(d.x)
		packed, ok := packedWeight(t, "libtorchgo::winograd_weight", w, outputsOfTile(tile), c.stride[0], d.numbers != d.x, d.x)
		if !ok || d.y == torch.BFloat16 && !hasKernels(torch.BFloat16) {
			continue
		}
		var bias any
		if c.bias {
			bias = torch.RandN(c.outputs)
		}
		whole, ok := inner("libtorchgo::winograd", x, packed, bias, nil, c.padding, c.activation)
		require.True(t, ok)
		want, ok := inner("libtorchgo::max_pool2d", whole, kernel, stride, padding)
		require.True(t, ok)
		got, ok := inner("libtorchgo::winograd_max_pool2d", x, packed, bias, c.padding, c.activation, kernel, stride, padding, d.y)
		require.True(t, ok)
		require.Equal(t, want.Shape(), got.Shape())
		require.Equal(t, d.y, got.DType())
		require.True(t, got.IsContiguous(torch.ChannelsLast))
		if want.NumEl() > 0 {
			require.LessOrEqual(t, got.Sub(want).Abs().Max().Float64(), d.apart*whole.Abs().Max().Float64())
		}
	}
}
