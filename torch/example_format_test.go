package torch_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// Large tensors are summarised; a mark says where elements are left out.
func ExampleTensor_String() {
	fmt.Println(torch.Arange(2000).Reshape(100, 20))
	// Output:
	// tensor([[   0,    1,    2,  ...,   17,   18,   19],
	//         [  20,   21,   22,  ...,   37,   38,   39],
	//         [  40,   41,   42,  ...,   57,   58,   59],
	//         ...,
	//         [1940, 1941, 1942,  ..., 1957, 1958, 1959],
	//         [1960, 1961, 1962,  ..., 1977, 1978, 1979],
	//         [1980, 1981, 1982,  ..., 1997, 1998, 1999]])
}

// The options of one print, where SetPrintOptions is for the whole program.
func ExamplePrintOptions_Sprint() {
	x := torch.FromSlice([]float32{1.0 / 3, 1000})
	fmt.Println(torch.PrintOptions{}.Sprint(x))
	fmt.Println(torch.PrintOptions{SciMode: new(false), Precision: new(1)}.Sprint(x))
	fmt.Println(torch.PrintOptions{SciMode: new(true), Precision: new(2)}.Sprint(x))
	// Output:
	// tensor([3.3333e-01, 1.0000e+03])
	// tensor([   0.3, 1000.0])
	// tensor([3.33e-01, 1.00e+03])
}

func ExamplePrintOptions() {
	x := torch.Arange(12)
	fmt.Println(torch.PrintOptions{LineWidth: 30}.Sprint(x))
	fmt.Println(torch.PrintOptions{Threshold: 5, EdgeItems: new(1)}.Sprint(x))
	// Output:
	// tensor([ 0,  1,  2,  3,  4,
	//          5,  6,  7,  8,  9,
	//         10, 11])
	// tensor([ 0,  ..., 11])
}

// What is special about a tensor stands behind its elements.
func ExampleTensor_DType() {
	fmt.Println(torch.FromSlice([]int32{1, 2}))
	fmt.Println(torch.Ones(2).SetRequiresGrad(true))
	fmt.Println(torch.TensorOptions{Device: torch.Meta}.Zeros(2))
	fmt.Println(torch.Zeros(0, 3))
	// Output:
	// tensor([1, 2], dtype=torch.int32)
	// tensor([1., 1.], requires_grad=True)
	// tensor(..., device='meta', size=(2,))
	// tensor([], size=(0, 3))
}

// A tensor without dimensions is formatted as its number: no need to fetch it for a line of a log.
func ExampleTensor_Format_number() {
	loss := torch.FromValue(0.123456)
	fmt.Printf("loss %.4f\n", loss)
	fmt.Printf("%8.2f|\n", loss)
	// Output:
	// loss 0.1235
	//     0.12|
}
