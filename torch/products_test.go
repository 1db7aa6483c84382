package torch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// fewDigits are numbers of so few digits that float32 holds the product of any two, in a matrix whose columns lie side by side if turned is
// true, and further apart than they have to if apart is.
func fewDigits(r *rand.Rand, rows, columns int, turned, apart bool) torch.Tensor {
	if turned {
		return fewDigits(r, columns, rows, false, apart).T()
	}
	width := columns
	if apart {
		width += 3
	}
	list := make([]float32, rows*width)
	for i := range list {
		list[i] = float32(math.Ldexp(float64(r.IntN(4095)-2047), r.IntN(8)-11))
	}
	return torch.FromSlice(list, rows, width).Narrow(1, 0, columns)
}

// inOrder computes start + a x b, each sum of blocks of products, and rounds as float32 does: float64 holds each sum of two.
func inOrder(start []float32, a, b [][]float32, block int, way string) (c []float32) {
	for _, row := range a {
		for j := range b[0] {
			var sum float32
			if start != nil {
				sum = start[j]
			}
			for k := 0; k < len(b); k += block {
				part := float32(0)
				if way == "onward" {
					part = sum
				}
				for i := k; i < min(len(b), k+block); i++ {
					part = float32(float64(row[i])*float64(b[i][j]) + float64(part))
				}
				switch {
				case way == "onward", way == "replacing" && k == 0 && start == nil:
					sum = part
				default:
					sum = float32(float64(sum) + float64(part))
				}
			}
			c = append(c, sum)
		}
	}
	return c
}

// rowsOf are a matrix's numbers.
func rowsOf(t torch.Tensor) (rows [][]float32) {
	list := torch.Values[float32](t)
	for i := range t.Size(0) {
		rows = append(rows, list[i*t.Size(1):][:t.Size(1)])
	}
	return rows
}

// product calls the operator with vectors of so many numbers, with or without a's zeros.
func product(vector int, start any, a, b torch.Tensor, block int, way string, skips bool) (c torch.Tensor, err error) {
	err = torch.Try(func() {
		torch.Unsafe(func() {
			c = torch.Call("libtorchgo::product", start, a, b, block, way, vector, skips)[0].(torch.Tensor)
		})
	})
	return c, err
}

// vectors are what this processor's have of numbers.
func vectors() (sizes []int) {
	torch.Scope(func() {
		for _, vector := range []int{8, 16} {
			if _, err := product(vector, nil, torch.Ones(1, 1), torch.Ones(1, 1), 1, "added", false); err == nil {
				sizes = append(sizes, vector)
			}
		}
	})
	return sizes
}

// Sums are made in the order that the caller chooses, however matrices lie, and whatever is left over of rows and vectors.
func TestProductInOrder(t *testing.T) {
	torchtest.NoLeaks(t)
	r, vectors := rand.New(rand.NewPCG(1, 2)), vectors()
	for _, size := range [][3]int{{1, 1, 1}, {5, 7, 3}, {6, 64, 16}, {13, 131, 50}, {64, 100, 33}, {100, 17, 65}, {40, 40, 300},
		{50, 128, 24}, {75, 64, 390}, {13, 56, 400}} {
		for layout := range 8 {
			torch.Scope(func() {
				a := fewDigits(r, size[0], size[2], layout&1 != 0, layout&4 != 0).ReLU()
				b := fewDigits(r, size[2], size[1], layout&2 != 0, layout&4 != 0)
				start := fewDigits(r, 1, size[1], false, false).Select(0, 0)
				for _, way := range []string{"added", "replacing", "onward"} {
					for _, block := range []int{1, 16, 1000} {
						plain := inOrder(nil, rowsOf(a), rowsOf(b), block, way)
						started := inOrder(torch.Values[float32](start), rowsOf(a), rowsOf(b), block, way)
						for i := range 2 * len(vectors) {
							vector, skips := vectors[i/2], i%2 == 1
							where := fmt.Sprint(size, layout, way, block, vector, skips)
							got, err := product(vector, nil, a, b, block, way, skips)
							require.NoError(t, err, where)
							require.Equal(t, plain, torch.Values[float32](got.Reshape(-1)), where)
							got, err = product(vector, start, a, b, block, way, skips)
							require.NoError(t, err, where)
							require.Equal(t, started, torch.Values[float32](got.Reshape(-1)), where)
						}
					}
				}
			})
		}
	}
}

