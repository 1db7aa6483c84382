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

// Which of Winograd's forms a convolution gets, by what it costs.
func TestWinogradForms(t *testing.T) {
	large, small, two, wide, flat := squares[0], squares[1], squares[2], halfForms[0], halfForms[1]
	folded, none := floatForms[0], winogradForm{}
	for _, c := range []struct {
		images, channels, outputs, kernel, step, side int
		narrow, wide, half                            winogradForm
	}{
		{1, 64, 64, 3, 1, 56, large, large, flat},
		{1, 32, 32, 3, 1, 56, large, large, wide},
		{1, 512, 512, 3, 2, 7, two, none, two},
		{1, 256, 256, 3, 1, 14, large, small, flat},
		{4, 128, 128, 3, 1, 8, large, large, small},
		{1, 512, 512, 3, 1, 7, small, none, small},
		{1, 128, 128, 3, 2, 28, two, none, two},
		{1, 16, 16, 3, 1, 2, none, none, none},
		{1, 64, 64, 3, 3, 56, none, none, none},
		{1, 3, 64, 7, 2, 112, folded, none, none},
		{1, 8, 64, 7, 2, 112, none, none, none},
		{1, 3, 64, 7, 1, 112, none, none, none},
		{1, 3, 64, 5, 2, 112, none, none, none},
	} {
		for i, want := range []winogradForm{c.narrow, c.wide, c.half} {
			costs := []costs{floatCosts(false), floatCosts(true), halfCosts}[i]
			got, _ := costs.winograd(c.images, c.channels, c.outputs, c.kernel, c.step, c.side, c.side)
			require.Equal(t, want, got, "%+v, %d", c, i)
		}
	}
}

// A tile over folded images, and in place of one: that of 2 x 4, and a convolution of each channel by itself.
const (
	foldedTile = 3
	flatTile   = 24
	eachAlone  = -1
)

// outputsOfTile are those of Winograd's tile of a kind, down and across.
func outputsOfTile(tile int) []int {
	if tile == flatTile {
		return []int{2, 4}
	}
	return []int{tile, tile}
}

// ownForm is Winograd's convolution with tiles of 2, 3 or 4, or flat ones, or for 0 the direct one. Wide are Winograd's numbers of float32.
type ownForm struct {
	tile          int
	wide, inPlace bool
}

// ownConvolution computes a convolution by an operator of ours. ok is false on a processor without a kernel, and where Winograd's has not
// the stride.
func ownConvolution(
	t *testing.T, form ownForm, x, w, bias, sum torch.Tensor, stride, padding []int, activation string,
) (y torch.Tensor, ok bool) {
	tile := form.tile
	name, args := "libtorchgo::winograd", []any{w, outputsOfTile(tile), stride[0], form.wide, w.DType()}
	switch tile {
	case 0:
		name, args = "libtorchgo::direct", args[:1]
	case eachAlone:
		name, args = "libtorchgo::depthwise", args[:1]
	}
	packed, ok := packedWeight(t, name+"_weight", args...)
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
		args = append(args, w.Size(0), []int{w.Size(2), w.Size(3)})
	}
	if tile <= 0 {
		args = append(args, stride)
	}
	args = append(args, padding)
	if tile == 0 {
		args = append(args, 1) // row of the kernel behind the other
	}
	if form.inPlace {
		name += "_"
	}
	y, ok = inner(name, append(args, activation)...)
	require.True(t, ok)
	return y, true
}

// activations are what may be behind a convolution of ours.
var activations = map[string]func(torch.Tensor) torch.Tensor{
	"none": func(x torch.Tensor) torch.Tensor { return x }, "relu": torch.Tensor.ReLU, "relu6": F.ReLU6,
	"hardswish": F.Hardswish, "hardsigmoid": F.Hardsigmoid, "swish": F.SiLU, "sigmoid": torch.Tensor.Sigmoid,
	"gelu":      func(x torch.Tensor) torch.Tensor { return F.GELU(x) },
	"gelu_tanh": func(x torch.Tensor) torch.Tensor { return F.GELU(x, F.GELUOptions{Approximate: "tanh"}) },
}

// ownCase is a convolution, of each channel by itself where there are as many groups as channels.
type ownCase struct {
	images, channels, outputs, height, width int
	kernel                                   [2]int
	stride, padding                          []int
	bias, sum                                bool
	activation                               string
}

