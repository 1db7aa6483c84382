package functional_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

func Example() {
	torch.Scope(func() {
		image := torch.Arange(16).To(torch.Float32).View(1, 1, 4, 4)
		fmt.Println(F.MaxPool2d(image, 2).View(2, 2))

		scores, labels := torch.Zeros(2, 4), torch.FromSlice([]int{1, 3})
		fmt.Printf("%.4f\n", F.CrossEntropy(scores, labels).Float64())
		fmt.Println(F.CrossEntropy(scores, labels, F.CrossEntropyOptions{Reduction: torch.ReductionSum}).Float64() > 2)
	})
	// Output:
	// tensor([[ 5.,  7.],
	//         [13., 15.]])
	// 1.3863
	// true
}
