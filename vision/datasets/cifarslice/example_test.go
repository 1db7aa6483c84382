package cifarslice_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
)

func ExampleLoad() {
	train := cifarslice.Load(true)
	fmt.Println(train.Len(), "images, the first a", train.Classes()[train.Labels[0]])
	// Output: 1100 images, the first a airplane
}
