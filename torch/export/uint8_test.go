package export

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// uint8Case is a convolution in eight bits, of each channel by itself where that is said.
type uint8Case struct {
	images, channels, outputs, height, width int
	each                                     bool
	kernel, stride, padding                  []int
	zero                                     int
	sum                                      bool
	activation                               string
}

var uint8Cases = []uint8Case{
	{1, 64, 64, 14, 14, false, []int{1, 1}, []int{1, 1}, []int{0, 0}, 0, true, "relu"},
	{2, 64, 256, 7, 7, false, []int{3, 3}, []int{1, 1}, []int{1, 1}, 7, false, "none"},
	{1, 3, 64, 31, 18, false, []int{7, 7}, []int{2, 2}, []int{3, 3}, 114, false, "relu"},
	{3, 5, 21, 9, 4, false, []int{2, 3}, []int{3, 1}, []int{0, 4}, 255, true, "hardswish"},
	{1, 1, 1, 1, 1, false, []int{1, 1}, []int{1, 1}, []int{0, 0}, 3, false, "hardsigmoid"},
	{1, 960, 1000, 1, 1, false, []int{1, 1}, []int{1, 1}, []int{0, 0}, 100, false, "none"},
	{2, 24, 72, 13, 10, false, []int{1, 1}, []int{2, 3}, []int{1, 0}, 128, true, "relu6"},
	{1, 30, 120, 5, 23, false, []int{1, 1}, []int{1, 1}, []int{0, 0}, 9, true, "none"}, // a row that ends within four
	{1, 16, 400, 3, 5, false, []int{3, 2}, []int{1, 1}, []int{1, 1}, 1, false, "relu"},
	{0, 16, 40, 3, 5, false, []int{1, 1}, []int{1, 1}, []int{0, 0}, 1, false, "relu"},
	{1, 64, 64, 9, 9, true, []int{3, 3}, []int{1, 1}, []int{1, 1}, 0, false, "relu"},
	{2, 72, 72, 14, 13, true, []int{5, 5}, []int{2, 2}, []int{2, 2}, 31, false, "hardswish"},
	{3, 16, 16, 11, 30, true, []int{3, 3}, []int{1, 1}, []int{1, 1}, 128, false, "none"},
	{1, 61, 61, 7, 9, true, []int{2, 4}, []int{1, 3}, []int{1, 3}, 255, false, "relu6"},
	{2, 3, 3, 4, 5, true, []int{1, 1}, []int{3, 2}, []int{0, 0}, 17, false, "none"},
	{1, 1, 1, 40, 41, true, []int{32, 32}, []int{1, 1}, []int{0, 0}, 2, false, "none"}, // as many weights as there may be
	{0, 16, 16, 4, 4, true, []int{3, 3}, []int{1, 1}, []int{1, 1}, 0, false, "relu"},
}

// uint8Layer is a case with numbers by chance.
type uint8Layer struct {
	uint8Case
	x, w, scale, bias, sum torch.Tensor
	want                   torch.Tensor // the sums, in float64
}

const sumScale, sumZero = 0.25, 40

func (c uint8Case) layer() uint8Layer {
	o := F.ConvOptions{Stride: c.stride, Groups: 1}
	if c.each {
		o.Groups = c.channels
	}
	bytes := func(shape ...int) torch.Tensor { return torch.RandInt(0, 256, shape).To(torch.Uint8) }
	l := uint8Layer{uint8Case: c, x: bytes(c.images, c.channels, c.height, c.width)}
	l.w = torch.RandInt(-127, 128, []int{c.outputs, c.channels / o.Groups, c.kernel[0], c.kernel[1]}).To(torch.Int8)
	l.scale, l.bias = torch.Rand(c.outputs), torch.RandN(c.outputs)
	x := l.x.To(torch.Float64).SubScalar(c.zero)
	l.want = F.Conv2d(F.Pad(x, []int{c.padding[1], c.padding[1], c.padding[0], c.padding[0]}), l.w.To(torch.Float64), torch.Tensor{}, o)
	if c.sum {
		l.sum = bytes(l.want.Shape()...)
	}
	return l
}

