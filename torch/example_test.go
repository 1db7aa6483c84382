package torch_test

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// A first look: tensors from Go values, operators, autograd, values back.
func Example() {
	x := torch.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	w := torch.TensorOptions{RequiresGrad: true}.Full([]int{3, 1}, 0.5)
	y := x.MatMul(w).Tanh()
	fmt.Println(y)

	y.Sum().Backward()
	fmt.Println(w.Grad().T())
	// Output:
	// tensor([[0.9951],
	//         [1.0000]], grad_fn=<TanhBackward0>)
	// tensor([[0.0099, 0.0197, 0.0296]])
}

func ExampleScope() {
	var total float64
	weights := torch.Arange(4).To(torch.Float32)
	for i := range 3 {
		torch.Scope(func() { // everything made in here is freed when it ends
			squares := weights.AddScalar(i).PowScalar(2)
			total += squares.Mean().Float64()
		})
	}
	fmt.Println(total)
	// Output: 24.5
}

func ExampleScope1() {
	x := torch.FromSlice([]float64{3, 4})
	norm := torch.Scope1(func() torch.Tensor { return x.Mul(x).Sum().Sqrt() }) // the steps in between are freed
	fmt.Println(norm)
	// Output: tensor(5., dtype=torch.float64)
}

func ExampleTensor_Keep() {
	var best torch.Tensor
	torch.Scope(func() {
		x := torch.Arange(3)
		best = x.MulScalar(2).Keep() // outlives the scope
	})
	defer best.Close()
	fmt.Println(best)
	// Output: tensor([0, 2, 4])
}

func ExampleTry() {
	x := torch.Ones(2, 3)
	err := torch.Try(func() { x.Reshape(4) })
	fmt.Println(err)

	_, err = torch.Try1(func() torch.Tensor { return x.Select(0, 5) })
	fmt.Println(errors.Is(err, torch.ErrIndex))
	// Output:
	// torch: reshape: shape '[4]' is invalid for input of size 6 (with float32[2, 3])
	// true
}

func ExampleTensor_Index() {
	x := torch.Arange(12).Reshape(3, 4)
	fmt.Println(x.Index(-1))
	fmt.Println(x.Index(torch.All, torch.Slice(1, 3)))
	fmt.Println(x.Index([]int{2, 0}, 1))
	fmt.Println(x.Index(x.GtScalar(8)))

	x.At(torch.Ellipsis, torch.Slice(0, torch.End, 2)).Set(0)
	fmt.Println(x)
	// Output:
	// tensor([ 8,  9, 10, 11])
	// tensor([[ 1,  2],
	//         [ 5,  6],
	//         [ 9, 10]])
	// tensor([9, 1])
	// tensor([ 9, 10, 11])
	// tensor([[ 0,  1,  0,  3],
	//         [ 0,  5,  0,  7],
	//         [ 0,  9,  0, 11]])
}

func ExampleNoGrad() {
	w := torch.Ones(2).SetRequiresGrad(true)
	w.Mul(w).Sum().Backward()
	torch.NoGrad(func() {
		w.SubInPlace(w.Grad(), torch.SubOptions{Alpha: 0.1}) // a step of gradient descent
	})
	fmt.Println(w)
	// Output: tensor([0.8000, 0.8000], requires_grad=True)
}

func ExampleTensor_Backward() {
	x := torch.FromSlice([]float32{1, 2, 3}).SetRequiresGrad(true)
	y := x.PowScalar(3).Sum()
	y.Backward()
	fmt.Println(x.Grad())
	// Output: tensor([ 3., 12., 27.])
}

func ExampleGrad() {
	x := torch.FromValue(2.0).SetRequiresGrad(true)
	y := x.PowScalar(4)
	first := torch.Grad([]torch.Tensor{y}, []torch.Tensor{x}, torch.GradOptions{CreateGraph: true})[0]
	second := torch.Grad([]torch.Tensor{first}, []torch.Tensor{x})[0]
	fmt.Println(first.Float64(), second.Float64())
	// Output: 32 48
}

func ExampleWithAutocast() {
	w := torch.Ones(2, 2)
	torch.WithAutocast(torch.AutocastMode{Device: torch.CPU, Enabled: true}, func() {
		fmt.Println(w.MatMul(w).DType())
	})
	fmt.Println(w.MatMul(w).DType())
	// Output:
	// bfloat16
	// float32
}