// The results are those of a convolution in double precision, as near as a float32 convolution's, for images of any size.
func TestOwnConvolutions(t *testing.T) {
	one, same := []int{1, 1}, []int{1, 1}
	for _, c := range []ownCase{
		{1, 16, 32, 4, 4, [2]int{3, 3}, one, same, false, false, "none"},
		{2, 64, 64, 16, 16, [2]int{3, 3}, one, same, true, false, "relu"},
		{3, 32, 96, 7, 9, [2]int{3, 3}, one, same, true, true, "relu"},
		{1, 16, 32, 3, 3, [2]int{3, 3}, one, []int{0, 0}, false, true, "hardswish"},
		{5, 48, 64, 5, 13, [2]int{3, 3}, one, []int{2, 0}, true, true, "none"},
		{1, 16, 32, 1, 1, [2]int{3, 3}, one, same, true, false, "none"},
		{40, 128, 64, 8, 8, [2]int{3, 3}, one, same, true, true, "relu"},
		{1, 8, 16, 6, 2, [2]int{3, 3}, one, []int{1, 2}, false, false, "hardsigmoid"}, // the narrow kernel's
		{0, 16, 32, 8, 8, [2]int{3, 3}, one, same, true, false, "relu"},
		{2, 3, 64, 31, 18, [2]int{7, 7}, []int{2, 2}, []int{3, 3}, true, false, "relu"},
		{1, 4, 32, 9, 12, [2]int{7, 7}, []int{2, 2}, []int{6, 0}, true, true, "hardswish"},
		{5, 1, 16, 8, 7, [2]int{7, 7}, []int{2, 2}, []int{0, 1}, false, true, "none"},
		{0, 2, 16, 8, 8, [2]int{7, 7}, []int{2, 2}, []int{3, 3}, true, false, "relu"},
		{1, 64, 32, 9, 8, [2]int{1, 1}, []int{2, 3}, []int{0, 0}, true, true, "none"},
		{3, 5, 32, 6, 11, [2]int{2, 5}, []int{3, 1}, []int{0, 4}, false, true, "hardswish"},
		{1, 1, 16, 1, 1, [2]int{1, 1}, one, []int{0, 0}, false, false, "hardsigmoid"},
		{1, 16, 5, 6, 7, [2]int{3, 3}, one, same, true, true, "hardswish"}, // outputs that fill no vector
		{2, 24, 72, 14, 13, [2]int{1, 1}, one, []int{0, 0}, true, true, "relu"},
		{1, 40, 120, 5, 5, [2]int{3, 2}, []int{2, 1}, same, true, false, "none"},
		{1, 960, 1000, 1, 1, [2]int{1, 1}, one, []int{0, 0}, true, false, "none"}, // few rows, many numbers
		{3, 333, 21, 1, 1, [2]int{1, 1}, one, []int{0, 0}, false, true, "relu"},
		{2, 7, 1, 9, 9, [2]int{3, 3}, one, same, true, false, "hardsigmoid"},
		{1, 16, 40, 9, 5, [2]int{1, 1}, one, []int{0, 0}, true, true, "relu6"},
		{2, 16, 32, 9, 5, [2]int{3, 3}, one, same, true, true, "swish"},
		{2, 64, 64, 16, 14, [2]int{3, 3}, []int{2, 2}, same, true, true, "relu"},
		{3, 32, 64, 7, 10, [2]int{3, 3}, []int{2, 2}, []int{2, 0}, true, false, "none"},
		{1, 16, 32, 3, 3, [2]int{3, 3}, []int{2, 2}, []int{0, 0}, false, false, "relu"},
		{30, 128, 96, 8, 9, [2]int{3, 3}, []int{2, 2}, same, false, true, "hardswish"},
		{1, 300, 40, 3, 5, [2]int{1, 1}, one, []int{0, 0}, true, false, "sigmoid"},
		{1, 64, 84, 5, 5, [2]int{1, 1}, one, []int{0, 0}, true, true, "gelu"},
		{2, 16, 32, 6, 6, [2]int{3, 3}, one, same, true, false, "gelu_tanh"},
	} {
		for _, tile := range []int{0, 2, foldedTile, 4, flatTile} {
			if tile == 0 || c.hasForm(tile) {
				c.run(t, tile)
			}
		}
	}
}

