package cifarslice_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/datasets/cifarslice"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// The images as tensors, and from there into a loader.
func ExampleLoad() {
	set := cifarslice.Load(false).Head(100)
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
