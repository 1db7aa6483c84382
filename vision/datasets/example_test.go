package datasets_test

import (
	"context"
	"fmt"
	"os"

	"github.com/libtorch-go/libtorch/vision/datasets"
)

// An empty folder and no network: what is left is the built-in slice.
func ExampleLoadCIFAR10() {
	root, err := os.MkdirTemp("", "data")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)

	train, err := datasets.LoadCIFAR10(context.Background(), root, true, datasets.CIFAR10Options{Offline: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(train.Len(), "images, the first a", train.Classes()[train.Labels[0]], "- built in:", train.Fallback)
	// Output: 1100 images, the first a airplane - built in: true
}
