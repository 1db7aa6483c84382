package functional_test

import (
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// Targets are classes, or probabilities of all classes.
func ExampleCrossEntropy() {
	scores := torch.Zeros(2, 4) // all classes alike: ln 4
	classes := torch.FromSlice([]int{1, 3})
	fmt.Printf("%.4f\n", F.CrossEntropy(scores, classes).Float64())
	fmt.Printf("%.4f\n", F.CrossEntropy(scores, torch.Full([]int{2, 4}, 0.25)).Float64())

	each := F.CrossEntropy(scores, classes, F.CrossEntropyOptions{Reduction: torch.ReductionNone})
	fmt.Println(each.Shape())
	// Output:
	// 1.3863
	// 1.3863
	// [2]
}

// Padding is passed over, and rare classes count more.
func ExampleCrossEntropyOptions() {
	scores := torch.Zeros(3, 2)
	classes := torch.FromSlice([]int{0, 1, -1})
	losses := F.CrossEntropy(scores, classes, F.CrossEntropyOptions{
		IgnoreIndex: new(-1), Weight: torch.FromSlice([]float32{1, 5}), Reduction: torch.ReductionNone,
	})
	fmt.Println(losses)
	// Output: tensor([0.6931, 3.4657, 0.0000])
}

func ExampleMSELoss() {
	prediction, truth := torch.FromSlice([]float32{1, 2, 3}), torch.FromSlice([]float32{1, 2, 5})
	fmt.Println(F.MSELoss(prediction, truth))
	fmt.Println(F.MSELoss(prediction, truth, F.WeightedLossOptions{Reduction: torch.ReductionSum}))
	// Output:
	// tensor(1.3333)
	// tensor(4.)
}

// Large errors count by their size, not by their square.
func ExampleHuberLoss() {
	x, y := torch.FromSlice([]float32{0.5, 10}), torch.Zeros(2)
	fmt.Println(F.HuberLoss(x, y, F.HuberLossOptions{Delta: new(1.0), Reduction: torch.ReductionNone}))
	// Output: tensor([0.1250, 9.5000])
}

func ExampleBinaryCrossEntropyWithLogits() {
	logits := torch.Zeros(3)
	loss := F.BinaryCrossEntropyWithLogits(logits, torch.FromSlice([]float32{1, 0, 1}))
	fmt.Println(math.Abs(loss.Float64()-math.Ln2) < 1e-6)
	// Output: true
}

// The divergence proper is the one with BatchMean; the first argument holds logarithms.
func ExampleKLDiv() {
	student := torch.FromSlice([]float64{0.5, 0.5}, 1, 2).Log()
	teacher := torch.FromSlice([]float64{0.25, 0.75}, 1, 2)
	fmt.Printf("%.4f\n", F.KLDiv(student, teacher, F.KLDivOptions{BatchMean: true}).Float64())
	// Output: 0.1308
}

func ExampleTripletMarginLoss() {
	anchor, near, far := torch.Zeros(1, 2), torch.Full([]int{1, 2}, 0.1), torch.Full([]int{1, 2}, 5.0)
	fmt.Println(F.TripletMarginLoss(anchor, near, far).Float64())
	// Output: 0
}

// Transcripts whose place in time is not known.
func ExampleCTCLoss() {
	torch.ManualSeed(0)
	logProbs := torch.RandN(50, 2, 20).LogSoftmax(2) // time, batch, symbols; symbol 0 is the blank
	targets := torch.RandInt(1, 20, []int{2, 10})
	loss := F.CTCLoss(logProbs, targets, []int{50, 50}, []int{10, 7})
	fmt.Println(loss.Dim(), loss.Float64() > 0)
	// Output: 0 true
}

// Errors come in PyTorch's words.
func ExampleNLLLoss() {
	err := torch.Try(func() { F.NLLLoss(torch.Zeros(2, 3), torch.FromSlice([]int{0, 5})) })
	fmt.Println(err != nil)
	logProbs := torch.FromSlice([]float32{-1, -2, -3, -4}, 2, 2)
	fmt.Println(F.NLLLoss(logProbs, torch.FromSlice([]int{0, 1})))
	// Output:
	// true
	// tensor(2.5000)
}