// hasForm tells whether Winograd's tiles of a kind serve the convolution.
func (c ownCase) hasForm(tile int) bool {
	if c.outputs%16 > 0 || c.stride[0] != c.stride[1] || c.stride[0] > 2 {
		return false
	}
	if tile == foldedTile {
		return c.kernel == [2]int{7, 7} && c.stride[0] == 2 && c.channels <= fewChannels
	}
	return c.kernel == [2]int{3, 3} && (c.stride[0] == 1 || tile == 2)
}

// Winograd's tiles may have any of their outputs in the last row and the last column of an image, and those of a block may be of many
// images.
func TestOwnConvolutionsBorders(t *testing.T) {
	for height := 1; height < 7; height++ {
		for _, width := range []int{height, 7 - height} {
			for _, step := range []int{1, 2} {
				c := ownCase{3, 16, 32, height, width, [2]int{3, 3}, []int{step, step}, []int{1, 1}, true, true, "none"}
				for _, tile := range []int{2, 4, flatTile} {
					if c.hasForm(tile) {
						c.run(t, tile)
					}
				}
			}
			for _, odd := range []int{0, 1} {
				folded := ownCase{3, 3, 32, 2*height - odd, 2 * width, [2]int{7, 7}, []int{2, 2}, []int{3, 3}, true, true, "none"}
				folded.run(t, foldedTile)
			}
		}
	}
}

// The same of each channel by itself: kernels that reach over all sides of small images, steps over pixels, rows that meet nothing.
func TestOwnConvolutionsOfEachChannel(t *testing.T) {
	one := []int{1, 1}
	for _, c := range []ownCase{
		{1, 16, 16, 4, 4, [2]int{3, 3}, one, []int{1, 1}, false, false, "none"},
		{2, 72, 72, 28, 28, [2]int{5, 5}, []int{2, 2}, []int{2, 2}, true, false, "hardswish"},
		{3, 8, 8, 7, 30, [2]int{3, 3}, []int{1, 2}, []int{1, 0}, true, true, "relu"},
		{1, 32, 32, 1, 1, [2]int{5, 5}, one, []int{2, 2}, true, false, "hardsigmoid"},
		{2, 24, 24, 2, 3, [2]int{7, 4}, []int{1, 3}, []int{6, 5}, false, true, "none"},
		{1, 16, 16, 3, 5, [2]int{2, 2}, []int{3, 3}, []int{4, 4}, true, false, "none"},
		{1, 48, 48, 9, 33, [2]int{1, 1}, []int{2, 2}, []int{0, 0}, false, false, "relu"},
		{0, 16, 16, 8, 8, [2]int{3, 3}, one, []int{1, 1}, true, false, "relu"},
		{2, 61, 61, 9, 11, [2]int{5, 5}, one, []int{2, 2}, true, true, "hardswish"}, // channels that fill no vector
		{1, 3, 3, 5, 4, [2]int{3, 3}, []int{2, 1}, []int{1, 1}, true, false, "relu"},
		{1, 200, 200, 7, 7, [2]int{5, 5}, one, []int{2, 2}, true, false, "none"},
		{1, 37, 37, 7, 7, [2]int{5, 5}, one, []int{2, 2}, true, false, "swish"},
		{2, 40, 40, 12, 23, [2]int{7, 7}, one, []int{3, 3}, true, true, "relu"},
		{1, 24, 24, 8, 37, [2]int{3, 3}, []int{2, 2}, []int{1, 1}, false, false, "none"},
		{1, 20, 20, 4, 3, [2]int{5, 7}, one, []int{6, 7}, true, false, "none"}, // wider than the images
	} {
		c.run(t, eachAlone)
	}
}

// ownNumbers are those of images and of weights, Winograd's, and how far from the right ones results may be.
type ownNumbers struct {
	dtype torch.DType
	wide  bool
	apart float64
}

// In bfloat16, whose results have eight bits, Winograd's numbers are rounded to as many before they are multiplied, too, unless they are
// float32.
func (c ownCase) run(t *testing.T, tile int) {
	all := []ownNumbers{{torch.Float32, false, 4e-6}, {torch.BFloat16, false, 4e-3}}
	if tile > 0 {
		all[1].apart = 4e-2
		all = append(all, ownNumbers{torch.BFloat16, true, 4e-3})
	}
	for _, n := range all {
		t.Run(fmt.Sprint(c, tile, n), func(t *testing.T) { c.test(t, tile, n) })
	}
}

