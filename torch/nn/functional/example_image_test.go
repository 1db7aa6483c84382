package functional_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// A filter of one's own: differences between neighbours.
func ExampleConv2d() {
	image := torch.FromSlice([]float32{0, 0, 1, 1, 0, 0, 1, 1}, 1, 1, 2, 4)
	edge := torch.FromSlice([]float32{-1, 1}, 1, 1, 1, 2)
	fmt.Println(F.Conv2d(image, edge, torch.Tensor{}).View(2, 3)) // without bias
	// Output:
	// tensor([[0., 1., 0.],
	//         [0., 1., 0.]])
}

func ExampleConv1d() {
	signal := torch.FromSlice([]float32{1, 2, 3, 4}, 1, 1, 4)
	mean := torch.Full([]int{1, 1, 3}, 1.0/3)
	fmt.Println(F.Conv1d(signal, mean, torch.Tensor{}, F.ConvOptions{Padding: "same"}).Round())
	// Output: tensor([[[1., 2., 3., 2.]]])
}

func ExampleMaxPool2d() {
	image := torch.Arange(16).To(torch.Float32).View(1, 1, 4, 4)
	fmt.Println(F.MaxPool2d(image, 2).View(2, 2))
	fmt.Println(F.MaxPool2d(image, 3, F.MaxPoolOptions{Stride: 1}).View(2, 2)) // overlapping windows
	// Output:
	// tensor([[ 5.,  7.],
	//         [13., 15.]])
	// tensor([[10., 11.],
	//         [14., 15.]])
}

func ExampleAdaptiveAvgPool2d() {
	image := torch.Arange(16).To(torch.Float32).View(1, 1, 4, 4)
	fmt.Println(F.AdaptiveAvgPool2d(image, 1).Float64())
	// Output: 7.5
}

func ExampleInterpolate() {
	image := torch.FromSlice([]float32{1, 2, 3, 4}, 1, 1, 2, 2)
	fmt.Println(F.Interpolate(image, F.InterpolateOptions{ScaleFactor: 2}).View(4, 4))
	small := F.Interpolate(torch.Zeros(1, 3, 480, 640), F.InterpolateOptions{
		Size: []int{224, 224}, Mode: "bilinear", Antialias: true,
	})
	fmt.Println(small.Shape())
	// Output:
	// tensor([[1., 1., 2., 2.],
	//         [1., 1., 2., 2.],
	//         [3., 3., 4., 4.],
	//         [3., 3., 4., 4.]])
	// [1 3 224 224]
}

// The sizes come in pairs, the last dimension first.
func ExamplePad() {
	x := torch.FromSlice([]float32{1, 2, 3}, 1, 3)
	fmt.Println(F.Pad(x, []int{1, 2}))
	fmt.Println(F.Pad(x, []int{1, 1}, F.PadOptions{Mode: "reflect"}))
	fmt.Println(F.Pad(x, []int{0, 0, 1, 0}, F.PadOptions{Value: 9}))
	// Output:
	// tensor([[0., 1., 2., 3., 0., 0.]])
	// tensor([[2., 1., 2., 3., 2.]])
	// tensor([[9., 9., 9.],
	//         [1., 2., 3.]])
}

// Sixteen patches of an image, each a column.
func ExampleUnfold() {
	image := torch.Zeros(1, 3, 32, 32)
	fmt.Println(F.Unfold(image, 8, F.UnfoldOptions{Stride: 8}).Shape())
	// Output: [1 192 16]
}

func ExamplePixelShuffle() {
	fmt.Println(F.PixelShuffle(torch.Zeros(1, 12, 8, 8), 2).Shape())
	// Output: [1 3 16 16]
}

