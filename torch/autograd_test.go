package torch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func leaf(values ...float64) torch.Tensor { return torch.FromSlice(values).SetRequiresGrad(true) }

func floats(t torch.Tensor) []float64 { return torch.Values[float64](t) }

func TestBackward(t *testing.T) {
	torchtest.NoLeaks(t)
	w := leaf(1, 2, 3)
	assert.False(t, w.Grad().Defined())
	y := w.Mul(w).Sum()
	assert.True(t, y.RequiresGrad())
	assert.False(t, y.IsLeaf())
	assert.Equal(t, "SumBackward0", y.GradFn().Name())
	assert.Equal(t, "", w.GradFn().Name())
	y.Backward()
	assert.Equal(t, []float64{2, 4, 6}, floats(w.Grad()))
	w.Mul(w).Sum().Backward()
	assert.Equal(t, []float64{4, 8, 12}, floats(w.Grad()), "gradients add up")

	torch.ClearGrads([]torch.Tensor{w})
	assert.False(t, w.Grad().Defined())
	w.Mul(w).Backward(torch.BackwardOptions{Gradient: torch.FromSlice([]float64{1, 0, 10})})
	assert.Equal(t, []float64{2, 0, 60}, floats(w.Grad()))
	w.SetGrad(torch.FromSlice([]float64{7, 8, 9}))
	assert.Equal(t, []float64{7, 8, 9}, floats(w.Grad()))
	w.SetGrad(torch.Tensor{})
	assert.False(t, w.Grad().Defined())
}

func TestBackwardOptions(t *testing.T) {
	torchtest.NoLeaks(t)
	a, b := leaf(2), leaf(3)
	y := a.Mul(b)
	y.Backward(torch.BackwardOptions{RetainGraph: true, Inputs: []torch.Tensor{a}})
	assert.False(t, b.Grad().Defined())
	assert.Equal(t, []float64{3}, floats(a.Grad()))
	y.Backward()
	assert.Equal(t, []float64{6}, floats(a.Grad()))
	assert.Equal(t, []float64{2}, floats(b.Grad()))
	grads := torch.Grads([]torch.Tensor{a, leaf(1), b})
	assert.Equal(t, []bool{true, false, true}, []bool{grads[0].Defined(), grads[1].Defined(), grads[2].Defined()})

	c := leaf(1, 1)
	torch.Backward([]torch.Tensor{c.MulScalar(2).Sum(), c.MulScalar(3)}, []torch.Tensor{{}, torch.FromSlice([]float64{1, 10})})
	assert.Equal(t, []float64{5, 32}, floats(c.Grad()))
}

func TestGrad(t *testing.T) {
	torchtest.NoLeaks(t)
	a, b, unused := leaf(2), leaf(3), leaf(4)
	y := a.PowScalar(3).Mul(b)
	g := torch.Grad([]torch.Tensor{y}, []torch.Tensor{a, b}, torch.GradOptions{RetainGraph: true})
	assert.Equal(t, []float64{36}, floats(g[0]))
	assert.Equal(t, []float64{8}, floats(g[1]))
	assert.False(t, a.Grad().Defined(), "Grad leaves .Grad alone")

	g = torch.Grad([]torch.Tensor{y}, []torch.Tensor{a, unused}, torch.GradOptions{
		AllowUnused: true, RetainGraph: true, GradOutputs: []torch.Tensor{torch.FromSlice([]float64{2})},
	})
	assert.Equal(t, []float64{72}, floats(g[0]))
	assert.False(t, g[1].Defined())
	assert.ErrorContains(t, torch.Try(func() { torch.Grad([]torch.Tensor{y}, []torch.Tensor{unused}) }), "was not used to compute the outputs")
}

func TestDoubleBackward(t *testing.T) {
	torchtest.NoLeaks(t)
	x := leaf(2)
	torch.Scope(func() {
		first := torch.Grad([]torch.Tensor{x.PowScalar(4)}, []torch.Tensor{x}, torch.GradOptions{CreateGraph: true})[0]
		assert.Equal(t, []float64{32}, floats(first))
		second := torch.Grad([]torch.Tensor{first}, []torch.Tensor{x}, torch.GradOptions{CreateGraph: true})[0]
		assert.Equal(t, []float64{48}, floats(second))
		second.Backward()
		assert.Equal(t, []float64{48}, floats(x.Grad()))
	})
	x.SetGrad(torch.Tensor{})

	z := leaf(3)
	torch.Scope(func() {
		z.PowScalar(3).Backward(torch.BackwardOptions{CreateGraph: true})
		g := z.Grad()
		assert.True(t, g.RequiresGrad())
		assert.Equal(t, []float64{27}, floats(g))
		z.SetGrad(torch.Tensor{}) // a gradient with a graph refers to its own leaf
	})
}

func TestRetainGrad(t *testing.T) {
	torchtest.NoLeaks(t)
	w := leaf(1, 2)
	h, other := w.MulScalar(3), w.MulScalar(5)
	h.RetainGrad()
	h.Mul(other).Sum().Backward()
	assert.Equal(t, []float64{5, 10}, floats(h.Grad()))
	assert.False(t, other.Grad().Defined())
}