// inLanes computes start + a x b, each sum in so many lanes, which are added by halves, and rounds as float32 does.
func inLanes(start []float32, a, b [][]float32, lanes func(column int) int) (c []float32) {
	for _, row := range a {
		for j := range b[0] {
			sums := make([]float32, lanes(j))
			for k := range b {
				own := &sums[k%len(sums)]
				*own = float32(float64(row[k])*float64(b[k][j]) + float64(*own))
			}
			for n := len(sums) / 2; n > 0; n /= 2 {
				for i := range n {
					sums[i] += sums[i+n]
				}
			}
			if start != nil {
				sums[0] += start[j]
			}
			c = append(c, sums[0])
		}
	}
	return c
}

// Products of few columns are made in four lanes, or in eight where the caller says so with a bit.
func TestProductInLanes(t *testing.T) {
	torchtest.NoLeaks(t)
	r, vectors := rand.New(rand.NewPCG(1, 2)), vectors()
	for _, size := range [][3]int{{1, 1, 8}, {5, 10, 128}, {64, 15, 48}, {7, 3, 264}} {
		for _, eight := range []int{0, 1, 0x300, 0x7fff, 0x2a55} {
			torch.Scope(func() {
				a, b := fewDigits(r, size[0], size[2], false, false), fewDigits(r, size[2], size[1], true, false)
				start := fewDigits(r, 1, size[1], false, false).Select(0, 0)
				for _, from := range []any{nil, start} {
					var first []float32
					if from != nil {
						first = torch.Values[float32](start)
					}
					want := inLanes(first, rowsOf(a), rowsOf(b), func(column int) int { return 4 << (eight >> column & 1) })
					for _, vector := range vectors {
						got, err := product(vector, from, a, b, 1<<16|eight, "lanes", false)
						require.NoError(t, err)
						require.Equal(t, want, torch.Values[float32](got.Reshape(-1)), fmt.Sprint(size, eight, vector))
					}
				}
			})
		}
	}
	torch.Scope(func() {
		for name, m := range map[string][2]torch.Tensor{
			"many columns": {torch.Ones(3, 8), torch.Ones(16, 8).T()},
			"odd depth":    {torch.Ones(3, 12), torch.Ones(2, 12).T()},
			"rows apart":   {torch.Ones(3, 9).Narrow(1, 0, 8), torch.Ones(2, 8).T()},
			"turned":       {torch.Ones(3, 8), torch.Ones(8, 2)},
		} {
			for _, vector := range vectors {
				_, err := product(vector, nil, m[0], m[1], 1, "lanes", false)
				require.ErrorIs(t, err, torch.ErrValue, name)
			}
		}
	})
}

// MKL's lanes begin elsewhere in rows at other addresses: those are left to it.
func TestProductsInLanesWhereRowsLie(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		const rows, depth, columns, often = 64, 128, 10, 40
		x, w, b := torch.RandN(rows*depth+8), torch.RandN(columns, depth), torch.RandN(columns)
		at := func(first int) torch.Tensor { return x.Narrow(0, first, rows*depth).View(rows, depth) }
		var want []torch.Tensor
		for first := range 8 {
			want = append(want, b.AddMM(at(first), w.T()))
		}
		for range often {
			for first := range 8 {
				torch.Scope(func() { torchtest.Equal(t, b.AddMM(at(first), w.T()), want[first]) })
			}
		}
	})
}

// Zeros are not left out where they would have changed the result: what is not finite becomes NaN, and a negative zero positive.
func TestProductWithOddNumbers(t *testing.T) {
	torchtest.NoLeaks(t)
	const tiny, huge = 1e-30, 1e30
	zero := math.Copysign(0, -1)
	for name, odd := range map[string]struct{ a, b []float64 }{
		"infinity":                     {[]float64{0, 1, 2}, []float64{math.Inf(1), 1, 1}},
		"no number":                    {[]float64{1, 2, 0}, []float64{1, 1, math.NaN()}},
		"no number of a":               {[]float64{1, math.NaN(), 0}, []float64{1, 1, 1}},
		"overflow":                     {[]float64{huge, 0, 0}, []float64{huge, 1, 1}},
		"negative zero":                {[]float64{tiny, 0, 0}, []float64{-tiny, 1, 1}},
		"negative zero that stays":     {[]float64{tiny, 0, zero}, []float64{-tiny, zero, 1}},
		"negative zero and one of b":   {[]float64{tiny, 0, 1}, []float64{-tiny, 1, zero}},
		"negative zero and more of it": {[]float64{tiny, 0, tiny}, []float64{-tiny, 1, -tiny}},
		"negative zeros":               {[]float64{zero, zero, zero}, []float64{1, 1, 1}},
		"least":                        {[]float64{math.SmallestNonzeroFloat32, 0, 0}, []float64{1, 1, 1}},
	} {
		torch.Scope(func() {
			a := torch.Tensor.Repeat(torch.FromSlice(odd.a, 1, 3).To(torch.Float32), 9, 7)
			b := torch.Tensor.Repeat(torch.FromSlice(odd.b, 3, 1).To(torch.Float32), 7, 37)
			bits := func(c torch.Tensor) torch.Tensor { return c.MaskedFill(c.IsNaN(), math.NaN()).ViewDType(torch.Int32) }
			for _, way := range []string{"added", "replacing", "onward"} {
				for _, vector := range vectors() {
					for _, block := range []int{3, 4, 21} {
						want, err := product(vector, nil, a, b, block, way, false)
						require.NoError(t, err)
						got, err := product(vector, nil, a, b, block, way, true)
						require.NoError(t, err)
						require.True(t, bits(got).Equal(bits(want)), "%s, %s in blocks of %d: %v, expected %v", name, way, block, got, want)
					}
				}
			}
		})
	}
}