// run computes a layer by our operator; ok is false on a processor without a kernel.
func (l uint8Layer) run(
	scale, bias torch.Tensor, activation string, yScale float64, yZero int, dtype torch.DType,
) (y torch.Tensor, ok bool) {
	packed, ok := newWholeWeights(l.w, l.each, int64(l.zero))
	if !ok {
		return y, false
	}
	scale, bias = packed.lanes(scale), packed.lanes(bias)
	args := []any{l.x, l.zero, packed.weight, l.kernel, packed.start, scale, bias}
	name := "libtorchgo::depthwise_uint8"
	if !l.each {
		var sum any
		if l.sum.Defined() {
			sum = l.sum
		}
		name, args = "libtorchgo::direct_uint8", append(args, sum, sumScale, sumZero)
	}
	return inner(name, append(args, l.stride, l.padding, activation, yScale, yZero, dtype)...)
}

// Sums in eight bits are exact, and what becomes of them is rounded once.
func TestUint8Convolutions(t *testing.T) {
	for _, c := range uint8Cases {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			torchtest.NoLeaks(t)
			torch.ManualSeed(1)
			torch.Scope(func() {
				l := c.layer()
				exact := l
				exact.sum = torch.Tensor{}
				got, ok := exact.run(torch.Ones(c.outputs), torch.Zeros(c.outputs), "none", 1, 0, torch.Float32)
				if !ok {
					t.Skip("this processor has no kernel")
				}
				require.True(t, got.IsContiguous(torch.ChannelsLast))
				require.True(t, l.want.To(torch.Float32).Equal(got)) // whole numbers, rounded where float32 has fewer digits
				l.testRounded(t)
			})
		})
	}
}

// testRounded compares results in float32 and in eight bits with those in double precision.
func (l uint8Layer) testRounded(t *testing.T) {
	spread := max(l.want.Abs().Sum().Float64()/float64(max(1, l.want.NumEl())), 1)
	scale := l.scale.DivScalar(spread)
	want := l.want.Mul(scale.Reshape(1, -1, 1, 1)).Add(l.bias.Reshape(1, -1, 1, 1))
	if l.sum.Defined() {
		want = want.Add(l.sum.To(torch.Float64).SubScalar(sumZero).MulScalar(sumScale))
	}
	want = activations[l.activation](want)
	got, ok := l.run(scale, l.bias, l.activation, 1, 0, torch.Float32)
	require.True(t, ok)
	if want.NumEl() == 0 {
		require.Equal(t, want.Shape(), got.Shape())
		return
	}
	require.Less(t, got.Sub(want).Abs().Max().Float64(), 1e-5*max(1, want.Abs().Max().Float64()))
	const zero = 100
	step := max(want.Abs().Max().Float64()/200, 1e-3) // some do not fit
	whole, ok := l.run(scale, l.bias, l.activation, step, zero, torch.Uint8)
	require.True(t, ok)
	exact := want.DivScalar(step).AddScalar(zero).Clamp(0, 255)
	require.Less(t, whole.To(torch.Float64).Sub(exact).Abs().Max().Float64(), 0.5001)
	require.Equal(t, torch.Uint8, whole.DType())
}

// Numbers become those of quantize_per_tensor; means and products are rounded once.
func TestUint8Numbers(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.RandN(2, 37, 5, 7)
		got, ok := inner("libtorchgo::quantize_uint8", x, 0.02, 100)
		if !ok {
			t.Skip("this processor has no kernel")
		}
		quantized := func(x torch.Tensor) torch.Tensor {
			own := torch.Call("quantize_per_tensor", x, 0.02, 100, torch.QUint8)[0]
			return torch.Call("int_repr", own)[0].(torch.Tensor)
		}
		require.True(t, quantized(x).Equal(got))
		few := torch.RandN(2, 3, 41, 29)
		for _, own := range []torch.Tensor{few, few.Contiguous(torch.ChannelsLast)} {
			got, _ := inner("libtorchgo::quantize_uint8", own, 0.02, 100)
			require.True(t, got.IsContiguous(torch.ChannelsLast))
			require.True(t, quantized(few).Equal(got))
		}
		flat, _ := inner("libtorchgo::quantize_uint8", x.Reshape(70, 37), 0.02, 100)
		require.True(t, quantized(x.Reshape(70, 37)).Equal(flat))
		real := got.To(torch.Float64).SubScalar(100)
		means, _ := inner("libtorchgo::means_uint8", got, 0.02, 100)
		require.Less(t, means.Sub(real.MulScalar(0.02).Mean(2, 3).Reshape(2, 37, 1, 1)).Abs().Max().Float64(), 1e-6)
		none, _ := inner("libtorchgo::means_uint8", got.Narrow(0, 0, 0), 0.02, 100)
		require.Equal(t, []int{0, 37, 1, 1}, none.Shape())
		by := torch.Rand(2, 37, 1, 1)
		scaled, _ := inner("libtorchgo::scale_uint8", got, 0.02, 100, by, 0.01, 90)
		want := real.Mul(by).MulScalar(2).AddScalar(90).Clamp(0, 255)
		require.Less(t, scaled.To(torch.Float64).Sub(want).Abs().Max().Float64(), 0.5001)
	})
}