func TestDetachAndNoGrad(t *testing.T) {
	torchtest.NoLeaks(t)
	w := leaf(1, 2)
	d := w.Detach()
	assert.False(t, d.RequiresGrad())
	assert.Equal(t, w.Storage().ID, d.Storage().ID)
	torch.NoGrad(func() {
		assert.False(t, w.MulScalar(2).RequiresGrad())
		torch.EnableGrad(func() { assert.True(t, w.MulScalar(2).RequiresGrad()) })
		w.AddScalarInPlace(1) // allowed here, on a leaf
	})
	assert.Equal(t, []float64{2, 3}, floats(w))
	w.SetRequiresGrad(false)
	assert.False(t, w.MulScalar(2).RequiresGrad())

	x := torch.Zeros(3)
	x.SetData(torch.Ones(2, 2))
	assert.Equal(t, []int{2, 2}, x.Shape())
}

func TestAutogradErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	w := leaf(1, 2)
	used := w.Mul(w).Sum()
	used.Backward()
	saved := w.Exp()
	y := saved.Sum()
	torch.NoGrad(func() { saved.ZeroInPlace() })
	filled := w.MulScalar(2).Exp()
	loss := filled.Sum()
	torch.Fill(filled, []float64{0, 0})
	var inferred torch.Tensor
	torch.Inference(func() { inferred = torch.Ones(2) })

	cases := []struct {
		name, text string
		fn         func()
	}{
		{"twice", "second time", func() { used.Backward() }},
		{"many elements", "scalar outputs", func() { w.Mul(w).Backward() }},
		{"no graph", "does not require grad", func() { torch.Ones(1).Backward() }},
		{"saved tensor changed", "modified by an inplace operation", func() { y.Backward() }},
		{"saved tensor filled", "modified by an inplace operation", func() { loss.Backward() }},
		{"leaf in place", "leaf Variable that requires grad", func() { w.AddScalarInPlace(1) }},
		{"integers", "floating point", func() { torch.Zeros(2).To(torch.Int64).SetRequiresGrad(true) }},
		{"not a leaf", "Detach", func() { w.Exp().SetRequiresGrad(false) }},
		{"gradient shape", "[3]", func() { w.SetGrad(torch.Ones(3).To(torch.Float64)) }},
		{"gradient dtype", "gradient with dtype 'float' to a tensor with grad_dtype 'Double'", func() { w.SetGrad(torch.Ones(2)) }},
		{"root gradient shape", "shape", func() { w.Exp().Backward(torch.BackwardOptions{Gradient: torch.Ones(5)}) }},
		{"fewer gradients", "2 tensors and 1 gradients", func() { torch.Backward([]torch.Tensor{w.Exp(), w.Exp()}, []torch.Tensor{w}) }},
		{"inference tensor", "torch.Inference", func() { w.Mul(inferred.To(torch.Float64)).Sum().Backward(); inferred.AddScalarInPlace(1) }},
		{"retain without graph", "requires no gradients", func() { torch.Ones(2).RetainGrad() }},
		{"undefined root", "undefined", func() { torch.Tensor{}.Backward() }},
		{"undefined input", "undefined", func() { torch.Grad([]torch.Tensor{w.Sum()}, []torch.Tensor{{}}) }},
		{"two options", "at most one", func() { w.Sum().Backward(torch.BackwardOptions{}, torch.BackwardOptions{}) }},
	}
	for _, c := range cases {
		err := torch.Try(c.fn)
		var e *torch.Error
		require.ErrorAs(t, err, &e, c.name)
		assert.ErrorContains(t, err, c.text, c.name)
	}
}

// The whole path against Python: a small network, every gradient to the last bit.
func TestGradientsAreThoseOfPython(t *testing.T) {
	torchtest.NoLeaks(t)
	a := ask(t, `
torch.manual_seed(7)
x, w, b = torch.randn(8, 5), torch.randn(3, 5, requires_grad=True), torch.randn(3, requires_grad=True)
y = torch.nn.functional.linear(x, w, b)
loss = torch.nn.functional.cross_entropy(y.tanh() * y.sigmoid(), torch.arange(8) % 3)
loss.backward()
y = [loss, w.grad, b.grad]
`)
	torch.ManualSeed(7)
	x := torch.RandN(8, 5)
	w, b := torch.RandN(3, 5).SetRequiresGrad(true), torch.RandN(3).SetRequiresGrad(true)
	y := aten.Linear(x, w, b)
	loss := aten.CrossEntropyLoss(y.Tanh().Mul(y.Sigmoid()), torch.Arange(8).RemainderScalar(3))
	loss.Backward()
	torchtest.Equal(t, loss.Detach(), a.tensor(t, 0))
	torchtest.Equal(t, w.Grad(), a.tensor(t, 1))
	torchtest.Equal(t, b.Grad(), a.tensor(t, 2))
}
