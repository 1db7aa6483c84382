package torch_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

func ExampleTensor_Sum() {
	x := torch.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	fmt.Println(x.Sum())      // of all
	fmt.Println(x.Sum(0))     // over the rows
	fmt.Println(x.Sum(-1))    // over the last dimension
	fmt.Println(x.Sum(0, -1)) // over both
	// Output:
	// tensor(21.)
	// tensor([5., 7., 9.])
	// tensor([ 6., 15.])
	// tensor(21.)
}

// With KeepDim the result broadcasts against x.
func ExampleTensor_SumDim() {
	counts := torch.FromSlice([]float32{1, 3, 2, 2}, 2, 2)
	shares := counts.Div(counts.SumDim([]int{1}, torch.SumOptions{KeepDim: true}))
	fmt.Println(shares)

	flags := torch.FromSlice([]uint8{200, 100})
	fmt.Println(flags.SumDim(nil, torch.SumOptions{DType: torch.Float32}))
	// Output:
	// tensor([[0.2500, 0.7500],
	//         [0.5000, 0.5000]])
	// tensor(300.)
}

func ExampleTensor_Mean() {
	images := torch.Arange(24).To(torch.Float32).Reshape(2, 3, 2, 2)
	fmt.Println(images.Mean(0, 2, 3)) // one for each channel
	// Output: tensor([ 7.5000, 11.5000, 15.5000])
}

// Columns with mean 0 and standard deviation 1.
func ExampleTensor_StdDim() {
	x := torch.FromSlice([]float32{1, 10, 2, 20, 3, 30}, 3, 2)
	mean := x.MeanDim([]int{0}, torch.MeanOptions{KeepDim: true})
	std := x.StdDim([]int{0}, torch.StdOptions{KeepDim: true})
	fmt.Println(x.Sub(mean).Div(std))
	// Output:
	// tensor([[-1., -1.],
	//         [ 0.,  0.],
	//         [ 1.,  1.]])
}

// The divisor is n-1; with a Correction of 0 it is n.
func ExampleTensor_VarDim() {
	x := torch.FromSlice([]float32{1, 2, 3, 4})
	fmt.Println(x.Var())
	fmt.Println(x.VarDim(nil, torch.VarOptions{Correction: 0}))
	// Output:
	// tensor(1.6667)
	// tensor(1.2500)
}

func ExampleStdMean() {
	std, mean := torch.StdMean(torch.FromSlice([]float32{2, 4, 6}))
	fmt.Println(std, mean)
	// Output: tensor(2.) tensor(4.)
}

func ExampleTensor_Max() {
	x := torch.FromSlice([]float32{3, 9, 4})
	fmt.Println(x.Max(), x.Min())
	fmt.Println(x.Maximum(torch.FromSlice([]float32{5, 5, 5}))) // element by element
	// Output:
	// tensor(9.) tensor(3.)
	// tensor([5., 9., 5.])
}

func ExampleTensor_MaxDim() {
	scores := torch.FromSlice([]float32{0.2, 0.7, 0.1, 0.6, 0.3, 0.1}, 2, 3)
	best, class := scores.MaxDim(1)
	fmt.Println(best, class)
	// Output: tensor([0.7000, 0.6000]) tensor([1, 0])
}

func ExampleTensor_ArgMax() {
	scores := torch.FromSlice([]float32{0.2, 0.7, 0.1, 0.6, 0.3, 0.1}, 2, 3)
	labels := torch.FromSlice([]int{1, 2})
	right := scores.ArgMax(1).Eq(labels)
	fmt.Println(right, right.To(torch.Float32).Mean().Float64()) // the accuracy
	// Output: tensor([ True, False]) 0.5
}

func ExampleTensor_AMax() {
	x := torch.FromSlice([]float32{1, -7, 3, 2}, 2, 2)
	fmt.Println(x.AMax(1), x.Abs().AMax(0, 1))
	low, high := x.AMinMax(0)
	fmt.Println(low, high)
	// Output:
	// tensor([1., 3.]) tensor(7.)
	// tensor([ 1., -7.]) tensor([3., 2.])
}

