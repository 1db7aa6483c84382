package library_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// weighted is weight * sin(x) summed up over a list of x, with a number in between.
func weighted(lib *library.Library) *library.Operator {
	return lib.Define("weighted(Tensor weight, float by, Tensor[] list, Tensor? none=None) -> (Tensor, int)").
		Impl(library.CPU|library.CUDA, func(weight torch.Tensor, by float64, list []torch.Tensor, _ torch.Tensor) (torch.Tensor, int) {
			sum := torch.ZerosLike(weight)
			for _, x := range list {
				sum = sum.Add(x.Sin())
			}
			return sum.Mul(weight).MulScalar(by), len(list)
		}).
		Fake(func(weight torch.Tensor, _ float64, list []torch.Tensor, _ torch.Tensor) (torch.Tensor, int) {
			return torch.EmptyLike(weight), len(list)
		}).
		Autograd(library.Formula{
			Setup: func(ctx *torch.FunctionCtx, args, _ []any) {
				ctx.State = args[1]
				ctx.SaveForBackward(append([]torch.Tensor{args[0].(torch.Tensor)}, args[2].([]torch.Tensor)...)...)
			},
			Backward: func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
				saved, by := ctx.SavedTensors(), ctx.State.(float64)
				sum := torch.ZerosLike(saved[0])
				results := []torch.Tensor{{}}
				for _, x := range saved[1:] {
					sum = sum.Add(x.Sin())
					results = append(results, grads[0].Mul(saved[0]).Mul(x.Cos()).MulScalar(by))
				}
				results[0] = grads[0].Mul(sum).MulScalar(by)
				return results
			},
		})
}

func TestAutograd(t *testing.T) {
	op := weighted(open(t))
	torch.Scope(func() {
		torch.ManualSeed(3)
		leaf := func() torch.Tensor {
			return torch.TensorOptions{DType: torch.Float64}.RandN(2, 3).SetRequiresGrad(true)
		}
		in := []torch.Tensor{leaf(), leaf(), leaf()}
		run := func(in []torch.Tensor) []torch.Tensor {
			return []torch.Tensor{op.Call(in[0], 0.5, in[1:])[0].(torch.Tensor)}
		}
		torchtest.GradCheck(t, run, in)
		out := op.Call(in[0], 0.5, in[1:])
		require.Equal(t, int64(2), out[1])
		require.Equal(t, "gotest_weightedBackward", out[0].(torch.Tensor).GradFn().Name())

		// The second derivative follows from the operators in the formula.
		first := torch.Grad([]torch.Tensor{run(in)[0].Sum()}, in, torch.GradOptions{CreateGraph: true})
		second := torch.Grad([]torch.Tensor{first[0].Sum()}, in[1:2])[0]
		torchtest.AllClose(t, second, in[1].Cos().MulScalar(0.5).Detach())

		torch.NoGrad(func() { require.False(t, run(in)[0].RequiresGrad()) })
		torch.Inference(func() { require.False(t, run(in)[0].RequiresGrad()) })
		plain := []torch.Tensor{in[0].Detach(), in[1].Detach()}
		require.False(t, run(plain)[0].RequiresGrad())
		torchtest.Equal(t, run(plain)[0], run(in[:2])[0].Detach())

		meta := torch.TensorOptions{Device: torch.Meta}.Zeros(4, 5)
		require.Equal(t, []int{4, 5}, run([]torch.Tensor{meta, meta})[0].Shape())
		require.ErrorContains(t, torch.Try(func() { run([]torch.Tensor{torch.Ones(2), torch.Ones(3)}) }), "must match the size of tensor b")
	})
}

// Without a formula, and under CompositeImplicit, the operators inside are what is differentiated.
func TestWithoutFormula(t *testing.T) {
	lib := open(t)
	square := func(x torch.Tensor) torch.Tensor { return x.Mul(x) }
	for name, key := range map[string]library.Key{"implicit": library.CompositeImplicit, "cpu": library.CPU} {
		op := lib.Define(name+"(Tensor x) -> Tensor").Impl(key, square)
		torch.Scope(func() {
			x := torch.FromSlice([]float32{3}).SetRequiresGrad(true)
			y := op.Call1(x)
			require.Equal(t, "MulBackward0", y.GradFn().Name(), name)
			y.Backward()
			require.Equal(t, 6.0, x.Grad().Float64(), name)
		})
	}
}

func TestErrorsOfFormulas(t *testing.T) {
	lib := open(t)
	mine := errors.New("mine")
	op := lib.Define("fails(Tensor x) -> Tensor").
		Impl(library.CompositeExplicit, func(x torch.Tensor) torch.Tensor { return x.Neg() }).
		Autograd(library.Formula{Backward: func(*torch.FunctionCtx, []torch.Tensor) []torch.Tensor { panic(mine) }})
	torch.Scope(func() {
		x := torch.Ones(2).SetRequiresGrad(true)
		err := torch.Try(func() { op.Call1(x).Sum().Backward() })
		require.ErrorIs(t, err, mine)
		require.ErrorContains(t, err, "gotest_failsBackward failed: mine")
	})
}

// A graph outlives the library that its formula comes from.
func TestGraphOutlivesLibrary(t *testing.T) {
	torchtest.NoLeaks(t)
	lib := library.New("gotest")
	op := lib.Define("twice(Tensor x) -> Tensor").
		Impl(library.CPU, func(x torch.Tensor) torch.Tensor { return x.MulScalar(2) }).
		Autograd(library.Formula{Backward: func(_ *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
			return []torch.Tensor{grads[0].MulScalar(2)}
		}})
	torch.Scope(func() {
		x := torch.Ones(2).SetRequiresGrad(true)
		y := op.Call1(x)
		lib.Close()
		y.Sum().Backward()
		require.Equal(t, []float32{2, 2}, torch.Values[float32](x.Grad()))
	})
}

func ExampleLibrary() {
	lib := library.New("mylib")
	defer lib.Close()
	lib.Define("scale(Tensor x, float factor) -> Tensor").
		Impl(library.CPU|library.CUDA, func(x torch.Tensor, factor float64) torch.Tensor {
			return x.MulScalar(factor)
		}).
		Fake(func(x torch.Tensor, _ float64) torch.Tensor { return torch.EmptyLike(x) }).
		Autograd(library.Formula{
			Setup: func(ctx *torch.FunctionCtx, args, _ []any) { ctx.State = args[1] },
			Backward: func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
				return []torch.Tensor{grads[0].MulScalar(ctx.State)}
			},
		})
	torch.Scope(func() {
		x := torch.FromSlice([]float32{1, 2}).SetRequiresGrad(true)
		y := torch.Call("mylib::scale", x, 3.0)[0].(torch.Tensor)
		y.Sum().Backward()
		fmt.Println(library.Lookup("mylib::scale"))
		fmt.Println(torch.Values[float32](y), torch.Values[float32](x.Grad()))
	})
	// Output:
	// mylib::scale(Tensor x, float factor) -> Tensor
	// [3 6] [3 3]
}
