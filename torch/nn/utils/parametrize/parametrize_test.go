package parametrize_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/linalg"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/nn/utils/parametrize"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

func values(t torch.Tensor) []float32 {
	defer t.Close()
	return torch.Values[float32](t)
}

// doubled is a parametrization with a parameter, which cannot be inverted.
type doubled struct{ Scale torch.Tensor }

func (d *doubled) Forward(x ...torch.Tensor) torch.Tensor { return x[0].Mul(d.Scale) }

// shifted can be.
type shifted struct{ By float64 }

func (s shifted) Forward(x ...torch.Tensor) torch.Tensor { return x[0].AddScalar(s.By) }
func (s shifted) RightInverse(x torch.Tensor) []torch.Tensor {
	return []torch.Tensor{x.SubScalar(s.By)}
}

// same passes its original on, which must not be closed with the computed weights.
type same struct{}

func (same) Forward(x ...torch.Tensor) torch.Tensor { return x[0] }

func names(m any) (list []string) {
	for name := range nn.StateDict(m) {
		list = append(list, name)
	}
	return list
}

func ones(in, out int) *nn.Linear {
	l := nn.NewLinear(in, out)
	torch.NoGrad(func() { l.Weight.FillInPlace(1) })
	return l
}

func TestRegister(t *testing.T) {
	torchtest.NoLeaks(t)
	l := ones(2, 1)
	weight := l.Weight
	m := parametrize.Register(l, "weight", shifted{3})
	m.Register("weight", &doubled{nn.NewParameter(torch.FromValue(float32(2)))}).Register("bias", same{})
	require.Equal(t, []string{"parametrizations.weight.original", "parametrizations.weight.1.scale", "parametrizations.bias.original"},
		names(m))
	require.True(t, weight.Is(m.List("weight").Originals["original"]), "optimizers know it")
	require.Equal(t, []float32{-2, -2}, torch.Values[float32](weight))
	require.Equal(t, []float32{2, 2}, values(m.Value("weight")), "(1-3+3)·2")
	require.EqualError(t, torch.Try(func() { m.Set("weight", weight) }),
		"torch: parametrize: parametrization *parametrize_test.doubled does not implement RightInverse")

	opt := optim.NewSGD(nn.Parameters(m), 1)
	torch.Scope(func() {
		m.Forward(torch.Ones(1, 2)).Sum().Backward()
		opt.Step()
	})
	require.Equal(t, []float32{-4, -4}, torch.Values[float32](weight), "its gradient was 2")
	torch.Scope(func() { m.Forward(torch.Ones(1, 2)) })
	require.False(t, weight.Closed())
}

func TestSet(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w := torch.RandN(1, 2)
		for name, m := range map[string]*parametrize.Module[*nn.Linear]{
			"weight norm":   parametrize.WeightNorm(ones(2, 1)),
			"spectral norm": parametrize.SpectralNorm(ones(2, 1)),
			"shifted twice": parametrize.Register(ones(2, 1), "weight", shifted{3}).Register("weight", shifted{4}),
		} {
			t.Run(name, func(t *testing.T) {
				before := maps.Clone(m.List("weight").Originals)
				m.Set("weight", w)
				require.Equal(t, before, m.List("weight").Originals, "the tensors are the same")
				want := w
				if name == "spectral norm" {
					want = w.Div(w.Norm())
				}
				torchtest.AllClose(t, m.Value("weight"), want)
			})
		}
		orthogonal := parametrize.Orthogonal(ones(2, 2))
		orthogonal.Set("weight", torch.FromSlice([]float32{0, -1, 1, 0}, 2, 2))
		require.Equal(t, []float32{0, -1, 1, 0}, torch.Values[float32](orthogonal.Value("weight")), "is orthogonal already")
		fixed := parametrize.Orthogonal(ones(2, 2), parametrize.OrthogonalOptions{NoTrivialization: true})
		require.ErrorIs(t, torch.Try(func() { fixed.Set("weight", torch.Eye(2)) }), torch.ErrNotImplemented)
		for _, m := range []any{orthogonal, fixed} {
			nn.Close(m)
		}
	})
}

func TestRemove(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		l := ones(2, 1)
		weight := l.Weight
		m := parametrize.SpectralNorm(l)
		value := values(nn.Eval(m).Value("weight"))
		left := parametrize.Remove(m, "weight")
		require.Equal(t, []string{"weight", "bias"}, names(left))
		require.True(t, left.Weight.Is(weight), "optimizers know it")
		require.Equal(t, value, torch.Values[float32](weight))

		m = parametrize.Register(left, "weight", shifted{3})
		left = parametrize.Remove(m, "weight", parametrize.RemoveOptions{Original: true})
		require.InDelta(t, value[0]-3, torch.Values[float32](left.Weight)[0], 1e-6)

		m = parametrize.WeightNorm(left)
		require.EqualError(t, torch.Try(func() { parametrize.Remove(m, "weight", parametrize.RemoveOptions{Original: true}) }),
			"torch: parametrize: Cannot leave unparametrized a tensor that is parametrized in terms of a sequence of tensors.")
		before := values(m.Value("weight"))
		left = parametrize.Remove(m, "weight")
		require.Equal(t, before, torch.Values[float32](left.Weight))
		require.True(t, left.Weight.RequiresGrad())
		require.True(t, left.Weight.IsLeaf())
		nn.Close(left)
	})
}

