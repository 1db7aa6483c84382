package torchtest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// function is a function of the inputs that a gradient check takes.
type function = func(in []torch.Tensor) []torch.Tensor

func list(t ...torch.Tensor) []torch.Tensor { return t }

// leafs are inputs that require gradients: a float64 or complex128 tensor from each slice.
func leafs(values ...any) []torch.Tensor {
	var in []torch.Tensor
	for _, v := range values {
		switch v := v.(type) {
		case []float64:
			in = append(in, torch.FromSlice(v).SetRequiresGrad(true))
		case []complex128:
			in = append(in, torch.FromSlice(v).SetRequiresGrad(true))
		}
	}
	return in
}

func reals() []torch.Tensor { return leafs([]float64{0.5, -1.25, 2}) }

func complexes() []torch.Tensor { return leafs([]complex128{0.5 + 1i, -1.25 - 0.5i, 2 - 3i}) }

// modes run a check slow and fast.
var modes = map[string]torchtest.GradCheckOptions{"slow": {}, "fast": {Fast: true}}

// halfDetached has the values of x*x and half of its gradient.
func halfDetached(in []torch.Tensor) []torch.Tensor { return list(in[0].Mul(in[0].Detach())) }

// counting is an input of the given shape with the elements 1, 2, 3, and so on.
func counting(shape ...int) torch.Tensor {
	return torch.Arange(6).AddScalar(1).To(torch.Float64).Reshape(shape...).SetRequiresGrad(true)
}

// turned has the values of x and the gradient of -x.
func turned(x torch.Tensor) torch.Tensor { return x.Detach().MulScalar(2).Sub(x) }

// right are functions that autograd differentiates rightly.
var right = []struct {
	name   string
	inputs func() []torch.Tensor
	fn     function
	opts   torchtest.GradCheckOptions
}{
	{"elements", reals, func(in []torch.Tensor) []torch.Tensor { return list(in[0].Exp().Sin()) }, torchtest.GradCheckOptions{}},
	{"identity", reals, func(in []torch.Tensor) []torch.Tensor { return in }, torchtest.GradCheckOptions{}},
	{"sum", reals, func(in []torch.Tensor) []torch.Tensor { return list(in[0].Mul(in[0]).Sum()) }, torchtest.GradCheckOptions{}},
	{"two inputs, three outputs", func() []torch.Tensor { return append(reals(), counting(2, 3)) },
		func(in []torch.Tensor) []torch.Tensor { return list(in[0].Mul(in[1]), in[1].Sum(), in[0].Exp()) }, torchtest.GradCheckOptions{}},
	{"an input not used", func() []torch.Tensor { return leafs([]float64{1, 2}, []float64{3}) },
		func(in []torch.Tensor) []torch.Tensor { return list(in[0].Tanh()) }, torchtest.GradCheckOptions{}},
	{"inputs without gradients", func() []torch.Tensor { return append(reals(), torch.Tensor{}, torch.FromSlice([]int64{2, 0})) },
		func(in []torch.Tensor) []torch.Tensor { return list(in[0].IndexSelect(0, in[2])) }, torchtest.GradCheckOptions{}},
	{"outputs without gradients", reals, func(in []torch.Tensor) []torch.Tensor {
		values, indices := in[0].Sort()
		return list(indices, in[0].Detach(), values)
	}, torchtest.GradCheckOptions{}},
	{"constant", reals, func(in []torch.Tensor) []torch.Tensor { return list(torch.Ones(2), in[0].AddScalar(0.1).Floor()) },
		torchtest.GradCheckOptions{}},
	{"empty", func() []torch.Tensor { return append(reals(), leafs([]float64{})...) },
		func(in []torch.Tensor) []torch.Tensor { return list(in[0].Sin(), in[1].Sin()) }, torchtest.GradCheckOptions{}},
	{"one number", func() []torch.Tensor { return list(torch.FromValue(0.7).SetRequiresGrad(true)) },
		func(in []torch.Tensor) []torch.Tensor { return list(in[0].Cos()) }, torchtest.GradCheckOptions{}},
	{"transposed, not a leaf", func() []torch.Tensor { return list(counting(2, 3).Exp().T()) },
		func(in []torch.Tensor) []torch.Tensor { return list(in[0].CumSum(0)) }, torchtest.GradCheckOptions{}},
	{"sparse gradient", func() []torch.Tensor { return list(counting(3, 2)) },
		func(in []torch.Tensor) []torch.Tensor {
			return list(torch.Call("embedding", in[0], torch.FromSlice([]int64{2, 0, 2}), torch.Arg("sparse", true))[0].(torch.Tensor))
		}, torchtest.GradCheckOptions{}},
	{"a coarser output", reals, func(in []torch.Tensor) []torch.Tensor { return list(in[0].MulScalar(0.5).To(torch.Float32)) },
		torchtest.GradCheckOptions{Eps: 0.25}},
	{"complex", complexes, func(in []torch.Tensor) []torch.Tensor { return list(in[0].Mul(in[0]), in[0].Exp()) },
		torchtest.GradCheckOptions{}},
	{"complex to real", complexes, func(in []torch.Tensor) []torch.Tensor { return list(in[0].Abs(), in[0].Imag()) },
		torchtest.GradCheckOptions{}},
	{"not holomorphic", complexes, func(in []torch.Tensor) []torch.Tensor { return list(in[0].Conj().Mul(in[0].Real())) },
		torchtest.GradCheckOptions{}},
	{"real to complex", reals, func(in []torch.Tensor) []torch.Tensor { return list(torch.Complex(in[0].Cos(), in[0].Sin())) },
		torchtest.GradCheckOptions{}},
	{"conjugated input", func() []torch.Tensor { return list(complexes()[0].Detach().Conj().SetRequiresGrad(true)) },
		func(in []torch.Tensor) []torch.Tensor { return list(in[0].Log()) }, torchtest.GradCheckOptions{}},
	{"rough", reals, halfDetached, torchtest.GradCheckOptions{ATol: 10}},
	{"rough relatively", reals, halfDetached, torchtest.GradCheckOptions{RTol: 0.6}},
}

