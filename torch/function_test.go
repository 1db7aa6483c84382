package torch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// scaled multiplies by a number.
type scaled struct{ by float64 }

func (s *scaled) Forward(_ *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	return []torch.Tensor{in[0].MulScalar(s.by)}
}

func (s *scaled) Backward(_ *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	return []torch.Tensor{grads[0].MulScalar(s.by)}
}

type MyExp struct{}

func (MyExp) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	y := in[0].Exp()
	ctx.SaveForBackward(y)
	return []torch.Tensor{y}
}

func (MyExp) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	return []torch.Tensor{grads[0].Mul(ctx.SavedTensors()[0])}
}

// gate has two inputs and two outputs, and asks which gradients are wanted.
type gate struct{}

func (gate) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	ctx.SaveForBackward(in...)
	ctx.State = "state"
	return []torch.Tensor{in[0].Mul(in[1].Sigmoid()), in[0].Add(in[1])}
}

func (gate) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	if ctx.State != "state" {
		panic("the state is lost")
	}
	saved := ctx.SavedTensors()
	x, s := saved[0], saved[1].Sigmoid()
	var gx, gz torch.Tensor
	if ctx.NeedsInputGrad(0) {
		gx = grads[0].Mul(s).Add(grads[1])
	}
	if ctx.NeedsInputGrad(1) {
		gz = grads[0].Mul(x).Mul(s).Mul(torch.RSubScalar(s, 1)).Add(grads[1])
	}
	return []torch.Tensor{gx, gz}
}

func TestFunctionsAreThoseOfPython(t *testing.T) {
	torchtest.NoLeaks(t)
	a := ask(t, `
class MyExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, z):
        ctx.save_for_backward(x, z)
        return x * z.sigmoid(), x + z
    @staticmethod
    def backward(ctx, g, h):
        x, z = ctx.saved_tensors
        s = z.sigmoid()
        return g * s + h, g * x * s * (1 - s) + h

torch.manual_seed(1)
x, z = torch.randn(4, 5, requires_grad=True), torch.randn(4, 5, requires_grad=True)
e = MyExp.apply(x)
u, v = Gate.apply(e, z)
loss = (u * v.tanh()).sum() + u.sum()
first = torch.autograd.grad(loss, [x, z], create_graph=True)
(first[0].sin().sum() + first[1].mul(first[0]).sum()).backward()
y, text = [loss, *first, x.grad, z.grad], e.grad_fn.name() + " " + u.grad_fn.name()
`)
	torch.Scope(func() {
		torch.ManualSeed(1)
		x, z := torch.RandN(4, 5).SetRequiresGrad(true), torch.RandN(4, 5).SetRequiresGrad(true)
		e := torch.Apply1(MyExp{}, x)
		out := torch.Apply(gate{}, e, z)
		u, v := out[0], out[1]
		loss := u.Mul(v.Tanh()).Sum().Add(u.Sum())
		first := torch.Grad([]torch.Tensor{loss}, []torch.Tensor{x, z}, torch.GradOptions{CreateGraph: true})
		first[0].Sin().Sum().Add(first[1].Mul(first[0]).Sum()).Backward()
		for i, got := range []torch.Tensor{loss, first[0], first[1], x.Grad(), z.Grad()} {
			torchtest.Equal(t, got.Detach(), a.tensor(t, i))
		}
		assert.Equal(t, a.Text, e.GradFn().Name()+" G"+u.GradFn().Name()[1:])
		x.SetGrad(torch.Tensor{})
		z.SetGrad(torch.Tensor{})
	})
}

func TestFunctionGradCheck(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		in := []torch.Tensor{leaf(0.3, -1, 2), leaf(1.5, 0.1, -0.7)}
		apply := func(in []torch.Tensor) []torch.Tensor {
			return torch.Apply(gate{}, torch.Apply1(MyExp{}, in[0]), in[1])
		}
		torchtest.GradCheck(t, apply, in)
		torchtest.GradCheck(t, func(in []torch.Tensor) []torch.Tensor {
			out := apply(in)
			ones := []torch.Tensor{torch.OnesLike(out[0]), torch.OnesLike(out[1])}
			return torch.Grad(out, in, torch.GradOptions{GradOutputs: ones, CreateGraph: true})
		}, in)
	})
}

// custom is a Function made of two functions.
type custom struct {
	forward  func(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor
	backward func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor
}

func (c custom) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	if c.forward == nil {
		return []torch.Tensor{in[0].MulScalar(2)}
	}
	return c.forward(ctx, in)
}

func (c custom) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	if c.backward == nil {
		return []torch.Tensor{grads[0].MulScalar(2)}
	}
	return c.backward(ctx, grads)
}