// A parametrized module is a module like others: it moves, is cloned, saved and loaded.
func TestIsModule(t *testing.T) {
	torchtest.NoLeaks(t)
	m := nn.Sequential{parametrize.SpectralNorm(nn.NewConv2d(1, 2, 3)), nn.ReLU{}}
	copied := nn.Clone(m)
	require.Equal(t, []string{"0.bias", "0.parametrizations.weight.original", "0.parametrizations.weight.0._u",
		"0.parametrizations.weight.0._v"}, names(m))
	require.Equal(t, names(m), names(copied))
	require.Equal(t, 2+2*9, nn.NumParameters(m))
	torch.Scope(func() {
		x := torch.RandN(1, 1, 5, 5)
		y := m.Forward(x)
		require.NoError(t, nn.LoadStateDict(copied, maps.Collect(nn.StateDict(m))))
		torchtest.Equal(t, nn.Eval(copied).Forward(x), y)
		nn.To(copied, torch.Float64)
		require.Equal(t, torch.Float64, copied.Forward(x.To(torch.Float64)).DType())
	})
}

// In evaluation many goroutines use one module; nothing of it changes.
func TestAtOnce(t *testing.T) {
	torchtest.NoLeaks(t)
	m := nn.Eval(nn.Sequential{parametrize.SpectralNorm(nn.NewLinear(8, 8)), nn.ReLU{}, parametrize.WeightNorm(nn.NewLinear(8, 1))})
	torch.Scope(func() {
		x := torch.RandN(4, 8)
		want := m.Forward(x)
		var group errgroup.Group
		for range 16 {
			group.Go(func() error {
				return torch.Try(func() {
					torch.Scope(func() {
						for range 20 {
							torch.NoGrad(func() { torchtest.Equal(t, m.Forward(x), want) })
						}
					})
				})
			})
		}
		require.NoError(t, group.Wait())
	})
}

func TestComplaints(t *testing.T) {
	torchtest.NoLeaks(t)
	l, lstm := ones(3, 2), parametrize.WeightNorm(nn.NewLSTM(1, 1), parametrize.WeightNormOptions{Name: "weight_ih_l0"})
	for _, c := range []struct {
		want string
		fn   func()
	}{
		{"parametrize: Module '*nn.Linear' has no parameter with name 'wait'", func() { parametrize.Register(l, "wait", same{}) }},
		{"parametrize: Registering a parametrization may not change the shape of the tensor: it was [2 3] and is [3 2]",
			func() { parametrize.Register(l, "weight", turned{}) }},
		{"parametrize: Module *nn.LSTM does not have a parametrization on weight", func() { lstm.Value("weight") }},
		{"Module[*nn.LSTM]: parametrize: *nn.LSTM has no Forward from one tensor to another: call it by With", func() { lstm.Forward(l.Weight) }},
		{"spectral_norm: Dimension out of range (expected to be in range of [-2, 1] but got 2)",
			func() { parametrize.SpectralNorm(l, parametrize.SpectralNormOptions{Dim: new(2)}) }},
		{"spectral_norm: Expected n_power_iterations to be positive, but got n_power_iterations=-1",
			func() { parametrize.SpectralNorm(l, parametrize.SpectralNormOptions{Iterations: -1}) }},
		{"orthogonal: Expected a matrix or batch of matrices. Got a tensor of 1 dimensions.",
			func() { parametrize.Orthogonal(l, parametrize.OrthogonalOptions{Name: "bias"}) }},
	} {
		require.EqualError(t, torch.Try(c.fn), "torch: "+c.want)
	}
}

type turned struct{}

func (turned) Forward(x ...torch.Tensor) torch.Tensor { return x[0].T() }

func ExampleSpectralNorm() {
	torch.ManualSeed(0)
	m := nn.Eval(parametrize.SpectralNorm(nn.NewLinear(4, 3)))
	torch.Scope(func() {
		w := m.Value("weight")
		fmt.Printf("%v, largest singular value %.2f\n", w.Shape(), linalg.MatrixNorm(w, 2).Float64())
	})
	for name, t := range nn.StateDict(m) {
		fmt.Println(name, t.Shape())
	}
	// Output:
	// [3 4], largest singular value 1.00
	// bias [3]
	// parametrizations.weight.original [3 4]
	// parametrizations.weight.0._u [3]
	// parametrizations.weight.0._v [4]
}
