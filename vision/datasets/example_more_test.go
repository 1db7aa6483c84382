package datasets_test

import (
	"context"
	"fmt"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/vision/datasets"
)

// The images as tensors, and from there into a loader.
func ExampleCIFAR10_Tensors() {
	set := datasets.CIFAR10Slice(false).Head(100)
	images, labels := set.Tensors()
	defer torch.Close(images, labels)
	loader, err := data.NewLoader(data.NewTensorDataset(images, labels), data.LoaderOptions{BatchSize: 32})
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range loader.Epoch(context.Background(), 0) {
		fmt.Println(batch.Input.Shape(), batch.Input.DType(), err)
		break
	}
	fmt.Println(loader.Len(), "batches")
	// Output:
	// [32 3 32 32] uint8 <nil>
	// 4 batches
}

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
