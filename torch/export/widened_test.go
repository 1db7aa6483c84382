package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Linear layers whose results are float32 round nothing but their inputs, of any number of rows and of outputs.
func TestOwnLinearWide(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, c := range []struct {
		shape   []int
		outputs int
		bias    bool
	}{
		{[]int{1, 2048}, 1000, true}, {[]int{3, 5, 40}, 7, false}, {[]int{333, 65}, 48, true}, {[]int{4, 16}, 200, true},
		{[]int{0, 8}, 16, true},
	} {
		for _, dtype := range []torch.DType{torch.Float32, torch.BFloat16} {
			t.Run(fmt.Sprint(c, dtype), func(t *testing.T) {
				torch.Scope(func() {
					x, w := torch.RandN(c.shape...).To(dtype), torch.RandN(c.outputs, c.shape[len(c.shape)-1]).To(dtype)
					packed, ok := linearWeight(w)
					if !ok {
						t.Skip("this processor has no kernel")
					}
					var bias any
					want := F.Linear(x.To(torch.Float64), w.To(torch.Float64))
					if c.bias {
						own := torch.RandN(c.outputs)
						bias, want = own, want.Add(own.To(torch.Float64))
					}
					got, ok := inner("libtorchgo::linear_wide", x, packed, c.outputs, bias)
					require.True(t, ok)
					require.Equal(t, torch.Float32, got.DType())
					require.Equal(t, want.Shape(), got.Shape())
					if want.NumEl() > 0 {
						require.Less(t, got.To(torch.Float64).Sub(want).Abs().Max().Float64(), 4e-6*want.Abs().Max().Float64())
					}
				})
			})
		}
	}
}

// Convolutions whose results are float32 round nothing but their inputs, and Winograd's of images of float32 with numbers of bfloat16 make
// what they should, but for the rounding of these.
func TestOwnWide(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	for _, c := range []ownCase{
		{2, 32, 64, 17, 30, [2]int{1, 1}, []int{1, 1}, []int{0, 0}, true, false, "relu"},
		{1, 3, 24, 90, 120, [2]int{3, 2}, []int{2, 1}, []int{1, 1}, false, false, "none"}, // large images
		{3, 16, 96, 1, 1, [2]int{1, 1}, []int{1, 1}, []int{0, 0}, true, false, "relu"},
	} {
		for _, dtype := range []torch.DType{torch.Float32, torch.BFloat16} {
			t.Run(fmt.Sprint(c, dtype), func(t *testing.T) { torch.Scope(func() { c.testWide(t, dtype) }) })
		}
	}
	for _, c := range []ownCase{
		{2, 32, 64, 13, 17, [2]int{3, 3}, []int{1, 1}, []int{1, 1}, true, true, "relu"},
		{1, 16, 32, 14, 9, [2]int{3, 3}, []int{2, 2}, []int{1, 1}, true, false, "none"},
		{2, 3, 32, 40, 33, [2]int{7, 7}, []int{2, 2}, []int{3, 3}, true, true, "none"},
	} {
		for _, tile := range []int{2, foldedTile, 4, flatTile} {
			if c.hasForm(tile) {
				t.Run(fmt.Sprint(c, tile), func(t *testing.T) { torch.Scope(func() { c.testOfFloats(t, tile) }) })
			}
		}
	}
}

func (c ownCase) testWide(t *testing.T, dtype torch.DType) {
	x := torch.RandN(c.images, c.channels, c.height, c.width).To(dtype)
	w := torch.RandN(c.outputs, c.channels, c.kernel[0], c.kernel[1]).To(dtype)
	packed, ok := packedWeight(t, "libtorchgo::direct_weight", w)
	if !ok {
		t.Skip("this processor has no kernel")
	}
	var bias any
	own := torch.Tensor{}
	if c.bias {
		own = torch.RandN(c.outputs)
		bias, own = own, own.To(torch.Float64)
	}
	want := F.Conv2d(x.To(torch.Float64), w.To(torch.Float64), own, F.ConvOptions{Stride: c.stride, Padding: c.padding})
	most := want.Abs().Max().Float64()
	got, ok := inner("libtorchgo::direct_wide", x, packed, bias, c.outputs, c.kernel[:], c.stride, c.padding, 1, c.activation)
	require.True(t, ok)
	require.Equal(t, torch.Float32, got.DType())
	require.Equal(t, want.Shape(), got.Shape())
	require.Less(t, got.To(torch.Float64).Sub(activations[c.activation](want)).Abs().Max().Float64(), 4e-6*most)
	refuses(t, map[string]refusal{"activation": {"direct_wide",
		[]any{x, packed, bias, c.outputs, c.kernel[:], c.stride, c.padding, 1, "swish"}, "expected no activation or relu"}})
}

