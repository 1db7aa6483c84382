package torch_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

func ExampleArange() {
	fmt.Println(torch.Arange(4))   // of integers: int64
	fmt.Println(torch.Arange(2.5)) // of floats: float32
	fmt.Println(torch.ArangeStep(10, 0, -3))
	// Output:
	// tensor([0, 1, 2, 3])
	// tensor([0., 1., 2.])
	// tensor([10,  7,  4,  1])
}

func ExampleLinspace() {
	x := torch.Linspace(0, 1, 5) // both ends belong to it
	fmt.Println(x)
	fmt.Println(torch.Logspace(0, 3, 4).Round()) // powers of 10
	// Output:
	// tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
	// tensor([   1.,   10.,  100., 1000.])
}

func ExampleFull() {
	fmt.Println(torch.Full([]int{2, 2}, 7))
	fmt.Println(torch.Full([]int{2}, 0.5))
	fmt.Println(torch.TensorOptions{DType: torch.Int32}.Full([]int{2}, 7).DType())
	// Output:
	// tensor([[7, 7],
	//         [7, 7]])
	// tensor([0.5000, 0.5000])
	// int32
}

// The rows of the unit matrix are the one-hot vectors of the classes.
func ExampleEye() {
	labels := torch.FromSlice([]int{2, 0})
	fmt.Println(torch.Eye(3).Index(labels))
	// Output:
	// tensor([[0., 0., 1.],
	//         [1., 0., 0.]])
}

func ExampleZerosLike() {
	weight := torch.Ones(2, 3).To(torch.Float64)
	momentum := torch.ZerosLike(weight) // same shape, dtype and device
	fmt.Println(momentum.Shape(), momentum.DType())
	fmt.Println(torch.ZerosLike(weight, torch.TensorOptions{DType: torch.Bool}).DType())
	// Output:
	// [2 3] float64
	// bool
}

// NewZeros and its kind take dtype and device from x, not the shape.
func ExampleTensor_NewZeros() {
	x := torch.Ones(4, 2).To(torch.Float16)
	hidden := x.NewZeros([]int{1, 3})
	fmt.Println(hidden)
	// Output: tensor([[0., 0., 0.]], dtype=torch.float16)
}

// The same seed gives the same numbers as in Python.
func ExampleManualSeed() {
	torch.ManualSeed(0)
	first := torch.RandN(2, 2)
	torch.ManualSeed(0)
	fmt.Println(first)
	fmt.Println(torch.RandN(2, 2).Equal(first))
	// Output:
	// tensor([[ 1.5410, -0.2934],
	//         [-2.1788,  0.5684]])
	// true
}

func ExampleRand() {
	torch.ManualSeed(1)
	noise := torch.Rand(1000).MulScalar(2).SubScalar(1) // evenly from -1 to 1
	fmt.Println(noise.Min().Float64() >= -1, noise.Max().Float64() < 1, noise.Mean().Abs().Float64() < 0.1)
	// Output: true true true
}

func ExampleRandInt() {
	torch.ManualSeed(3)
	dice := torch.RandInt(1, 7, []int{1000}) // 7 does not occur
	fmt.Println(dice.DType(), dice.Min().Int(), dice.Max().Int())
	// Output: int64 1 6
}

// A permutation shuffles inputs and labels alike.
func ExampleRandPerm() {
	torch.ManualSeed(0)
	x := torch.Arange(10).Reshape(5, 2)
	y := torch.Arange(5)
	order := torch.RandPerm(5)
	x, y = x.Index(order), y.Index(order)
	fmt.Println(x.Select(1, 0).DivScalarMode(2, "floor").Equal(y))
	// Output: true
}

// A generator of one's own is not disturbed by other code that draws numbers.
func ExampleNewGenerator() {
	g := torch.NewGenerator(torch.CPU).ManualSeed(42)
	defer g.Close()
	o := torch.TensorOptions{Generator: g}
	first := o.Rand(3)
	torch.Rand(100) // from the default generator
	g.ManualSeed(42)
	fmt.Println(o.Rand(3).Equal(first), g.InitialSeed())
	// Output: true 42
}

// The state goes into a checkpoint, so that a training goes on with the numbers it would have had.
func ExampleGenerator_SetState() {
	g := torch.DefaultGenerator(torch.CPU)
	torch.ManualSeed(5)
	torch.Rand(7)
	saved := g.State()
	want := torch.Rand(3)
	g.SetState(saved)
	fmt.Println(torch.Rand(3).Equal(want))
	// Output: true
}

func ExampleTensor_Multinomial() {
	torch.ManualSeed(0)
	weights := torch.FromSlice([]float32{0, 9, 1})
	draws := weights.Multinomial(1000, torch.MultinomialOptions{Replacement: true})
	counts := draws.BinCount(torch.BinCountOptions{MinLength: 3})
	fmt.Println(counts.Index(0).Int(), counts.Index(1).Int() > 800)
	// Output: 0 true
}

func ExampleTensor_Bernoulli() {
	torch.ManualSeed(0)
	keep := torch.Full([]int{10000}, 0.8).Bernoulli() // 1 with a probability of 0.8
	fmt.Printf("%.1f\n", keep.Mean().Float64())
	// Output: 0.8
}

// "ij" counts rows first, as matrices do; "xy" columns first, as images do.
func ExampleMeshgridIndexing() {
	grid := torch.MeshgridIndexing([]torch.Tensor{torch.Arange(2), torch.Arange(3)}, "ij")
	fmt.Println(grid[0])
	fmt.Println(grid[1])
	distance := grid[0].Square().Add(grid[1].Square()) // of each place from the corner
	fmt.Println(distance)
	// Output:
	// tensor([[0, 0, 0],
	//         [1, 1, 1]])
	// tensor([[0, 1, 2],
	//         [0, 1, 2]])
	// tensor([[0, 1, 4],
	//         [1, 2, 5]])
}

func ExampleCartesianProd() {
	rates := torch.FromSlice([]float64{0.1, 0.01})
	sizes := torch.FromSlice([]float64{32, 64})
	for _, setting := range torch.CartesianProd(rates, sizes).Rows() {
		fmt.Println(torch.Values[float64](setting))
	}
	// Output:
	// [0.1 32]
	// [0.1 64]
	// [0.01 32]
	// [0.01 64]
}

func ExampleCombinations() {
	fmt.Println(torch.Combinations(torch.FromSlice([]int{1, 2, 3})))
	// Output:
	// tensor([[1, 2],
	//         [1, 3],
	//         [2, 3]])
}

func ExampleComplex() {
	z := torch.Complex(torch.FromSlice([]float32{3, 0}), torch.FromSlice([]float32{4, -2}))
	fmt.Println(z)
	fmt.Println(z.Abs())
	fmt.Println(z.Conj().Imag())
	// Output:
	// tensor([3.+4.j, 0.-2.j])
	// tensor([5., 2.])
	// tensor([-4.,  2.])
}

// A meta tensor has a shape and a dtype, and no memory.
func ExampleTensorOptions_Empty() {
	huge := torch.TensorOptions{Device: torch.Meta, DType: torch.BFloat16}.Empty(1_000_000, 50_000)
	y := huge.MatMul(huge.T())
	fmt.Println(y.Shape(), y.Device())
	// Output: [1000000 1000000] meta
}

func ExampleTensor_Clone() {
	x := torch.Zeros(2)
	view, clone := x.View(2, 1), x.Clone()
	x.FillInPlace(7)
	fmt.Println(view.T(), clone)
	// Output: tensor([[7., 7.]]) tensor([0., 0.])
}