// An image mirrored by an affine map, with gradients of the map if they are wanted.
func ExampleGridSample() {
	image := torch.FromSlice([]float32{1, 2, 3, 4}, 1, 1, 2, 2)
	mirror := torch.FromSlice([]float32{-1, 0, 0, 0, 1, 0}, 1, 2, 3)
	grid := F.AffineGrid(mirror, image.Shape())
	fmt.Println(F.GridSample(image, grid).View(2, 2))
	// Output:
	// tensor([[2., 1.],
	//         [4., 3.]])
}

func ExampleOneHot() {
	fmt.Println(F.OneHot(torch.FromSlice([]int{2, 0}), 3))
	// Output:
	// tensor([[0, 0, 1],
	//         [1, 0, 0]])
}

func ExampleEmbedding() {
	table := torch.Arange(6).To(torch.Float32).Reshape(3, 2)
	fmt.Println(F.Embedding(torch.FromSlice([]int{2, 0}), table))
	// Output:
	// tensor([[4., 5.],
	//         [0., 1.]])
}

// Flash attention where the machine has it: no matrix of scores is kept.
func ExampleScaledDotProductAttention() {
	query := torch.Ones(1, 2, 5, 8) // batch, heads, time, features
	values := torch.Arange(5).To(torch.Float32).View(1, 1, 5, 1).Expand(1, 2, 5, 8)
	o := F.ScaledDotProductAttentionOptions{IsCausal: true}
	y := F.ScaledDotProductAttention(query, query, values, o)
	fmt.Println(y.Select(1, 0).Select(2, 0)) // the mean of what came before
	// Output: tensor([[0.0000, 0.5000, 1.0000, 1.5000, 2.0000]])
}

func ExampleNormalize() {
	x := torch.FromSlice([]float32{3, 4, 0, 2}, 2, 2)
	fmt.Println(F.Normalize(x)) // rows of length 1
	// Output:
	// tensor([[0.6000, 0.8000],
	//         [0.0000, 1.0000]])
}

func ExampleCosineSimilarity() {
	a, b := torch.FromSlice([]float32{1, 0, 1, 0}, 2, 2), torch.FromSlice([]float32{0, 2, 5, 0}, 2, 2)
	fmt.Println(F.CosineSimilarity(a, b))
	// Output: tensor([0., 1.])
}

func ExampleLayerNorm() {
	x := torch.FromSlice([]float64{1, 3, 10, 30}, 2, 2)
	fmt.Println(F.LayerNorm(x, []int{2}, F.LayerNormOptions{Eps: new(0.0)}).Round())
	// Output:
	// tensor([[-1.,  1.],
	//         [-1.,  1.]], dtype=torch.float64)
}

// In evaluation dropout does nothing; in training the rest is scaled up.
func ExampleDropout() {
	torch.ManualSeed(0)
	x := torch.Ones(10000)
	y := F.Dropout(x, 0.25, true)
	fmt.Printf("%.1f\n", y.Mean().Float64())
	fmt.Println(F.Dropout(x, 0.25, false).Equal(x))
	// Output:
	// 1.0
	// true
}

func ExampleGELU() {
	x := torch.FromSlice([]float32{-1, 0, 2})
	fmt.Println(F.GELU(x))
	fmt.Println(F.LeakyReLU(x), F.Hardtanh(x))
	// Output:
	// tensor([-0.1587,  0.0000,  1.9545])
	// tensor([-0.0100,  0.0000,  2.0000]) tensor([-1.,  0.,  1.])
}

// A choice that gradients pass through.
func ExampleGumbelSoftmax() {
	torch.ManualSeed(0)
	logits := torch.FromSlice([]float32{1, 2, 100}).SetRequiresGrad(true)
	choice := F.GumbelSoftmax(logits, F.GumbelSoftmaxOptions{Hard: true})
	fmt.Println(choice.Detach(), choice.RequiresGrad())
	// Output: tensor([0., 0., 1.]) true
}

func ExampleGLU() {
	fmt.Println(F.GLU(torch.FromSlice([]float32{3, 5, 0, 100})))
	// Output: tensor([1.5000, 5.0000])
}