func ExampleTensor_All() {
	x := torch.FromSlice([]float32{1, 2, 3, -4}, 2, 2)
	positive := x.GtScalar(0)
	fmt.Println(positive.All(), positive.All(1), positive.Any(1))
	if !positive.All().IsNonzero() {
		fmt.Println("some are not positive")
	}
	// Output:
	// tensor(False) tensor([ True, False]) tensor([True, True])
	// some are not positive
}

func ExampleTensor_CountNonzero() {
	x := torch.FromSlice([]int{0, 1, 2, 0, 0, 3}, 2, 3)
	fmt.Println(x.CountNonzero(), x.CountNonzero(1))
	// Output: tensor(3) tensor([2, 1])
}

func ExampleTensor_CumSum() {
	lengths := torch.FromSlice([]int{3, 1, 2})
	fmt.Println(lengths.CumSum(0)) // where each sequence ends
	// Output: tensor([3, 4, 6])
}

func ExampleTensor_CumMax() {
	prices := torch.FromSlice([]float32{3, 5, 4, 8, 6})
	highest, at := prices.CumMax(0)
	fmt.Println(highest)
	fmt.Println(at)
	fmt.Println(prices.Sub(highest).Min()) // the largest fall from a peak
	// Output:
	// tensor([3., 5., 5., 8., 8.])
	// tensor([0, 1, 1, 3, 3])
	// tensor(-2.)
}

// Of an even number of elements it is the lower one of the middle, as in PyTorch.
func ExampleTensor_Median() {
	x := torch.FromSlice([]float32{1, 9, 2, 3})
	fmt.Println(x.Median(), x.QuantileScalar(0.5))
	// Output: tensor(2.) tensor(2.5000)
}

func ExampleTensor_Quantile() {
	latencies := torch.Arange(101).To(torch.Float32)
	fmt.Println(latencies.Quantile(torch.FromSlice([]float32{0.5, 0.99})))
	o := torch.QuantileOptions{Interpolation: "lower"}
	fmt.Println(torch.FromSlice([]float32{1, 2}).QuantileScalar(0.75, o))
	// Output:
	// tensor([50., 99.])
	// tensor(1.)
}

func ExampleTensor_KthValue() {
	value, at := torch.FromSlice([]int{40, 10, 30, 20}).KthValue(2) // the second smallest
	fmt.Println(value, at)
	// Output: tensor(20) tensor(3)
}

func ExampleTensor_Mode() {
	votes := torch.FromSlice([]int{2, 0, 2, 1, 2})
	winner, _ := votes.Mode()
	fmt.Println(winner)
	// Output: tensor(2)
}

// The logarithm of a sum of exponentials, without overflow.
func ExampleTensor_LogSumExp() {
	x := torch.FromSlice([]float32{1000, 1000})
	fmt.Println(x.Exp().Sum().Log(), x.LogSumExp(0))
	// Output: tensor(inf) tensor(1000.6932)
}

func ExampleTensor_NormDim() {
	x := torch.FromSlice([]float32{3, 4, 6, 8}, 2, 2)
	lengths := x.NormDim(2, []int{1}, torch.NormDimOptions{KeepDim: true})
	fmt.Println(x.Div(lengths)) // rows of length 1
	// Output:
	// tensor([[0.6000, 0.8000],
	//         [0.6000, 0.8000]])
}

func ExampleTensor_Prod() {
	shape := torch.FromSlice([]int{2, 3, 4})
	fmt.Println(shape.Prod(), shape.Reshape(3, 1).Prod(0))
	// Output: tensor(24) tensor([24])
}

// Missing values are left out.
func ExampleTensor_NaNMean() {
	x := torch.FromSlice([]float32{1, 0, 3})
	x = x.Div(x) // 0/0 is no number
	fmt.Println(x, x.Mean(), x.NaNMean())
	fmt.Println(x.NaNToNum(torch.NaNToNumOptions{NaN: new(-1.0)}))
	// Output:
	// tensor([1., nan, 1.]) tensor(nan) tensor(1.)
	// tensor([ 1., -1.,  1.])
}

