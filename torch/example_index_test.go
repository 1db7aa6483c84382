package torch_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

func ExampleSlice() {
	x := torch.Arange(10)
	fmt.Println(x.Index(torch.Slice(3)))                   // x[:3]
	fmt.Println(x.Index(torch.Slice(7, torch.End)))        // x[7:]
	fmt.Println(x.Index(torch.Slice(-3, -1)))              // x[-3:-1]
	fmt.Println(x.Index(torch.Slice(0, torch.End, 4)))     // x[::4]
	fmt.Println(x.Slice(torch.SliceOptions{Step: new(5)})) // along one dimension, by options
	// Output:
	// tensor([0, 1, 2])
	// tensor([7, 8, 9])
	// tensor([7, 8])
	// tensor([0, 4, 8])
	// tensor([0, 5])
}

// A nil index is a new dimension, Ellipsis all those that are not named.
func ExampleTensor_Index_newDimension() {
	x := torch.Zeros(2, 3, 4)
	fmt.Println(x.Index(nil).Shape(), x.Index(torch.Ellipsis, nil).Shape(), x.Index(torch.Ellipsis, 0).Shape())
	// Output: [1 2 3 4] [2 3 4 1] [2 3]
}

// Lists of indices broadcast against each other: a column and a row choose a block.
func ExampleTensor_Index_lists() {
	x := torch.Arange(12).Reshape(3, 4)
	rows, columns := torch.FromSlice([]int{0, 2}, 2, 1), torch.FromSlice([]int{1, 3})
	fmt.Println(x.Index(rows, columns))
	fmt.Println(x.Index([]int{0, 2}, []int{1, 3})) // pairs
	// Output:
	// tensor([[ 1,  3],
	//         [ 9, 11]])
	// tensor([ 1, 11])
}

func ExampleTensor_Index_mask() {
	x := torch.FromSlice([]float32{1, -2, 3, -4})
	x.At(x.LtScalar(0)).Set(0)
	fmt.Println(x)
	fmt.Println(x.Index([]bool{true, false, true, false}))
	// Output:
	// tensor([1., 0., 3., 0.])
	// tensor([1., 3.])
}

func ExamplePlace_Set() {
	board := torch.TensorOptions{DType: torch.Int64}.Zeros(3, 3)
	board.At(0).Set(1)                                          // a row
	board.At(torch.All, 2).Set(torch.FromSlice([]int{7, 8, 9})) // a column
	board.At([]int{1, 2}, []int{0, 1}).Set(5)                   // two places
	fmt.Println(board)
	// Output:
	// tensor([[1, 1, 7],
	//         [5, 0, 8],
	//         [0, 5, 9]])
}

// Gather picks one element of each row: here the score of the right class.
func ExampleTensor_Gather() {
	scores := torch.FromSlice([]float32{0.1, 0.9, 0.8, 0.2}, 2, 2)
	labels := torch.FromSlice([]int{1, 0})
	fmt.Println(scores.Gather(1, labels.Unsqueeze(1)).Squeeze(1))
	// Output: tensor([0.9000, 0.8000])
}

// Scatter is the way back: one-hot rows.
func ExampleTensor_ScatterValue() {
	labels := torch.FromSlice([]int{2, 0})
	fmt.Println(torch.Zeros(2, 3).ScatterValue(1, labels.Unsqueeze(1), 1))
	// Output:
	// tensor([[0., 0., 1.],
	//         [1., 0., 0.]])
}

func ExampleTensor_ScatterReduce() {
	group := torch.FromSlice([]int{0, 1, 0, 1})
	values := torch.FromSlice([]float32{3, 5, 9, 2})
	o := torch.ScatterReduceOptions{ExcludeSelf: true}
	fmt.Println(torch.Zeros(2).ScatterReduce(0, group, values, "amax", o))
	fmt.Println(torch.Zeros(2).ScatterReduce(0, group, values, "mean", o))
	// Output:
	// tensor([9., 5.])
	// tensor([6.0000, 3.5000])
}

