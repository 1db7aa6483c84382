package torch_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// Coordinates and values; an element that is named twice is summed.
func ExampleSparseCOOTensorSize() {
	at := torch.FromSlice([]int{0, 1, 1, 2, 0, 0}, 2, 3) // rows, columns
	x := torch.SparseCOOTensorSize(at, torch.FromSlice([]float32{3, 4, 5}), []int{2, 3})
	fmt.Println(x.ToDense())
	c := x.Coalesce()
	fmt.Println(c.Indices(), c.Values())
	// Output:
	// tensor([[0., 0., 3.],
	//         [9., 0., 0.]])
	// tensor([[0, 1],
	//         [2, 0]]) tensor([3., 9.])
}

func ExampleTensor_ToSparseCSR() {
	x := torch.FromSlice([]float32{0, 2, 0, 3, 0, 4}, 2, 3).ToSparseCSR()
	fmt.Println(x.Layout())
	fmt.Println(x.CRowIndices(), x.ColIndices(), x.Values())
	fmt.Println(x.MatMul(torch.Ones(3, 1)))
	// Output:
	// sparse_csr
	// tensor([0, 1, 3]) tensor([1, 0, 2]) tensor([2., 3., 4.])
	// tensor([[2.],
	//         [7.]])
}

func ExampleTensor_ToSparse() {
	x := torch.Eye(1000).ToSparse()
	fmt.Println(x.Shape(), x.Values().NumEl(), x.SparseDim())
	// Output: [1000 1000] 1000 2
}