func TestFunctionMarks(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := leaf(3, 1, 2)
		var materialized, needed []bool
		sort := custom{
			func(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
				values, order := in[0].Sort()
				ranks := order.To(torch.Float64)
				ctx.MarkNonDifferentiable(ranks)
				ctx.SetMaterializeGrads(false)
				ctx.SaveForBackward(order)
				needed = append(needed, ctx.NeedsInputGrad(0), ctx.NeedsInputGrad(1))
				return []torch.Tensor{values, order, ranks, in[0]}
			},
			func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
				for _, g := range grads {
					materialized = append(materialized, g.Defined())
				}
				g := torch.ZerosLike(grads[0]).Scatter(0, ctx.SavedTensors()[0], grads[0])
				return []torch.Tensor{g, {}, {}, {}} // more than inputs, but undefined
			},
		}
		out := torch.Apply(sort, x, torch.Tensor{})
		assert.Equal(t, []bool{true, false, false, true},
			[]bool{out[0].RequiresGrad(), out[1].RequiresGrad(), out[2].RequiresGrad(), out[3].RequiresGrad()})
		assert.Equal(t, "customBackward", out[0].GradFn().Name())
		out[0].Mul(torch.FromSlice([]float64{1, 10, 100})).Sum().Backward()
		assert.Equal(t, []float64{100, 1, 10}, floats(x.Grad()))
		assert.Equal(t, []bool{true, false, false, false}, materialized)
		assert.Equal(t, []bool{true, false}, needed)

		y := x.MulScalar(1)
		double := custom{forward: func(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
			ctx.MarkDirty(in[0])
			return []torch.Tensor{in[0].MulScalarInPlace(2)}
		}}
		version := y.Version()
		z := torch.Apply1(double, y)
		assert.Equal(t, []float64{6, 2, 4}, floats(y))
		assert.Greater(t, y.Version(), version)
		assert.Equal(t, "customBackward", y.GradFn().Name(), "the input is the output")
		x.SetGrad(torch.Tensor{})
		z.Sum().Backward()
		assert.Equal(t, []float64{2, 2, 2}, floats(x.Grad()))
	})
}

func TestFunctionIsRecordedWhereNeeded(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		before := torch.Stats().Live()
		torch.NoGrad(func() { assert.False(t, torch.Apply1(MyExp{}, leaf(1)).RequiresGrad()) })
		plain := torch.Apply1(MyExp{}, torch.Ones(2))
		assert.False(t, plain.RequiresGrad())
		assert.Equal(t, before+4, torch.Stats().Live(), "two inputs and two results")
		ctx := &torch.FunctionCtx{}
		assert.ErrorContains(t, torch.Try(func() { ctx.SavedTensors() }), "gone, or was never recorded")
	})
}

func TestFunctionErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	returns := func(list ...torch.Tensor) custom {
		return custom{backward: func(*torch.FunctionCtx, []torch.Tensor) []torch.Tensor { return list }}
	}
	torch.Scope(func() {
		x := leaf(1, 2)
		one := torch.Ones(2).To(torch.Float64)
		cases := []struct {
			name, text string
			fn         func()
		}{
			{"too few", "expected 1, got 0", func() { torch.Apply1(returns(), x).Sum().Backward() }},
			{"too many", "expected 1, got 2", func() { torch.Apply1(returns(one, one), x).Sum().Backward() }},
			{"shape", "invalid gradient at index 0 - got [3]", func() { torch.Apply1(returns(torch.Ones(3)), x).Sum().Backward() }},
			{"absent input", "the undefined tensor", func() { torch.Apply1(returns(one, one), x, torch.Tensor{}).Sum().Backward() }},
			{"outputs", "expected one output, got 2", func() { torch.Apply1(gate{}, x, x) }},
			{"forward", "shapes cannot be multiplied", func() {
				torch.Apply1(custom{forward: func(_ *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
					torch.Ones(2, 3).MatMul(torch.Ones(2, 3))
					return in
				}}, x)
			}},
			{"dirty leaf", "leaf Variable that requires grad", func() {
				torch.Apply1(custom{forward: func(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
					ctx.MarkDirty(in[0])
					return []torch.Tensor{in[0].MulScalarInPlace(2)}
				}}, x)
			}},
			{"second time", "second time", func() {
				y := torch.Apply1(MyExp{}, x).Sum()
				y.Backward(torch.BackwardOptions{RetainGraph: true})
				y.Backward()
				y.Backward()
			}},
			{"changed", "modified by an inplace operation", func() {
				y := torch.Apply1(MyExp{}, x)
				z := y.Sum()
				torch.NoGrad(func() { y.ZeroInPlace() })
				z.Backward()
			}},
			{"closed input", "after it had been closed", func() {
				y := leaf(1)
				y.Close()
				torch.Apply1(MyExp{}, y)
			}},
		}
		for _, c := range cases {
			err := torch.Try(c.fn)
			var e *torch.Error
			require.ErrorAs(t, err, &e, c.name)
			assert.ErrorContains(t, err, c.text, c.name)
		}
		assert.Equal(t, []float64{2, 4}, floats(x), "changed in place before libtorch refused")
	})
}

// What a function saves lives as long as the graph, and no longer.
func TestFunctionFreesWhatItSaved(t *testing.T) {
	torchtest.NoLeaks(t)
	const bytes = 1 << 20
	torch.Scope(func() {
		x := torch.TensorOptions{RequiresGrad: true}.Ones(1)
		square := custom{
			func(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
				big := in[0].Expand(bytes / 4).Contiguous()
				ctx.SaveForBackward(big)
				return []torch.Tensor{big.Mul(big).Mean()}
			},
			func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
				return []torch.Tensor{ctx.SavedTensors()[0].Narrow(0, 0, 1).Mul(grads[0]).MulScalar(2)}
			},
		}
		before := torch.Stats().HostBytes
		y := torch.Apply1(square, x)
		held := torch.Stats().HostBytes - before
		assert.InDelta(t, bytes, held, 4096)
		y.Backward(torch.BackwardOptions{RetainGraph: true})
		assert.InDelta(t, bytes, torch.Stats().HostBytes-before, 4096)
		y.Backward()
		assert.InDelta(t, 0, torch.Stats().HostBytes-before, 4096)
		assert.Equal(t, []float64{4}, torch.Values[float64](x.Grad()))
	})
}