func (c ownCase) test(t *testing.T, tile int, n ownNumbers) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		o := F.ConvOptions{Stride: c.stride, Padding: c.padding, Groups: 1}
		if tile == eachAlone {
			o.Groups = c.channels
		}
		x := torch.RandN(c.images, c.channels, c.height, c.width).To(n.dtype)
		w := torch.RandN(c.outputs, c.channels/o.Groups, c.kernel[0], c.kernel[1]).To(n.dtype)
		var bias, sum torch.Tensor
		want := F.Conv2d(x.To(torch.Float64), w.To(torch.Float64), torch.Tensor{}, o)
		if c.bias {
			bias = torch.RandN(c.outputs)
			want = want.Add(bias.To(torch.Float64).Reshape(1, -1, 1, 1))
		}
		if c.sum {
			sum = torch.RandN(want.Shape()...).To(n.dtype)
			want = want.Add(sum.To(torch.Float64))
		}
		most := want.Abs()
		want = activations[c.activation](want)
		for _, x := range []torch.Tensor{x, x.Contiguous(torch.ChannelsLast), x.Transpose(2, 3).Contiguous().Transpose(2, 3)} {
			got, ok := ownConvolution(t, ownForm{tile: tile, wide: n.wide}, x, w, bias, sum, c.stride, c.padding, c.activation)
			if !ok {
				t.Skip("this processor has no kernel")
			}
			require.Equal(t, want.Shape(), got.Shape())
			require.True(t, got.IsContiguous(torch.ChannelsLast))
			if want.NumEl() > 0 {
				require.Less(t, got.To(torch.Float64).Sub(want).Abs().Max().Float64(), n.apart*most.Max().Float64())
			}
			if !c.sum || tile == eachAlone {
				continue
			}
			for _, place := range []torch.Tensor{sum.Clone(), sum.Contiguous(torch.ChannelsLast).Clone()} {
				form := ownForm{tile, n.wide, true}
				_, ok := ownConvolution(t, form, x, w, bias, place, c.stride, c.padding, c.activation)
				require.True(t, ok)
				require.True(t, place.Equal(got), "in place it is %v, not %v", place, got)
			}
		}
	})
}

// refusal is a call of an operator of ours, and a part of its error.
type refusal struct {
	op   string
	args []any
	says string
}

func refuses(t *testing.T, cases map[string]refusal) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := torch.Try(func() { torch.Unsafe(func() { torch.Call("libtorchgo::"+c.op, c.args...) }) })
			require.ErrorContains(t, err, c.says)
		})
	}
}

// refusesAll are calls of one operator, by what their errors say.
func refusesAll(t *testing.T, op string, calls map[string][]any) {
	cases := map[string]refusal{}
	for says, args := range calls {
		cases[says] = refusal{op, args, says}
	}
	refuses(t, cases)
}

// Linear layers of ours take rows in any shape, and their results are those in double precision, as near as float32's.
func TestOwnLinear(t *testing.T) {
	for _, c := range []struct {
		shape      []int
		outputs    int
		bias       bool
		activation string
	}{
		{[]int{1, 512}, 10, true, "none"},
		{[]int{40}, 7, false, "relu"},
		{[]int{2, 3, 100}, 49, true, "hardswish"},
		{[]int{61, 33}, 96, true, "relu6"},
		{[]int{1, 71}, 610, true, "relu"},
		{[]int{2, 33}, 401, true, "none"},
		{[]int{3, 70}, 624, false, "relu"},
		{[]int{4, 70}, 336, true, "swish"},
		{[]int{0, 16}, 32, true, "none"},
		{[]int{130, 1}, 1, false, "hardsigmoid"},
		{[]int{197, 96}, 112, true, "gelu"},
		{[]int{149, 40}, 52, false, "gelu_tanh"},
	} {
		for dtype, apart := range map[torch.DType]float64{torch.Float32: 4e-6, torch.BFloat16: 4e-3} {
			t.Run(fmt.Sprint(c.shape, c.outputs, dtype), func(t *testing.T) {
				torchtest.NoLeaks(t)
				torch.Scope(func() {
					in := c.shape[len(c.shape)-1]
					x, w, bias := torch.RandN(c.shape...).To(dtype), torch.RandN(c.outputs, in).To(dtype), torch.Tensor{}
					packed, ok := packedWeight(t, "libtorchgo::direct_weight", w.Reshape(c.outputs, in, 1, 1))
					if !ok {
						t.Skip("this processor has no kernel")
					}
					args, sums := []any{x, packed, c.outputs, nil, c.activation}, F.Linear(x.To(torch.Float64), w.To(torch.Float64), bias)
					if c.bias {
						bias = torch.RandN(c.outputs)
						args[3], sums = bias, sums.Add(bias.To(torch.Float64))
					}
					got, ok := inner("libtorchgo::linear", args...)
					require.True(t, ok)
					require.Equal(t, sums.Shape(), got.Shape())
					if want := activations[c.activation](sums); want.NumEl() > 0 {
						require.Less(t, got.To(torch.Float64).Sub(want).Abs().Max().Float64(), apart*sums.Abs().Max().Float64())
					}
				})
			})
		}
	}
}