func TestGradCheckAcceptsRightGradients(t *testing.T) {
	torchtest.NoLeaks(t)
	for mode, fast := range modes {
		for _, c := range right {
			t.Run(mode+"/"+c.name, func(t *testing.T) {
				torchtest.NoLeaks(t)
				torch.Scope(func() {
					c.opts.Fast = fast.Fast
					in := c.inputs()
					before := in[0].Bytes()
					torchtest.GradCheck(t, c.fn, in, c.opts)
					assert.Equal(t, before, in[0].Bytes(), "the inputs are as they were")
				})
			})
		}
	}
}

func TestGradCheckFindsWrongGradients(t *testing.T) {
	torchtest.NoLeaks(t)
	both := func() []torch.Tensor { return leafs([]float64{1, 2}, []float64{3, 5}) }
	cases := []struct {
		name   string
		inputs func() []torch.Tensor
		fn     function
		what   string // of both modes
		where  string // element by element, in the explanation of the fast mode too
	}{
		{"detached", reals, halfDetached, "the gradient of output 0 with respect to input 0",
			"wrong in 3 of 9 elements\nworst at output 0[2], input 0[2]: analytical 2, numerical 4.0000000"},
		{"sign", reals, func(in []torch.Tensor) []torch.Tensor { return list(turned(in[0])) },
			"the gradient of output 0 with respect to input 0", "analytical -1, numerical "},
		{"factor", reals, func(in []torch.Tensor) []torch.Tensor {
			return list(in[0].MulScalar(1.01).Sub(in[0].Detach().MulScalar(0.01)))
		},
			"output 0 with respect to input 0", "analytical 1.01"},
		{"one element", reals, func(in []torch.Tensor) []torch.Tensor {
			x := in[0]
			return list(torch.Cat(list(x.Narrow(0, 0, 1), turned(x.Narrow(0, 1, 1)), x.Narrow(0, 2, 1)), 0))
		}, "output 0 with respect to input 0", "wrong in 1 of 9 elements\nworst at output 0[1], input 0[1]: analytical -1, numerical "},
		{"second input", both, func(in []torch.Tensor) []torch.Tensor { return list(in[0].Mul(in[1].Detach())) },
			"the gradient of output 0 with respect to input 1", "analytical 0"},
		{"second output", both, func(in []torch.Tensor) []torch.Tensor { return list(in[0].Mul(in[1]), in[0].Add(turned(in[1]))) },
			"the gradient of output 1 with respect to input 1", "worst at output 1["},
		{"NaN", reals, func(in []torch.Tensor) []torch.Tensor { return list(in[0].Sub(in[0].Detach()).Abs().Sqrt()) },
			"output 0 with respect to input 0", "analytical NaN"},
		{"complex detached", complexes, halfDetached, "the gradient of the real part of output 0 with respect to input 0",
			"wrong in 3 of 9 elements"},
		{"complex sign", complexes, func(in []torch.Tensor) []torch.Tensor { return list(turned(in[0])) }, "the real part of output 0",
			"analytical -1, numerical "},
		{"conjugate", complexes, func(in []torch.Tensor) []torch.Tensor {
			return list(torch.Complex(in[0].Real(), turned(in[0].Imag())))
		}, "the gradient of the imaginary part of output 0", "analytical (0-1i), numerical (0+"},
		{"imaginary input", complexes, func(in []torch.Tensor) []torch.Tensor { return list(in[0].Real().Add(in[0].Imag().Detach())) },
			"the gradient of output 0 with respect to input 0", "analytical 1, numerical ("},
		{"real to complex", reals, func(in []torch.Tensor) []torch.Tensor { return list(torch.Complex(in[0], in[0].Detach())) },
			"the gradient of the imaginary part of output 0", "analytical 0, numerical "},
	}
	for mode, opts := range modes {
		for _, c := range cases {
			t.Run(mode+"/"+c.name, func(t *testing.T) {
				torchtest.NoLeaks(t)
				torch.Scope(func() {
					text := report(t, func(t testing.TB) { torchtest.GradCheck(t, c.fn, c.inputs(), opts) })
					assert.Contains(t, text, c.what)
					assert.Contains(t, text, c.where)
					assert.Equal(t, opts.Fast, strings.Contains(text, "in a random projection"), text)
				})
			})
		}
	}
}

func TestGradCheckRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	calls := 0
	cases := []struct {
		name   string
		inputs func() []torch.Tensor
		fn     function
		text   string
	}{
		{"no gradients", func() []torch.Tensor { return list(torch.Ones(2), torch.Tensor{}) }, halfDetached,
			"no input requires gradients: call SetRequiresGrad(true)"},
		{"float32", func() []torch.Tensor { return list(reals()[0], torch.Ones(2).SetRequiresGrad(true)) }, halfDetached,
			"input 1 is float32, too coarse for finite differences: make it float64 or complex128"},
		{"sparse", func() []torch.Tensor { return list(torch.Eye(2).To(torch.Float64).ToSparse().SetRequiresGrad(true)) }, halfDetached,
			"input 0 is sparse_coo: make it dense"},
		{"expanded", func() []torch.Tensor {
			return list(torch.FromSlice([]float64{1}).Expand(3).SetRequiresGrad(true))
		}, halfDetached,
			"elements of input 0 share memory"},
		{"sparse output", func() []torch.Tensor { return list(torch.Eye(2).To(torch.Float64).SetRequiresGrad(true)) },
			func(in []torch.Tensor) []torch.Tensor { return list(in[0].ToSparse()) }, "output 0 is sparse_coo: make it dense"},
		{"undefined output", reals, func(in []torch.Tensor) []torch.Tensor { return append(in, torch.Tensor{}) },
			"output 1 is the undefined tensor"},
		{"error", reals, func(in []torch.Tensor) []torch.Tensor { return list(in[0].MatMul(torch.Ones(5))) }, "gradcheck: torch: matmul: "},
		{"other outputs", reals, func(in []torch.Tensor) []torch.Tensor {
			calls++
			return list(in[0].Sum().Expand(1 + calls/2%2))
		}, "with input 0 changed by -1e-06 the outputs are [float64 [2]], without [float64 [1]]"},
		{"no output with gradients", reals, func(in []torch.Tensor) []torch.Tensor { return list(torch.Ones(1), in[0].Detach()) },
			"no output requires gradients, but output 1 changes with input 0: the numerical gradient has a "},
		{"no complex output with gradients", complexes, func(in []torch.Tensor) []torch.Tensor { return list(in[0].Detach()) },
			"no output requires gradients, but output 0 changes"},
	}
	for mode, opts := range modes {
		for _, c := range cases {
			t.Run(mode+"/"+c.name, func(t *testing.T) {
				torchtest.NoLeaks(t)
				torch.Scope(func() {
					in, count := c.inputs(), calls
					calls = 0
					err := torchtest.CheckGradients(c.fn, in, opts)
					calls = count
					require.ErrorContains(t, err, c.text)
				})
			})
		}
	}
}

