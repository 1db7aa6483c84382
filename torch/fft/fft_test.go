package fft_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/fft"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// In libtorch the inverse real transform of three and more dimensions writes outside its memory on the CPU: ours takes
// the dimensions before the last by complex transforms. numpy is the judge, Python's torch would end.
func TestInverseRealTransformsOfManyDimensions(t *testing.T) {
	cases := []struct {
		shape []int
		last  int // of the result
		norm  string
	}{
		{[]int{5, 1000, 7}, 12, "backward"},
		{[]int{5, 1000, 7}, 13, "forward"},
		{[]int{3, 4, 5}, 8, "ortho"},
		{[]int{2, 3, 4, 5}, 9, "backward"},
		{[]int{2, 1, 3, 2, 3}, 4, "forward"},
		{[]int{7, 2}, 2, "backward"},
	}
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs, norms, lasts := peer.Tensors{}, []string{}, []int{}
		for i, c := range cases {
			x := torch.TensorOptions{DType: torch.Complex128}.RandN(c.shape...)
			inputs[fmt.Sprint("x", i)] = torch.ViewAsReal(x)
			norms, lasts = append(norms, c.norm), append(lasts, c.last)
		}
		inputs["lasts"] = torch.FromSlice(lasts)
		want := peer.Run(t, "testdata/inverse.py", inputs, norms...)
		for i, c := range cases {
			x := torch.ViewAsComplex(inputs[fmt.Sprint("x", i)])
			size := append(slices.Clone(c.shape[:len(c.shape)-1]), c.last)
			for _, x := range []torch.Tensor{x, x.Transpose(0, 1).Contiguous().Transpose(0, 1)} {
				torchtest.AllClose(t, fft.IRFFTN(x, fft.IRFFTNOptions{S: size, Norm: c.norm}), want[fmt.Sprint("irfftn", i)])
				torchtest.AllClose(t, fft.HFFTN(x, fft.HFFTNOptions{S: size, Norm: c.norm}), want[fmt.Sprint("hfftn", i)])
			}
		}
	})
}

// Where a batch lies inside of a signal of which one dimension is much longer than another, MKL writes outside its memory on
// processors with AVX-512: ours puts each batch behind the other first. numpy is the judge.
func TestTransformsOfBatchesInside(t *testing.T) {
	cases := []struct {
		shape []int
		over  int // how many dimensions, from the first
	}{
		{[]int{5, 1000, 7}, 2},
		{[]int{2, 512, 3}, 2},
		{[]int{1000, 5, 7}, 2},
		{[]int{5, 6, 300, 7}, 3},
		{[]int{2, 3, 4, 100, 3}, 4},
		{[]int{2, 3, 2, 2, 2, 40, 3}, 6},
		{[]int{6, 5, 7}, 2},
	}
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs, counts := peer.Tensors{}, []string{}
		for i, c := range cases {
			x := torch.TensorOptions{DType: torch.Complex128}.RandN(c.shape...)
			inputs[fmt.Sprint("x", i)] = torch.ViewAsReal(x)
			counts = append(counts, fmt.Sprint(c.over))
		}
		want := peer.Run(t, "testdata/batch.py", inputs, counts...)
		for i, c := range cases {
			dims := make([]int, c.over)
			for d := range dims {
				dims[d] = d
			}
			x := torch.ViewAsComplex(inputs[fmt.Sprint("x", i)])
			for _, x := range []torch.Tensor{x, x.Transpose(0, 1).Contiguous().Transpose(0, 1), x.MoveDim(-1, 0).Contiguous().MoveDim(0, -1)} {
				torchtest.AllClose(t, fft.FFTN(x, fft.FFTNOptions{Dim: dims}), torch.ViewAsComplex(want[fmt.Sprint("fftn", i)]))
				torchtest.AllClose(t, fft.IFFTN(x, fft.IFFTNOptions{Dim: dims, Norm: "ortho"}), torch.ViewAsComplex(want[fmt.Sprint("ifftn", i)]))
			}
		}
	})
}