// What the operator cannot compute is refused.
func TestProductInOrderRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		a, b := torch.Ones(4, 5), torch.Ones(5, 6)
		for name, bad := range map[string]func() (torch.Tensor, error){
			"sizes": func() (torch.Tensor, error) { return product(8, nil, a, a, 1, "added", false) },
			"empty": func() (torch.Tensor, error) { return product(8, nil, a.Narrow(0, 0, 0), b, 1, "added", false) },
			"no depth": func() (torch.Tensor, error) {
				return product(8, nil, a.Narrow(1, 0, 0), b.Narrow(0, 0, 0), 1, "added", false)
			},
			"dtype": func() (torch.Tensor, error) {
				return product(8, nil, a.To(torch.Float64), b.To(torch.Float64), 1, "added", false)
			},
			"one place": func() (torch.Tensor, error) { return product(8, nil, torch.Ones(5).Expand(4, 5), b, 1, "added", false) },
			"strides": func() (torch.Tensor, error) {
				return product(8, nil, torch.Ones(100).AsStrided([]int{4, 5}, []int{20, 2}), b, 1, "added", false)
			},
			"start":    func() (torch.Tensor, error) { return product(8, torch.Ones(5), a, b, 1, "added", false) },
			"no block": func() (torch.Tensor, error) { return product(8, nil, a, b, 0, "added", false) },
			"way":      func() (torch.Tensor, error) { return product(8, nil, a, b, 1, "backward", false) },
		} {
			_, err := bad()
			require.ErrorIs(t, err, torch.ErrValue, name)
		}
	})
}

// The first products of a layout are libtorch's, and after some dozen of them ours may take their place, with the same bits.
func TestProductsKeepBits(t *testing.T) {
	torchtest.NoLeaks(t)
	threads := torch.NumThreads()
	defer torch.SetNumThreads(threads)
	const often = 40
	r := rand.New(rand.NewPCG(3, 4))
	odd := []float64{0, math.Copysign(0, -1), math.MaxFloat32, math.SmallestNonzeroFloat32, 1e-30, -1e-30, math.Inf(1), math.NaN()}
	matrix := func(rows, columns int, turned bool) torch.Tensor {
		x := torch.RandN(rows, columns)
		for _, v := range odd {
			x.Index(r.IntN(rows), r.IntN(columns)).FillInPlace(v)
		}
		if turned {
			return x.T().Contiguous().T()
		}
		return x
	}
	for _, n := range []int{1, 2} {
		torch.SetNumThreads(n)
		for _, size := range [][3]int{{64, 512, 784}, {512, 784, 64}, {300, 77, 256}, {8, 1000, 500}, {130, 130, 17}, {64, 10, 512}} {
			for layout := range 16 {
				torch.Scope(func() {
					a, b := matrix(size[0], size[2], layout&1 != 0), matrix(size[2], size[1], layout&2 != 0)
					if layout&8 != 0 {
						a, b = a.ReLU(), b.NaNToNum()
					}
					multiply := func() torch.Tensor { return oneNaN(a.MM(b)) }
					if start := torch.RandN(size[1]); layout&4 != 0 {
						multiply = func() torch.Tensor { return oneNaN(start.AddMM(a, b)) }
					}
					want := multiply()
					for range often {
						torch.Scope(func() { torchtest.Equal(t, multiply(), want) })
					}
				})
			}
		}
	}
}
