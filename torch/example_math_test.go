package torch_test

import (
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/torch"
)

// Shapes that differ are broadcast: sizes of 1 stretch.
func ExampleTensor_Add() {
	column := torch.FromSlice([]int{0, 10, 20}, 3, 1)
	row := torch.FromSlice([]int{1, 2})
	fmt.Println(column.Add(row))
	fmt.Println(row.Add(row, torch.AddOptions{Alpha: 100})) // row + 100·row
	fmt.Println(row.AddScalar(0.5))                         // a number may change the kind
	// Output:
	// tensor([[ 1,  2],
	//         [11, 12],
	//         [21, 22]])
	// tensor([101, 202])
	// tensor([1.5000, 2.5000])
}

// In-place forms write into x and return it; nothing is allocated.
func ExampleTensor_AddInPlace() {
	total := torch.Zeros(2)
	for range 3 {
		total.AddInPlace(torch.FromSlice([]float32{1, 2})).MulScalarInPlace(2)
	}
	fmt.Println(total)

	err := torch.Try(func() { torch.Arange(2).AddInPlace(torch.Ones(2)) })
	fmt.Println(err != nil) // float32 does not fit into int64
	// Output:
	// tensor([14., 28.])
	// true
}

func ExampleTensor_DivMode() {
	x, y := torch.FromSlice([]int{7, -7}), torch.FromSlice([]int{2, 2})
	fmt.Println(x.Div(y)) // the quotient, a float
	fmt.Println(x.DivMode(y, "floor"), x.DivMode(y, "trunc"))
	fmt.Println(x.Remainder(y), x.FMod(y)) // what is left of them
	// Output:
	// tensor([ 3.5000, -3.5000])
	// tensor([ 3, -4]) tensor([ 3, -3])
	// tensor([1, 1]) tensor([ 1, -1])
}

// Products of matrices, of vectors, and of batches of them.
func ExampleTensor_MatMul() {
	batch, weight := torch.Ones(10, 2, 3), torch.Ones(3, 4)
	fmt.Println(batch.MatMul(weight).Shape())
	v := torch.FromSlice([]float32{1, 2, 3})
	fmt.Println(v.MatMul(v), torch.Ones(2, 3).MatMul(v))
	// Output:
	// [10 2 4]
	// tensor(14.) tensor([6., 6.])
}

func ExampleTensor_BMM() {
	query, key := torch.Ones(8, 5, 16), torch.Ones(8, 7, 16)
	scores := query.BMM(key.Transpose(1, 2)).DivScalar(math.Sqrt(16))
	fmt.Println(scores.Shape(), scores.Index(0, 0, 0))
	// Output: [8 5 7] tensor(4.)
}

// A whole linear layer in one operation.
func ExampleTensor_AddMM() {
	bias, x, w := torch.FromSlice([]float32{10, 20}), torch.Ones(1, 3), torch.Ones(3, 2)
	fmt.Println(bias.AddMM(x, w))
	fmt.Println(bias.AddMM(x, w, torch.AddMMOptions{Beta: 0.5, Alpha: 2}))
	// Output:
	// tensor([[13., 23.]])
	// tensor([[11., 16.]])
}

func ExampleTensor_Outer() {
	x := torch.FromSlice([]int{1, 2, 3})
	fmt.Println(x.Outer(x))
	fmt.Println(x.Dot(x))
	// Output:
	// tensor([[1, 2, 3],
	//         [2, 4, 6],
	//         [3, 6, 9]])
	// tensor(14)
}

func ExampleTensorDot() {
	image, filters := torch.Ones(3, 8, 8), torch.Ones(16, 3)
	fmt.Println(torch.TensorDot(filters, image, []int{1}, []int{0}).Shape())
	// Output: [16 8 8]
}

// Attention with several heads, without transposing anything by hand.
func ExampleEinsum_attention() {
	query, key := torch.Ones(2, 5, 4, 8), torch.Ones(2, 6, 4, 8) // batch, time, head, feature
	scores := torch.Einsum("bqhd,bkhd->bhqk", query, key)
	fmt.Println(scores.Shape())
	// Output: [2 4 5 6]
}

// All distances between two sets of points.
func ExampleCDist() {
	a := torch.FromSlice([]float32{0, 0, 3, 4}, 2, 2)
	b := torch.FromSlice([]float32{0, 0, 3, 0}, 2, 2)
	fmt.Println(torch.CDist(a, b))
	fmt.Println(torch.CDist(a, b, torch.CDistOptions{P: new(1.0)}))
	// Output:
	// tensor([[0., 3.],
	//         [5., 4.]])
	// tensor([[0., 3.],
	//         [7., 4.]])
}

func ExampleTensor_Clamp() {
	pixels := torch.FromSlice([]float32{-0.2, 0.5, 1.7})
	fmt.Println(pixels.Clamp(0, 1), pixels.ClampMin(0))
	// Output: tensor([0.0000, 0.5000, 1.0000]) tensor([0.0000, 0.5000, 1.7000])
}

