package torch_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

func ExampleTensor_Reshape() {
	images := torch.Zeros(32, 3, 8, 8)
	fmt.Println(images.Reshape(32, -1).Shape()) // a size of -1 is worked out
	// Output: [32 192]
}

// A view shares the memory; where the strides do not allow one, Reshape copies.
func ExampleTensor_View() {
	x := torch.Arange(6)
	x.View(2, 3).At(0, 0).Set(100)
	fmt.Println(x)

	err := torch.Try(func() { x.View(2, 3).T().View(6) })
	fmt.Println(err != nil, x.View(2, 3).T().Reshape(6))
	// Output:
	// tensor([100,   1,   2,   3,   4,   5])
	// true tensor([100,   3,   1,   4,   2,   5])
}

func ExampleTensor_Permute() {
	image := torch.Zeros(480, 640, 3) // height, width, channels, as a decoder writes it
	fmt.Println(image.Permute(2, 0, 1).Shape())
	// Output: [3 480 640]
}

func ExampleTensor_Transpose() {
	heads := torch.Zeros(2, 10, 4, 16)                       // batch, time, head, feature
	fmt.Println(heads.Transpose(1, 2).Shape())               // batch, head, time, feature
	fmt.Println(heads.Transpose(-2, -1).IsContiguous())      // only the strides change
	fmt.Println(heads.Transpose(1, 2).Contiguous().Stride()) // a copy in the new order
	// Output:
	// [2 4 10 16]
	// false
	// [640 160 16 1]
}

func ExampleTensor_Squeeze() {
	x := torch.Zeros(1, 3, 1, 2)
	fmt.Println(x.Squeeze().Shape(), x.Squeeze(0).Shape(), x.Squeeze(1).Shape())
	// Output: [3 2] [3 1 2] [1 3 1 2]
}

func ExampleTensor_Unsqueeze() {
	a, b := torch.FromSlice([]float32{0, 3}), torch.FromSlice([]float32{1, 2, 4})
	fmt.Println(a.Unsqueeze(1).Sub(b.Unsqueeze(0)).Abs()) // the distance of each from each
	// Output:
	// tensor([[1., 2., 4.],
	//         [2., 1., 1.]])
}

// Expand repeats without a copy: all rows are the same memory.
func ExampleTensor_Expand() {
	bias := torch.FromSlice([]float32{1, 2})
	rows := bias.Expand(3, -1) // -1 keeps the size
	fmt.Println(rows, rows.Stride(), rows.Storage().Bytes)
	// Output:
	// tensor([[1., 2.],
	//         [1., 2.],
	//         [1., 2.]]) [0 1] 8
}

func ExampleTensor_Repeat() {
	x := torch.FromSlice([]int{1, 2})
	fmt.Println(x.Repeat(2, 2))
	fmt.Println(x.RepeatInterleave(2))
	// Output:
	// tensor([[1, 2, 1, 2],
	//         [1, 2, 1, 2]])
	// tensor([1, 1, 2, 2])
}

func ExampleTensor_Flatten() {
	features := torch.Zeros(4, 16, 5, 5)
	fmt.Println(features.Flatten(1).Shape(), features.Flatten().Shape())
	// Output: [4 400] [1600]
}

func ExampleTensor_Unflatten() {
	x := torch.Zeros(2, 12)
	fmt.Println(x.Unflatten(1, 3, 4).Shape(), x.Unflatten(-1, 2, -1).Shape())
	// Output: [2 3 4] [2 2 6]
}

func ExampleCat() {
	known, fresh := torch.Ones(2, 3), torch.Zeros(1, 3)
	fmt.Println(torch.Cat([]torch.Tensor{known, fresh}))
	fmt.Println(torch.Cat([]torch.Tensor{known, known}, 1).Shape())
	// Output:
	// tensor([[1., 1., 1.],
	//         [1., 1., 1.],
	//         [0., 0., 0.]])
	// [2 6]
}

// Stack joins along a new dimension: samples become a batch.
func ExampleStack() {
	samples := []torch.Tensor{torch.FromSlice([]int{1, 2}), torch.FromSlice([]int{3, 4})}
	fmt.Println(torch.Stack(samples))
	fmt.Println(torch.Stack(samples, 1))
	// Output:
	// tensor([[1, 2],
	//         [3, 4]])
	// tensor([[1, 3],
	//         [2, 4]])
}

func ExampleTensor_Chunk() {
	x := torch.Arange(7)
	for _, part := range x.Chunk(3) {
		fmt.Println(part)
	}
	// Output:
	// tensor([0, 1, 2])
	// tensor([3, 4, 5])
	// tensor([6])
}

// Split takes the size of the parts, Chunk their number.
func ExampleTensor_Split() {
	for _, part := range torch.Arange(7).Split(3) {
		fmt.Println(part)
	}
	// Output:
	// tensor([0, 1, 2])
	// tensor([3, 4, 5])
	// tensor([6])
}

func ExampleTensor_SplitSizes() {
	qkv := torch.Arange(12).Reshape(2, 6)
	parts := qkv.SplitSizes([]int{1, 2, 3}, 1)
	fmt.Println(parts[0].T(), parts[2])
	// Output:
	// tensor([[0, 6]]) tensor([[ 3,  4,  5],
	//         [ 9, 10, 11]])
}

