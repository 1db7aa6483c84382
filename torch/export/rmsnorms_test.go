package export

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

var keepDim = torch.MeanOptions{KeepDim: true}

// Norms by the root mean square, libtorch's own and those that are spelt out, are one operator; what only looks like one is none.
func TestRMSNorms(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	const columns = 77
	torch.Scope(func() {
		w, wide := torch.RandN(columns), torch.RandN(5, columns)
		root := func(squares torch.Tensor) torch.Tensor {
			return squares.MeanDim([]int{-1}, keepDim).AddScalar(1e-6).Rsqrt()
		}
		for name, c := range map[string]struct {
			norms int
			fn    func(x torch.Tensor) torch.Tensor
		}{
			"libtorch's": {1, func(x torch.Tensor) torch.Tensor {
				return F.RMSNorm(x, []int{columns}, F.RMSNormOptions{Weight: w, Eps: new(1e-3)})
			}},
			"plain":      {1, func(x torch.Tensor) torch.Tensor { return F.RMSNorm(x, []int{columns}) }},
			"power":      {1, func(x torch.Tensor) torch.Tensor { return x.Mul(root(x.PowScalar(2))).Mul(w) }},
			"product":    {1, func(x torch.Tensor) torch.Tensor { return w.Mul(root(x.Mul(x)).Mul(x)) }},
			"no weight":  {1, func(x torch.Tensor) torch.Tensor { return x.Mul(root(x.Square())).ReLU() }},
			"read twice": {1, func(x torch.Tensor) torch.Tensor { y := x.Mul(root(x.Square())); return y.Mul(w).Add(y) }},
			"two":        {2, func(x torch.Tensor) torch.Tensor { y := x.Mul(root(x.Square())).Mul(w); return y.Mul(root(y.Square())) }},
			"wide":       {1, func(x torch.Tensor) torch.Tensor { return x.Mul(root(x.Square())).Mul(wide) }},
			"other":      {0, func(x torch.Tensor) torch.Tensor { return x.Sin().Mul(root(x.Square())).Mul(w) }},
			"cube":       {0, func(x torch.Tensor) torch.Tensor { return x.Mul(root(x.Abs().PowScalar(3))).Mul(w) }},
			"first":      {0, func(x torch.Tensor) torch.Tensor { return F.RMSNorm(x, []int{5, columns}) }},
			"steps": {0, func(x torch.Tensor) torch.Tensor {
				return x.Mul(x.Square().MeanDim([]int{0}, keepDim).AddScalar(1e-6).Rsqrt())
			}},
		} {
			text := requireCompiled(t, c.fn, torch.RandN(3, 5, columns).MulScalar(4))
			require.Equal(t, c.norms, strings.Count(text, "libtorchgo.rms_norm.default"), "%s\n%s", name, text)
			require.Equal(t, c.norms == 0 && name != "first", strings.Contains(text, "aten.rsqrt"), name)
		}
	})
}

// Rows of any length and layout are those of libtorch in float64, and what is too large or no number is as there.
func TestRMSNormOfRows(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.ManualSeed(1)
	torch.Scope(func() {
		for _, columns := range []int{1, 7, 8, 31, 512, 4100} {
			w := torch.RandN(columns)
			for _, x := range []torch.Tensor{torch.RandN(6, columns), torch.RandN(columns, 6).T(), torch.RandN(columns), torch.RandN(0, columns)} {
				got, ok := inner("libtorchgo::rms_norm", x, w, 1e-6)
				require.True(t, ok)
				want := F.RMSNorm(x.To(torch.Float64), []int{columns}, F.RMSNormOptions{Weight: w.To(torch.Float64), Eps: new(1e-6)})
				torchtest.AllClose(t, got, want.To(torch.Float32))
			}
		}
		x := torch.RandN(3, 20)
		x.Select(0, 1).MulScalarInPlace(1e30)
		x.Select(0, 2).FillInPlace(0)
		got, _ := inner("libtorchgo::rms_norm", x, nil, 1e-6)
		require.Zero(t, got.Narrow(0, 1, 2).Abs().Max().Float64())
		refusesAll(t, "rms_norm", map[string][]any{
			"expected rows of float32":    {x.To(torch.Float64), nil, 1e-6},
			"weight does not fit rows of": {x, torch.RandN(21), 1e-6},
		})
	})
}
