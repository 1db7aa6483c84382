package library_test

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
)

// What an operator takes and returns, its defaults included.
func ExampleLookup() {
	s := library.Lookup("aten::add.Tensor")
	fmt.Println(s)
	fmt.Println(s.Arguments[2].Name, s.Arguments[2].Keyword, s.Arguments[2].Default)
	// Output:
	// aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
	// alpha true 1
}

// A kernel composed of operators needs no derivative of its own.
func ExampleOperator_Impl() {
	lib := library.New("examples")
	defer lib.Close()
	cube := lib.Define("cube(Tensor x) -> Tensor").
		Impl(library.CompositeImplicit, func(x torch.Tensor) torch.Tensor { return x.Mul(x).Mul(x) })
	torch.Scope(func() {
		x := torch.FromSlice([]float32{1, 2}).SetRequiresGrad(true)
		cube.Call1(x).Sum().Backward()
		fmt.Println(x.Grad())
	})
	// Output: tensor([ 3., 12.])
}

// The error of a kernel comes back from the call.
func ExampleOperator_Call() {
	lib := library.New("examples")
	defer lib.Close()
	refused := errors.New("only positive numbers")
	root := lib.Define("root(Tensor x) -> Tensor").
		Impl(library.CPU, func(x torch.Tensor) (torch.Tensor, error) {
			if x.Min().Float64() < 0 {
				return torch.Tensor{}, refused
			}
			return x.Sqrt(), nil
		})
	torch.Scope(func() {
		fmt.Println(root.Call(torch.FromSlice([]float32{4}))[0])
		err := torch.Try(func() { root.Call(torch.FromSlice([]float32{-4})) })
		fmt.Println(errors.Is(err, refused))
	})
	// Output:
	// tensor([2.])
	// true
}

// Fake tells shapes and dtypes where there are no elements.
func ExampleOperator_Fake() {
	lib := library.New("examples")
	defer lib.Close()
	pairs := lib.Define("pairs(Tensor x) -> Tensor").
		Impl(library.CPU, func(x torch.Tensor) torch.Tensor { return torch.Stack([]torch.Tensor{x, x}) }).
		Fake(func(x torch.Tensor) torch.Tensor { return x.NewEmpty(append([]int{2}, x.Shape()...)) })
	torch.Scope(func() {
		fmt.Println(pairs.Call1(torch.TensorOptions{Device: torch.Meta}.Empty(1000, 1000)).Shape())
	})
	// Output: [2 1000 1000]
}