// However many rows there are, each is in one piece of them, and computed once.
func TestOwnLinearRows(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w := torch.RandN(40, 24)
		packed, ok := packedWeight(t, "libtorchgo::direct_weight", w.Reshape(40, 24, 1, 1))
		if !ok {
			t.Skip("this processor has no kernel")
		}
		for rows := range 450 {
			x := torch.RandN(rows, 24)
			got, ok := inner("libtorchgo::linear", x, packed, 40, nil, "none")
			require.True(t, ok)
			require.True(t, got.AllClose(F.Linear(x, w, torch.Tensor{}), torch.AllCloseOptions{ATol: new(1e-5)}), rows)
		}
	})
}

// GELU is as near as float32 comes over the whole line, and what it is in double precision at its ends and beyond them: oneDNN's, which
// PyTorch calls, is no number at infinity on some processors.
func TestOwnGELU(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		packed, ok := packedWeight(t, "libtorchgo::direct_weight", torch.Ones(1, 1, 1, 1))
		if !ok {
			t.Skip("this processor has no kernel")
		}
		const apart = 3e-7
		for _, name := range []string{"gelu", "gelu_tanh"} {
			of := func(x torch.Tensor) torch.Tensor {
				y, ok := inner("libtorchgo::linear", x.Reshape(-1, 1), packed, 1, nil, name)
				require.True(t, ok)
				return y.Reshape(-1)
			}
			x := torch.Linspace(-12, 12, 1<<18)
			want := activations[name](x.To(torch.Float64))
			off := of(x).To(torch.Float64).Sub(want).Abs().Div(x.Abs().To(torch.Float64).ClampMin(1.0))
			require.Less(t, off.Max().Float64(), apart, name)
			ends := torch.FromSlice([]float32{float32(math.Inf(1)), float32(math.Inf(-1)), 3e38, -3e38, 1e-40, 0, 80})
			beyond := activations[name](ends.To(torch.Float64)).To(torch.Float32)
			require.True(t, of(ends).AllClose(beyond, torch.AllCloseOptions{EqualNaN: true}), "%s: %v", name, of(ends))
		}
	})
}