func ExampleTensor_Unbind() {
	points := torch.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	xy := points.Unbind(1)
	fmt.Println(xy[0], xy[1])
	// Output: tensor([1., 3., 5.]) tensor([2., 4., 6.])
}

func ExampleTensor_MoveDim() {
	video := torch.Zeros(16, 3, 64, 64) // time, channels, height, width
	fmt.Println(video.MoveDim(1, -1).Shape())
	// Output: [16 64 64 3]
}

func ExampleTensor_Flip() {
	image := torch.Arange(6).Reshape(2, 3)
	fmt.Println(image.Flip(-1)) // mirrored
	// Output:
	// tensor([[2, 1, 0],
	//         [5, 4, 3]])
}

func ExampleTensor_Roll() {
	x := torch.Arange(5)
	fmt.Println(x.Roll([]int{1}), x.Roll([]int{-2}))
	// Output: tensor([4, 0, 1, 2, 3]) tensor([2, 3, 4, 0, 1])
}

func ExampleTensor_Rot90() {
	x := torch.Arange(4).Reshape(2, 2)
	fmt.Println(x.Rot90())
	fmt.Println(x.Rot90(torch.Rot90Options{K: new(2)}))
	// Output:
	// tensor([[1, 3],
	//         [0, 2]])
	// tensor([[3, 2],
	//         [1, 0]])
}

// Narrow is a view of some places of a dimension.
func ExampleTensor_Narrow() {
	series := torch.Arange(10)
	last := series.Narrow(0, 7, 3)
	last.FillInPlace(0)
	fmt.Println(series)
	// Output: tensor([0, 1, 2, 3, 4, 5, 6, 0, 0, 0])
}

// Windows of a series, without a copy.
func ExampleTensor_Unfold() {
	series := torch.FromSlice([]float32{1, 3, 5, 3, 1})
	windows := series.Unfold(0, 3, 1)
	fmt.Println(windows)
	fmt.Println(windows.Mean(1)) // the moving average
	// Output:
	// tensor([[1., 3., 5.],
	//         [3., 5., 3.],
	//         [5., 3., 1.]])
	// tensor([3.0000, 3.6667, 3.0000])
}

func ExampleTensor_Diagonal() {
	confusion := torch.FromSlice([]int{8, 2, 1, 9}, 2, 2)
	fmt.Println(confusion.Diagonal(), confusion.Trace())
	fmt.Println(torch.FromSlice([]int{5, 6}).Diag()) // the other way round
	// Output:
	// tensor([8, 9]) tensor(17)
	// tensor([[5, 0],
	//         [0, 6]])
}

func ExampleHStack() {
	a, b := torch.FromSlice([]int{1, 2}), torch.FromSlice([]int{3, 4})
	fmt.Println(torch.HStack(a, b))
	fmt.Println(torch.VStack(a, b))
	fmt.Println(torch.ColumnStack(a, b))
	// Output:
	// tensor([1, 2, 3, 4])
	// tensor([[1, 2],
	//         [3, 4]])
	// tensor([[1, 3],
	//         [2, 4]])
}

func ExampleBlockDiag() {
	fmt.Println(torch.BlockDiag(torch.Ones(1, 1), torch.Full([]int{2, 2}, 2.0)))
	// Output:
	// tensor([[1., 0., 0.],
	//         [0., 2., 2.],
	//         [0., 2., 2.]])
}

// In channels_last the channels of a pixel lie side by side, as convolutions like it.
func ExampleTensor_IsContiguous() {
	x := torch.Zeros(2, 3, 4, 4)
	y := x.To(torch.ChannelsLast)
	fmt.Println(x.Stride(), x.IsContiguous())
	fmt.Println(y.Stride(), y.IsContiguous(), y.IsContiguous(torch.ChannelsLast))
	// Output:
	// [48 16 4 1] true
	// [48 1 12 3] false true
}

func ExampleTensor_Storage() {
	x := torch.Arange(6)
	row := x.View(2, 3).Select(0, 1)
	fmt.Println(row.Storage().ID == x.Storage().ID, row.StorageOffset(), row.Storage().Bytes)
	// Output: true 3 48
}

func ExampleTensor_Size() {
	x := torch.Zeros(8, 3, 32, 32)
	fmt.Println(x.Size(0), x.Size(-1), x.Dim(), x.NumEl())
	// Output: 8 32 4 24576
}

func ExampleTensor_T() {
	x := torch.Arange(6).Reshape(2, 3)
	fmt.Println(x.T())
	fmt.Println(torch.Zeros(5, 2, 3).MT().Shape()) // of every matrix of a batch
	// Output:
	// tensor([[0, 3],
	//         [1, 4],
	//         [2, 5]])
	// [5 3 2]
}

// What a change in place would reach as well.
func ExampleTensor_IsView() {
	x := torch.Arange(6)
	fmt.Println(x.View(2, 3).IsView(), x.View(2, 3).Base().Shape(), x.Clone().IsView())
	// Output: true [6] false
}