func ExampleTensor_Softmax() {
	logits := torch.FromSlice([]float32{0, 0, 1000, 0}, 2, 2)
	fmt.Println(logits.Softmax(1))
	half := logits.To(torch.BFloat16)
	fmt.Println(half.Softmax(1, torch.SoftmaxOptions{DType: torch.Float32}).DType())
	// Output:
	// tensor([[0.5000, 0.5000],
	//         [1.0000, 0.0000]])
	// float32
}

// A moving average: average + 0.5·(value - average).
func ExampleTensor_LerpScalar() {
	average := torch.FromSlice([]float32{0, 10})
	for range 2 {
		average = average.LerpScalar(torch.FromSlice([]float32{100, 10}), 0.5)
	}
	fmt.Println(average)
	// Output: tensor([75., 10.])
}

// One step of Adam's arithmetic: x + value·a/b.
func ExampleTensor_AddCDiv() {
	x := torch.FromSlice([]float32{1, 1})
	mean, root := torch.FromSlice([]float32{2, 4}), torch.FromSlice([]float32{4, 4})
	fmt.Println(x.AddCDiv(mean, root, torch.AddCDivOptions{Value: -0.5}))
	// Output: tensor([0.7500, 0.5000])
}

func ExampleTensor_RoundDecimals() {
	x := torch.FromSlice([]float64{2.345, 0.5, 1.5})
	fmt.Println(x.RoundDecimals(1), x.Round()) // a half goes to the even neighbour
	// Output: tensor([2.3000, 0.5000, 1.5000], dtype=torch.float64) tensor([2., 0., 2.], dtype=torch.float64)
}

func ExampleTensor_LogicalAnd() {
	age := torch.FromSlice([]int{15, 30, 70})
	fmt.Println(age.GeScalar(18).LogicalAnd(age.LtScalar(65)))
	fmt.Println(age.GeScalar(18).LogicalNot())
	// Output:
	// tensor([False,  True, False])
	// tensor([ True, False, False])
}

func ExampleTensor_BitwiseAnd() {
	flags := torch.FromSlice([]uint8{0b1010, 0b0110})
	fmt.Println(flags.BitwiseAndScalar(0b0010), flags.BitwiseLeftShiftScalar(1))
	// Output: tensor([2, 2], dtype=torch.uint8) tensor([20, 12], dtype=torch.uint8)
}

func ExampleTensor_IsFinite() {
	x := torch.FromSlice([]float32{1, 0, -1}).Div(torch.Zeros(3))
	fmt.Println(x)
	fmt.Println(x.IsFinite(), x.IsNaN(), x.IsPosInf())
	// Output:
	// tensor([inf, nan, -inf])
	// tensor([False, False, False]) tensor([False,  True, False]) tensor([ True, False, False])
}

func ExampleTensor_Atan2() {
	y, x := torch.FromSlice([]float64{0, 1, 0}), torch.FromSlice([]float64{1, 0, -1})
	fmt.Println(y.Atan2(x).Rad2Deg().Round()) // angles of points
	fmt.Println(y.MulScalar(3).Hypot(x.MulScalar(4)))
	// Output:
	// tensor([  0.,  90., 180.], dtype=torch.float64)
	// tensor([4., 3., 4.], dtype=torch.float64)
}

func ExampleTensor_GCD() {
	x, y := torch.FromSlice([]int{12, 18}), torch.FromSlice([]int{8, 27})
	fmt.Println(x.GCD(y), x.LCM(y))
	// Output: tensor([4, 9]) tensor([24, 54])
}

func ExampleVander() {
	x := torch.FromSlice([]int{1, 2, 3})
	fmt.Println(torch.Vander(x, torch.VanderOptions{Increasing: true}))
	// Output:
	// tensor([[1, 1, 1],
	//         [1, 2, 4],
	//         [1, 3, 9]])
}

// A complex tensor and its pairs of real numbers are the same memory.
func ExampleViewAsReal() {
	z := torch.FromSlice([]complex64{1 + 2i, 3 - 4i})
	pairs := torch.ViewAsReal(z)
	pairs.At(0, 1).Set(100)
	fmt.Println(z, pairs.Shape())
	// Output: tensor([1.+100.j, 3.-4.j]) [2 2]
}

// The short-time Fourier transform and the signal back.
func ExampleTensor_STFT() {
	signal := torch.Arange(64).MulScalar(math.Pi / 4).Sin()
	window := torch.HannWindow(16)
	spectrum := signal.STFT(16, torch.STFTOptions{Window: window, ReturnComplex: new(true)})
	fmt.Println(spectrum.Shape(), spectrum.Abs().Mean(1).ArgMax()) // frequencies, frames; the loudest
	back := spectrum.ISTFT(16, torch.ISTFTOptions{Window: window, Length: new(64)})
	fmt.Println(back.AllClose(signal, torch.AllCloseOptions{ATol: new(1e-5)}))
	// Output:
	// [9 17] tensor(2)
	// true
}

func ExampleTensor_Tril() {
	fmt.Println(torch.Ones(3, 3).Tril())
	fmt.Println(torch.Ones(2, 3).Tril(1))
	// Output:
	// tensor([[1., 0., 0.],
	//         [1., 1., 0.],
	//         [1., 1., 1.]])
	// tensor([[1., 1., 0.],
	//         [1., 1., 1.]])
}
