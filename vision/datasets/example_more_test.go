package datasets_test

import (
	"context"
	"fmt"
	"os"

	"github.com/libtorch-go/libtorch/vision/datasets"
)

// Nothing is built in for MNIST: without files and without a network it is an error.
func ExampleLoadMNIST() {
	root, err := os.MkdirTemp("", "data")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	_, err = datasets.LoadMNIST(context.Background(), root, true, datasets.MNISTOptions{Offline: true})
	fmt.Println(err != nil)
	// Output: true
}