func (c ownCase) testOfFloats(t *testing.T, tile int) {
	x := torch.RandN(c.images, c.channels, c.height, c.width)
	w := torch.RandN(c.outputs, c.channels, c.kernel[0], c.kernel[1]).To(torch.BFloat16)
	packed, ok := packedWeight(t, "libtorchgo::winograd_weight", w, outputsOfTile(tile), c.stride[0], false, torch.BFloat16)
	if !ok {
		t.Skip("this processor has no kernel")
	}
	bias := torch.RandN(c.outputs)
	want := F.Conv2d(x, w.To(torch.Float32), bias, F.ConvOptions{Stride: c.stride, Padding: c.padding})
	var sum any
	if c.sum {
		own := torch.RandN(want.Shape()...).To(torch.BFloat16)
		sum, want = own, want.Add(own)
	}
	most := want.Abs().Max().Float64()
	got, ok := inner("libtorchgo::winograd", x, packed, bias, sum, c.padding, c.activation)
	require.True(t, ok)
	require.Equal(t, torch.BFloat16, got.DType())
	require.Equal(t, want.Shape(), got.Shape())
	require.Less(t, got.To(torch.Float32).Sub(activations[c.activation](want)).Abs().Max().Float64(), 4e-2*most)
}

// A program in bfloat16 returns what its last layer made of float32, unless something else reads it in bfloat16, and Winograd's
// convolutions read what another made so.
func TestWidened(t *testing.T) {
	if !hasKernels(torch.BFloat16) {
		t.Skip("this processor has no kernel")
	}
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		x, w := torch.RandN(2, 512), torch.RandN(512, 512)
		for _, c := range []struct {
			fn   func(x torch.Tensor) torch.Tensor
			wide bool
		}{
			{func(x torch.Tensor) torch.Tensor { return F.Linear(F.Linear(x.Sin(), w).Sin(), w) }, true},
			{func(x torch.Tensor) torch.Tensor { return F.Linear(F.Linear(x.Sin(), w).Sin(), w).ReLU() }, false},
			{func(x torch.Tensor) torch.Tensor { y := F.Linear(x.Sin(), w); return y.Add(F.Linear(y.Sin(), w)) }, false},
		} {
			p, err := Export(c.fn, []any{x})
			require.NoError(t, err)
			defer p.Close()
			compiled, err := Compile(p, CompileOptions{DType: torch.BFloat16})
			require.NoError(t, err)
			defer compiled.Close()
			require.Equal(t, c.wide, strings.Contains(compiled.String(), "linear_wide"), compiled.String())
		}
		images, one := torch.RandN(1, 128, 20, 20), torch.RandN(128, 128, 1, 1).DivScalar(12)
		kernel := torch.RandN(128, 128, 3, 3).DivScalar(36)
		p, err := Export(func(x torch.Tensor) torch.Tensor {
			y := F.Conv2d(F.Conv2d(x.Sin(), one, torch.Tensor{}).ReLU(), kernel, torch.Tensor{}, F.ConvOptions{Padding: 1})
			z := F.Conv2d(y, one, torch.Tensor{})
			return F.Conv2d(z, kernel, torch.Tensor{}, F.ConvOptions{Padding: 1}).Add(z.Sin()) // what is read twice
		}, []any{images})
		require.NoError(t, err)
		defer p.Close()
		compiled, err := Compile(p, CompileOptions{DType: torch.BFloat16})
		require.NoError(t, err)
		defer compiled.Close()
		require.Equal(t, 1, strings.Count(compiled.String(), "libtorchgo.direct_wide"), compiled.String())
		require.Equal(t, 2, strings.Count(compiled.String(), "libtorchgo.winograd"))
		torch.NoGrad(func() {
			want, err := p.Run(images)
			require.NoError(t, err)
			got, err := compiled.Run(images)
			require.NoError(t, err)
			require.Less(t, got[0].Sub(want[0]).Abs().Max().Float64(), 2e-2*want[0].Abs().Max().Float64())
		})
	})
}

// A sum behind a convolution that is oneDNN's where that computes bfloat16, with a ReLU, of images that lie as they are given.
func TestSumsInBFloat16(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		x, w := torch.RandN(1, 16, 6, 6), torch.RandN(16, 2, 3, 3)
		p, err := Export(func(x torch.Tensor) torch.Tensor {
			return F.Conv2d(x, w, torch.Tensor{}, F.ConvOptions{Groups: 8, Padding: 2, Dilation: 2}).Add(x.Sin()).ReLU()
		}, []any{x})
		require.NoError(t, err)
		defer p.Close()
		compiled, err := Compile(p, CompileOptions{DType: torch.BFloat16})
		if err != nil {
			require.ErrorContains(t, err, "bfloat16")
			t.Skip("this processor is slower with it")
		}
		defer compiled.Close()
		oneDNN := tells("mkldnn::_is_mkldnn_bf16_supported") // which our emulated instructions do not bring about
		require.Equal(t, oneDNN, strings.Contains(compiled.String(), "mkldnn._convolution_pointwise_.binary"))
		torch.NoGrad(func() {
			want, err := p.Run(x)
			require.NoError(t, err)
			got, err := compiled.Run(x)
			require.NoError(t, err)
			require.Less(t, got[0].Sub(want[0]).Abs().Max().Float64(), 1e-2*want[0].Abs().Max().Float64())
		})
	})
}
