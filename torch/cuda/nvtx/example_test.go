package nvtx_test

import (
	"fmt"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/cuda/nvtx"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// Names for the timeline of NVIDIA's tools, above the kernels that were submitted in between.
func ExampleRange() {
	step := func() {
		torch.Scope(func() { fmt.Println(torch.Ones(3).Sum().Float64()) })
	}
	if cuda.IsAvailable() {
		nvtx.Range("step", step)
	} else {
		step() // without a driver a name is an error
	}
	// Output: 3
}