func ExampleTensor_Histc() {
	ages := torch.FromSlice([]float32{5, 12, 18, 33, 47, 47})
	fmt.Println(ages.Histc(torch.HistcOptions{Bins: new(5), Min: 0, Max: 50}))
	// Output: tensor([1., 2., 0., 1., 2.])
}

func ExampleTensor_Histogram() {
	x := torch.FromSlice([]float32{0, 1, 1, 3})
	counts, edges := x.Histogram(torch.HistogramOptions{Bins: new(3)})
	fmt.Println(counts, edges)
	// Output: tensor([1., 2., 1.]) tensor([0., 1., 2., 3.])
}

func ExampleTensor_BinCount() {
	labels := torch.FromSlice([]int{1, 3, 1})
	fmt.Println(labels.BinCount(torch.BinCountOptions{MinLength: 5}))
	prices := torch.FromSlice([]float64{2, 10, 3})
	fmt.Println(labels.BinCount(torch.BinCountOptions{Weights: prices}))
	// Output:
	// tensor([0, 2, 0, 1, 0])
	// tensor([ 0.,  5.,  0., 10.], dtype=torch.float64)
}

// Run lengths.
func ExampleUniqueConsecutive() {
	x := torch.FromSlice([]int{1, 1, 2, 2, 2, 1})
	values, _, counts := torch.UniqueConsecutive(x, torch.UniqueConsecutiveOptions{ReturnCounts: true})
	fmt.Println(values, counts)
	// Output: tensor([1, 2, 1]) tensor([2, 3, 1])
}

func ExampleTensor_CorrCoef() {
	x := torch.FromSlice([]float64{1, 2, 3, 6, 4, 2}, 2, 3) // each row a variable
	fmt.Println(x.Cov())
	fmt.Println(x.CorrCoef())
	// Output:
	// tensor([[ 1., -2.],
	//         [-2.,  4.]], dtype=torch.float64)
	// tensor([[ 1., -1.],
	//         [-1.,  1.]], dtype=torch.float64)
}

func ExampleTensor_Diff() {
	at := torch.FromSlice([]int{0, 3, 4, 9})
	fmt.Println(at.Diff(), at.Diff(torch.DiffOptions{N: new(2)}))
	// Output: tensor([3, 1, 5]) tensor([-2,  4])
}

func ExampleTrapezoidX() {
	x := torch.FromSlice([]float64{0, 1, 3})
	y := x.MulScalar(2)
	fmt.Println(torch.TrapezoidX(y, x))
	fmt.Println(torch.CumulativeTrapezoidX(y, x))
	// Output:
	// tensor(9., dtype=torch.float64)
	// tensor([1., 9.], dtype=torch.float64)
}

func ExampleGradient() {
	height := torch.FromSlice([]float64{0, 1, 4, 9, 16})
	fmt.Println(torch.Gradient(height, torch.GradientOptions{Spacing: 0.5})[0])
	// Output: tensor([ 2.,  4.,  8., 12., 14.], dtype=torch.float64)
}

func ExampleBucketize() {
	ages := torch.FromSlice([]int{3, 18, 64, 90})
	fmt.Println(torch.Bucketize(ages, torch.FromSlice([]int{18, 65})))
	fmt.Println(torch.Bucketize(ages, torch.FromSlice([]int{18, 65}), torch.BucketizeOptions{Right: true}))
	// Output:
	// tensor([0, 0, 1, 2])
	// tensor([0, 1, 1, 2])
}

func ExampleSearchSorted() {
	offsets := torch.FromSlice([]int{0, 100, 250, 400})
	fmt.Println(torch.SearchSorted(offsets, torch.FromSlice([]int{99, 100, 399}), torch.SearchSortedOptions{Right: true}))
	// Output: tensor([1, 2, 3])
}

func ExampleSegmentReduce() {
	words := torch.FromSlice([]float32{1, 2, 3, 4, 5})
	lengths := torch.FromSlice([]int{2, 3}) // of two sentences
	fmt.Println(torch.SegmentReduce(words, "mean", torch.SegmentReduceOptions{Lengths: lengths}))
	// Output: tensor([1.5000, 4.0000])
}