// Wrong arguments are errors: the operators look at all that they read.
func TestOwnConvolutionsErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, w := torch.RandN(1, 16, 4, 4), torch.RandN(32, 16, 3, 3)
		direct, ok := packedWeight(t, "libtorchgo::direct_weight", w)
		if !ok {
			t.Skip("this processor has no kernel")
		}
		require.Error(t, torch.Try(func() { torch.Call("libtorchgo::direct_weight", w) })) // an inner operator
		winograd, _ := inner("libtorchgo::winograd_weight", w, []int{4, 4}, 1, false, torch.Float32)
		one, three := []int{1, 1}, []int{3, 3}
		refuses(t, map[string]refusal{
			"weight": {"winograd_weight", []any{w, []int{3, 3}, 1, false, torch.Float32}, "no form of tiles of [3, 3] outputs"},
			"step":   {"winograd_weight", []any{w, []int{4, 4}, 2, false, torch.Float32}, "of [4, 4] outputs with steps of 2"},
			"kernel": {"winograd_weight", []any{torch.RandN(32, 16, 3, 2), []int{4, 4}, 1, false, torch.Float32}, "expected weights of 3 x 3"},
			"folded": {"winograd_weight", []any{w, []int{3, 3}, 2, false, torch.Float32}, "expected weights of 7 x 7"},
			"many": {"winograd_weight", []any{torch.RandN(32, 16, 7, 7), []int{3, 3}, 2, false, torch.Float32},
				"no kernel for 16 channels and 32 outputs"},
			"images": {"winograd", []any{x, winograd.Unflatten(2, 2, 8), nil, nil, one, "relu"}, "do not fit images of"},
			"outputs": {"winograd_weight", []any{torch.RandN(33, 16, 3, 3), []int{4, 4}, 1, false, torch.Float32},
				"no kernel for 16 channels and 33 outputs"},
			"empty": {"direct_weight", []any{torch.Empty(0, 16, 3, 3)}, "expected weights of images"},
			"plain": {"winograd", []any{x, w, nil, nil, one, "relu"}, "not those of winograd_weight"},
			"width": {"winograd", []any{x, winograd.Reshape(36, -1, 16, 8), nil, nil, one, "relu"},
				"no kernel for weights of Float in vectors of 4"},
			"odd":      {"winograd", []any{x, torch.RandN(36, 2, 16, 15), nil, nil, one, "relu"}, "not those of winograd_weight"},
			"channels": {"winograd", []any{torch.RandN(1, 32, 4, 4), winograd, nil, nil, one, "relu"}, "do not fit images of"},
			"dtype":    {"winograd", []any{x.To(torch.Float64), winograd, nil, nil, one, "relu"}, "expected images of float32 or bfloat16"},
			"bias":     {"winograd", []any{x, winograd, torch.RandN(31), nil, one, "relu"}, "the bias does not fit"},
			"sum":      {"winograd", []any{x, winograd, nil, torch.RandN(1, 32, 4, 5), one, "relu"}, "what is added does not fit"},
			"padding":  {"winograd", []any{x, winograd, nil, nil, []int{1, 3}, "relu"}, "padding is"},
			"small":    {"winograd", []any{torch.RandN(1, 16, 1, 4), winograd, nil, nil, []int{0, 0}, "relu"}, "smaller than the kernel"},
			"stride":   {"direct", []any{x, direct, nil, nil, 32, three, []int{1, 0}, one, 1, "relu"}, "stride is"},
			"larger": {"direct", []any{torch.RandN(1, 16, 2, 4), direct, nil, nil, 32, three, one, []int{0, 0}, 1, "relu"},
				"smaller than the kernel"},
			"halves": {"direct", []any{x.To(torch.BFloat16), direct, nil, nil, 32, three, one, one, 1, "relu"},
				"expected contiguous weights of BFloat16"},
			"activation": {"direct", []any{x, direct, nil, nil, 32, three, one, one, 1, "mish"}, "there is no activation mish"},
			"number":     {"linear", []any{torch.RandN(), direct, 32, nil, "none"}, "expected rows of numbers"},
			"narrow":     {"linear", []any{torch.RandN(2, 15), direct, 32, nil, "none"}, "do not fit images of"},
			"kernels":    {"linear", []any{torch.RandN(2, 16), direct, 32, nil, "none"}, "do not fit images of"},
			"alone":      {"depthwise_weight", []any{w}, "expected weights of one channel"},
			"too many":   {"direct", []any{x, direct, nil, nil, 33, three, one, one, 1, "relu"}, "do not fit 33 outputs"},
			"too few":    {"direct", []any{x, direct, nil, nil, 16, three, one, one, 1, "relu"}, "do not fit 16 outputs"},
			"negative":   {"direct", []any{x, direct, nil, nil, -1, three, one, one, 1, "relu"}, "do not fit -1 outputs"},
			"panels": {"direct", []any{x, direct.Reshape(2, 3, 3, 16, 4, 4), nil, nil, 32, three, one, one, 1, "relu"},
				"not those of direct_weight"},
			"vectors": {"direct", []any{x, direct.Reshape(8, 3, 48, 4), nil, nil, 32, three, one, one, 1, "relu"},
				"no kernel for weights of Float in vectors of 4"},
			"fewer":         {"depthwise", []any{x, torch.RandN(3, 3, 32), nil, nil, one, one, "relu"}, "do not fit images of"},
			"none":          {"depthwise", []any{x, torch.RandN(3, 0, 16), nil, nil, one, one, "relu"}, "not those of depthwise_weight"},
			"above":         {"depthwise", []any{x, torch.RandN(3, 3, 16), nil, nil, one, []int{-1, 0}, "relu"}, "padding is"},
			"kernel of one": {"direct", []any{x, direct, nil, nil, 32, one, one, one, 1, "relu"}, "do not fit images of"},
			"no kernel":     {"direct", []any{x, direct, nil, nil, 32, []int{3, 0}, one, one, 1, "relu"}, "kernel is"},
			"others": {"direct", []any{torch.RandN(1, 15, 4, 4), direct, nil, nil, 32, three, one, one, 1, "relu"},
				"do not fit images of"},
		})
	})
}