func ExampleTensor_To() {
	x := torch.Arange(3)
	fmt.Println(x.To(torch.Float16))
	fmt.Println(x.To(torch.DefaultDevice(), torch.BFloat16).CPU())
	// Output:
	// tensor([0., 1., 2.], dtype=torch.float16)
	// tensor([0., 1., 2.], dtype=torch.bfloat16)
}

func ExampleCall() {
	x := torch.FromSlice([]float32{1, -2, 3})
	out := torch.Zeros(3)
	torch.Call("aten::add.out", x, x, torch.Arg("alpha", 10), torch.Arg("out", out))
	fmt.Println(out)
	// Output: tensor([ 11., -22.,  33.])
}

func ExampleTensor_Format() {
	x := torch.FromSlice([]float64{1.0 / 3, 2.0 / 3}).To(torch.Float32)
	fmt.Printf("%v\n%.2v\n%e\n", x, x, x)
	// Output:
	// tensor([0.3333, 0.6667])
	// tensor([0.33, 0.67])
	// tensor([3.3333e-01, 6.6667e-01])
}

func ExampleTensorOptions() {
	o := torch.TensorOptions{DType: torch.Float64, RequiresGrad: true}
	fmt.Println(o.Zeros(2, 2))
	// Output:
	// tensor([[0., 0.],
	//         [0., 0.]], dtype=torch.float64, requires_grad=True)
}

func ExampleTensor_Each() {
	x := torch.Arange(6).Reshape(2, 3)
	for i, column := range x.Each(1) {
		fmt.Println(i, column)
	}
	// Output:
	// 0 tensor([0, 3])
	// 1 tensor([1, 4])
	// 2 tensor([2, 5])
}

func ExampleTensor_At() {
	counts := torch.TensorOptions{DType: torch.Int64}.Zeros(3)
	counts.At([]int{2, 0, 2, 2}).Add(1) // an element that is named several times gets it each time
	fmt.Println(counts)
	// Output: tensor([1, 0, 3])
}

func ExampleWhere() {
	x := torch.FromSlice([]float32{-1, 2, -3})
	positive := x.GtScalar(0)
	fmt.Println(torch.Where(positive, x, x.MulScalar(0.5)))
	fmt.Println(torch.WhereTensorScalar(positive, x, 0))
	fmt.Println(torch.WhereIndices(positive))
	// Output:
	// tensor([-0.5000,  2.0000, -1.5000])
	// tensor([0., 2., 0.])
	// [tensor([1])]
}

func ExampleEinsum() {
	a, b := torch.Arange(4).Reshape(2, 2), torch.Eye(2).To(torch.Int64)
	fmt.Println(torch.Einsum("ij,jk->ik", a, b).Equal(a)) // the product of matrices
	fmt.Println(torch.Einsum("ii->", a))                  // the trace
	// Output:
	// true
	// tensor(3)
}

func ExampleTensor_TopK() {
	scores := torch.FromSlice([]float32{0.1, 0.7, 0.2})
	values, classes := scores.TopK(2)
	fmt.Println(values, classes)
	// Output: tensor([0.7000, 0.2000]) tensor([1, 2])
}

func ExampleTensor_Unique() {
	o := torch.UniqueOptions{ReturnInverse: true, ReturnCounts: true}
	values, inverse, counts := torch.FromSlice([]int{7, 3, 7}).Unique(o)
	fmt.Println(values, inverse, counts)
	// Output: tensor([3, 7]) tensor([1, 0, 1]) tensor([1, 2])
}

func ExampleUnravelIndex() {
	x := torch.FromSlice([]int{1, 5, 2, 9, 0, 4}, 2, 3)
	at := torch.UnravelIndex(x.ArgMax(), x.Shape()...)
	fmt.Println(at[0].Int(), at[1].Int())
	// Output: 1 0
}

func ExampleBroadcastShapes() {
	fmt.Println(torch.BroadcastShapes([]int{2}, []int{3, 1}))
	// Output: [3 2]
}

func ExampleValue() {
	fmt.Println(torch.Value[float32](torch.Ones(4).Mean()))
	// Output: 1
}

func ExampleSetPrintOptions() {
	torch.SetPrintOptions(torch.PrintOptions{Precision: new(2), Threshold: 6, EdgeItems: new(2)})
	defer torch.SetPrintOptions(torch.PrintOptions{})
	fmt.Println(torch.Arange(9).DivScalar(7))
	// Output: tensor([0.00, 0.14,  ..., 1.00, 1.14])
}