// What fn reaches without its inputs changes with them, and is restored when fn fails.
func TestGradCheckChangesInPlace(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w := reals()[0]
		kept := w.Mul(w) // its backward pass refuses a w that has changed
		torchtest.GradCheck(t, func([]torch.Tensor) []torch.Tensor { return list(w.Mul(w)) }, list(w))
		kept.Sum().Backward()

		calls, before := 0, w.Bytes()
		err := torchtest.CheckGradients(func([]torch.Tensor) []torch.Tensor {
			if calls++; calls == 3 {
				torch.Throw("third", torch.KindValue, "no more")
			}
			return list(w.Mul(w))
		}, list(w))
		require.ErrorContains(t, err, "no more")
		require.Equal(t, before, w.Bytes())
		require.Panics(t, func() {
			_ = torchtest.CheckGradients(func([]torch.Tensor) []torch.Tensor { panic("mine") }, list(w))
		}, "what is no *torch.Error is not for CheckGradients to judge")
	})
}

// Where one element moves the others keep even the sign of a zero: many functions jump there.
func TestGradCheckKeepsZeros(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		negative := math.Copysign(0, -1)
		torchtest.GradCheck(t, func(in []torch.Tensor) []torch.Tensor {
			x, z := torch.Values[float64](in[0]), torch.Values[complex128](in[1])
			assert.True(t, x[0] != 0 || math.Signbit(x[0]), "%v", x)
			assert.True(t, real(z[0]) != 0 || math.Signbit(real(z[0])), "%v", z)
			return list(in[0].Mul(in[0]), in[1].Mul(in[1]))
		}, leafs([]float64{negative, 2}, []complex128{complex(negative, 2), 1}))
	})
}

// The fast check takes two calls for each input, whatever their size, and two for itself.
func TestGradCheckCalls(t *testing.T) {
	torchtest.NoLeaks(t)
	for mode, want := range map[string]int{"slow": 2 + 2*(3+2), "fast": 2 + 2*2} {
		calls := 0
		torch.Scope(func() {
			torchtest.GradCheck(t, func(in []torch.Tensor) []torch.Tensor {
				calls++
				return list(in[0].Sum().Mul(in[1]))
			}, leafs([]float64{1, 2, 3}, []float64{4, 5}), modes[mode])
		})
		assert.Equal(t, want, calls, mode)
	}
}

// Nobody waits for every element of a large input to be told which one is wrong.
func TestGradCheckExplainsWhatIsSmall(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		calls := 0
		err := torchtest.CheckGradients(func(in []torch.Tensor) []torch.Tensor {
			calls++
			return list(turned(in[0]))
		}, leafs(make([]float64, 2000)), torchtest.GradCheckOptions{Fast: true})
		require.ErrorContains(t, err, "which of its many elements a check without Fast would tell")
		require.Equal(t, 4, calls)
	})
}

func ExampleCheckGradients() {
	x := torch.FromSlice([]float64{1, 2}).SetRequiresGrad(true)
	square := func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{in[0].Mul(in[0])} }
	fmt.Println(torchtest.CheckGradients(square, []torch.Tensor{x}))

	// Half of the gradient is lost here.
	wrong := func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{in[0].Mul(in[0].Detach())} }
	err := torchtest.CheckGradients(wrong, []torch.Tensor{x}, torchtest.GradCheckOptions{Eps: 1.0 / 1024})
	fmt.Println(err)
	// Output:
	// <nil>
	// gradcheck: the gradient of output 0 with respect to input 0 is wrong in 2 of 4 elements
	// worst at output 0[1], input 0[1]: analytical 2, numerical 4, apart by 2 where 0.00401 is allowed
}