// Wrong arguments are errors: the operators look at all that they read.
func TestUint8Errors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w := torch.Ones(32, 16, 3, 3).To(torch.Int8)
		direct, ok := newWholeWeights(w, false, 3)
		if !ok {
			t.Skip("this processor has no kernel")
		}
		alone := torch.Ones(16, 1, 3, 3).To(torch.Int8)
		each, _ := newWholeWeights(alone, true, 3)
		x, one, three := torch.Ones(1, 16, 4, 4).To(torch.Uint8), []int{1, 1}, []int{3, 3}
		call := func(w wholeWeights, set map[int]any) []any {
			n := torch.Ones(w.start.Size(0))
			args := []any{x, 3, w.weight, three, w.start, n, n, nil, 1.0, 0, one, one, "relu", 1.0, 0, torch.Uint8}
			for i, v := range set {
				args[i] = v
			}
			if w.each {
				args = append(args[:7:7], args[10:]...)
			}
			return args
		}
		refuses(t, map[string]refusal{
			"weight":     {"direct_uint8_weight", []any{torch.Ones(2, 2, 1, 1)}, "expected weights of 4 dimensions"},
			"empty":      {"direct_uint8_weight", []any{torch.Ones(0, 2, 1, 1).To(torch.Int8)}, "there are no weights"},
			"alone":      {"depthwise_uint8_weight", []any{w}, "expected weights of one channel"},
			"images":     {"direct_uint8", call(direct, map[int]any{0: torch.Ones(1, 16, 4, 4)}), "expected images of 4 dimensions"},
			"channels":   {"direct_uint8", call(direct, map[int]any{0: torch.Ones(1, 20, 4, 4).To(torch.Uint8)}), "do not fit images of"},
			"kernel":     {"direct_uint8", call(direct, map[int]any{3: []int{2, 3}}), "do not fit images of"},
			"no kernel":  {"direct_uint8", call(direct, map[int]any{3: []int{0, 3}}), "kernel is"},
			"start":      {"direct_uint8", call(direct, map[int]any{4: torch.Ones(32)}), "expected int32 to start with"},
			"scale":      {"direct_uint8", call(direct, map[int]any{5: torch.Ones(31)}), "a number for each of 32 lanes"},
			"sum":        {"direct_uint8", call(direct, map[int]any{7: x}), "what is added does not fit"},
			"stride":     {"direct_uint8", call(direct, map[int]any{10: []int{0, 1}}), "stride is"},
			"padding":    {"direct_uint8", call(direct, map[int]any{11: []int{-1, 1}}), "padding is"},
			"small":      {"direct_uint8", call(direct, map[int]any{0: x.Narrow(2, 0, 1), 11: []int{0, 0}}), "smaller than the kernel"},
			"activation": {"direct_uint8", call(direct, map[int]any{12: "mish"}), "there is no activation mish"},
			"dtype":      {"direct_uint8", call(direct, map[int]any{15: torch.Int8}), "results are uint8 or float32"},
			"lanes":      {"depthwise_uint8_lanes", []any{0}, "no lanes of 0 channels"},
			"fewer":      {"depthwise_uint8", call(each, map[int]any{0: torch.Ones(1, 24, 4, 4).To(torch.Uint8)}), "do not fit images of"},
			"each bias":  {"depthwise_uint8", call(each, map[int]any{6: torch.Ones(16)}), "a number for each of 64 lanes"},
			"many":       {"depthwise_uint8", call(each, map[int]any{3: []int{33, 32}}), "there is no kernel of"},
			"rows":       {"linear_uint8", []any{x.Narrow(3, 0, 0), 3, w, w, w, w, "relu", 1.0, 0, torch.Uint8}, "expected rows of numbers"},
			"numbers":    {"quantize_uint8", []any{x, 1.0, 0}, "expected numbers of float32"},
			"means":      {"means_uint8", []any{torch.Ones(1, 2, 3, 3), 1.0, 0}, "expected uint8 images"},
			"gates":      {"scale_uint8", []any{x, 1.0, 0, torch.Ones(1, 15, 1, 1), 1.0, 0}, "expected a number for each channel"},
		})
	})
}
