package export

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Numbers of a product that are not positive become zeros with the bits of ReLU and of its derivative, wherever they lie.
func TestRectifiedProduct(t *testing.T) {
	torchtest.NoLeaks(t)
	odd := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, -1e-40}
	matrix := func(rows, columns int) torch.Tensor {
		x := torch.RandN(rows, columns)
		for i, v := range odd {
			x.View(-1).Index(i * 13 % (rows * columns)).FillInPlace(v)
		}
		return x
	}
	oneNaN := func(x torch.Tensor) torch.Tensor { return x.MaskedFill(x.IsNaN(), math.NaN()) }
	for _, size := range [][3]int{{1, 1, 1}, {3, 5, 7}, {64, 33, 16}, {100, 20, 700}} {
		torch.Scope(func() {
			where := fmt.Sprint(size)
			a, b, start, by := matrix(size[0], size[1]), matrix(size[1], size[2]), torch.RandN(size[2]), matrix(size[0], size[2])
			for _, limits := range []torch.Tensor{by, by.T().Contiguous().T()} {
				got, ok := inner("libtorchgo::rectified_product", nil, a, b, limits)
				require.True(t, ok, where)
				zeros := torch.Zeros(size[0], size[2])
				torchtest.Equal(t, oneNaN(got), oneNaN(zeros.Where(limits.LeScalar(0), a.MM(b))))
			}
			got, ok := inner("libtorchgo::rectified_product", start, a, b, nil)
			require.True(t, ok, where)
			torchtest.Equal(t, oneNaN(got), oneNaN(start.AddMM(a, b).ReLU()))
			got, ok = inner("libtorchgo::rectified_product", nil, a, b, nil)
			require.True(t, ok, where)
			torchtest.Equal(t, oneNaN(got), oneNaN(a.MM(b).ReLU()))
		})
	}
}

// Where our kernels compute a product, which they do after it has come up some times, they write the zeros as they go: without the zeros of
// the first matrix, with the second one turned, and where those zeros meet what is not finite.
func TestRectifiedInKernels(t *testing.T) {
	torchtest.NoLeaks(t)
	const often, rows, depth, columns = 40, 64, 256, 128
	for name, c := range map[string]struct {
		zeros, turned bool
		odd           float64
	}{
		"dense":                      {},
		"turned":                     {turned: true},
		"with zeros":                 {zeros: true},
		"turned, with zeros":         {zeros: true, turned: true},
		"zeros that meet infinity":   {zeros: true, odd: math.Inf(1)},
		"zeros that meet no number":  {zeros: true, turned: true, odd: math.NaN()},
		"sums that are no numbers":   {odd: math.NaN()},
		"turned sums, no numbers":    {turned: true, odd: math.NaN()},
		"sums that are not positive": {zeros: true, odd: math.Copysign(0, -1)},
	} {
		t.Run(name, func(t *testing.T) {
			torch.Scope(func() {
				a, b, start, by := torch.RandN(rows, depth), torch.RandN(depth, columns), torch.RandN(columns), torch.RandN(rows, columns).ReLU()
				if c.zeros {
					a = a.ReLU()
				}
				if c.turned {
					b = b.T().Contiguous().T()
				}
				if c.odd != 0 || math.Signbit(c.odd) {
					b.Index(depth/2, columns/3).FillInPlace(c.odd)
					b.Index(torch.All, 5).FillInPlace(0)
				}
				for range often {
					torch.Scope(func() {
						got, ok := inner("libtorchgo::rectified_product", start, a, b, nil)
						require.True(t, ok)
						torchtest.Equal(t, got, start.AddMM(a, b).ReLU())
						got, ok = inner("libtorchgo::rectified_product", nil, a, b, by)
						require.True(t, ok)
						torchtest.Equal(t, got, torch.Zeros(rows, columns).Where(by.LeScalar(0), a.MM(b)))
					})
				}
			})
		})
	}
}

// ReLU and its derivative are put to the products that nothing else reads.
func TestRectified(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		_, text := trainRecorded(t, func(p []torch.Tensor) optim.Optimizer { return optim.NewSGD(p, 0.1) }, true)
		require.Equal(t, 4, strings.Count(text, "rectified_product"), text)
	})
	for name, c := range map[string]struct {
		fn    func(a, b, start torch.Tensor) []torch.Tensor
		count int
	}{
		"product":    {func(a, b, _ torch.Tensor) []torch.Tensor { return []torch.Tensor{a.MM(b).ReLU()} }, 1},
		"linear":     {func(a, b, start torch.Tensor) []torch.Tensor { return []torch.Tensor{start.AddMM(a, b).ReLU()} }, 1},
		"read twice": {func(a, b, _ torch.Tensor) []torch.Tensor { c := a.MM(b); return []torch.Tensor{c.ReLU(), c.Neg()} }, 0},
		"returned":   {func(a, b, _ torch.Tensor) []torch.Tensor { c := a.MM(b); return []torch.Tensor{c.ReLU(), c} }, 0},
		"no product": {func(a, b, _ torch.Tensor) []torch.Tensor { return []torch.Tensor{a.Neg().ReLU(), b.Neg()} }, 0},
		"double": {func(a, b, _ torch.Tensor) []torch.Tensor {
			return []torch.Tensor{a.To(torch.Float64).MM(b.To(torch.Float64)).ReLU()}
		}, 0},
		"times a half": {func(a, b, start torch.Tensor) []torch.Tensor {
			return []torch.Tensor{start.AddMM(a, b, torch.AddMMOptions{Alpha: 0.5}).ReLU()}
		}, 0},
		"written": {func(a, b, _ torch.Tensor) []torch.Tensor {
			c := a.MM(b)
			d := c.ReLU()
			c.NegInPlace()
			return []torch.Tensor{d, c.AddScalar(1)}
		}, 0},
	} {
		torch.Scope(func() {
			a, b, start := torch.RandN(9, 20), torch.RandN(20, 31), torch.RandN(31)
			want := c.fn(a, b, start)
			step := CompileStep(func(in []torch.Tensor) []torch.Tensor { return c.fn(in[0], in[1], in[2]) })
			defer step.Close()
			for range 5 {
				got, err := step.Run(a, b, start)
				require.NoError(t, err, name)
				for i := range want {
					torchtest.Equal(t, got[i], want[i])
				}
			}
			for _, tape := range step.tapes {
				text := brief(&tape.module.program.Graph)
				require.Equal(t, c.count, strings.Count(text, "rectified_product"), name+"\n"+text)
			}
		})
	}
}
