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
	}{{[]int{1, 2048}, 1000, true}, {[]int{3, 5, 40}, 7, false}, {[]int{333, 65}, 48, true}, {[]int{4, 16}, 200, true}, {[]int{0, 8}, 16, true}} {
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

// A program in bfloat16 returns what its last layer made of float32, unless something else reads it in bfloat16.
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
	})
}

// A sum behind a convolution that is oneDNN's, with a ReLU, of images that lie as they are given.
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
		require.Contains(t, compiled.String(), "mkldnn._convolution_pointwise_.binary")
		torch.NoGrad(func() {
			want, err := p.Run(x)
			require.NoError(t, err)
			got, err := compiled.Run(x)
			require.NoError(t, err)
			require.Less(t, got[0].Sub(want[0]).Abs().Max().Float64(), 1e-2*want[0].Abs().Max().Float64())
		})
	})
}