// Messages of the edges of a graph, summed at the nodes they point to.
func ExampleTensor_IndexAdd() {
	to := torch.FromSlice([]int{0, 2, 0})
	messages := torch.FromSlice([]float32{1, 1, 2, 2, 4, 4}, 3, 2)
	fmt.Println(torch.Zeros(3, 2).IndexAdd(0, to, messages))
	// Output:
	// tensor([[5., 5.],
	//         [0., 0.],
	//         [2., 2.]])
}

func ExampleTensor_IndexSelect() {
	table := torch.Arange(6).Reshape(3, 2)
	fmt.Println(table.IndexSelect(0, torch.FromSlice([]int{2, 2, 0})))
	// Output:
	// tensor([[4, 5],
	//         [4, 5],
	//         [0, 1]])
}

func ExampleTensor_TakeAlongDim() {
	scores := torch.FromSlice([]int{30, 10, 20, 5, 15, 25}, 2, 3)
	order := scores.ArgSort(torch.ArgSortOptions{Descending: true})
	fmt.Println(order)
	fmt.Println(scores.TakeAlongDim(order, 1))
	// Output:
	// tensor([[0, 2, 1],
	//         [2, 1, 0]])
	// tensor([[30, 20, 10],
	//         [25, 15,  5]])
}

func ExampleTensor_Sort() {
	values, order := torch.FromSlice([]int{3, 1, 2}).Sort()
	fmt.Println(values, order)
	names := []string{"c", "a", "b"}
	for _, i := range torch.Values[int](order) {
		fmt.Print(names[i], " ")
	}
	// Output:
	// tensor([1, 2, 3]) tensor([1, 2, 0])
	// a b c
}

// The mask of causal attention: no position looks at later ones.
func ExampleTensor_MaskedFill() {
	scores := torch.Zeros(3, 3)
	later := torch.Ones(3, 3).Triu(1).To(torch.Bool)
	fmt.Println(scores.MaskedFill(later, -1e9).Softmax(1))
	// Output:
	// tensor([[1.0000, 0.0000, 0.0000],
	//         [0.5000, 0.5000, 0.0000],
	//         [0.3333, 0.3333, 0.3333]])
}

func ExampleTensor_MaskedSelect() {
	losses := torch.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	real := torch.FromSlice([]bool{true, true, true, false}, 2, 2) // the last is padding
	fmt.Println(losses.MaskedSelect(real).Mean())
	// Output: tensor(2.)
}

func ExampleTensor_Nonzero() {
	x := torch.FromSlice([]int{0, 5, 0, 7}, 2, 2)
	for _, at := range torch.Matrix[int](x.Nonzero()) {
		fmt.Println("row", at[0], "column", at[1])
	}
	// Output:
	// row 0 column 1
	// row 1 column 1
}

func ExampleTensor_Where() {
	x := torch.FromSlice([]float32{1, -2, 3})
	fmt.Println(x.Where(x.GtScalar(0), torch.Zeros(1))) // x where it is positive, else 0
	// Output: tensor([1., 0., 3.])
}

func ExampleIsIn() {
	words := torch.FromSlice([]int{4, 8, 15, 16})
	stop := torch.FromSlice([]int{8, 16})
	fmt.Println(torch.IsIn(words, stop))
	fmt.Println(words.Index(torch.IsIn(words, stop, torch.IsInOptions{Invert: true})))
	// Output:
	// tensor([False,  True, False,  True])
	// tensor([ 4, 15])
}

func ExampleTrilIndices() {
	x := torch.FromSlice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3)
	at := torch.TrilIndices(3, 3)
	fmt.Println(x.Index(at.Select(0, 0), at.Select(0, 1)))
	// Output: tensor([1, 4, 5, 7, 8, 9])
}
