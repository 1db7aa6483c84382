package mkldnn_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch/mkldnn"
)

// At the start of a program: float32 convolutions may compute in bfloat16 where the processor can.
func ExampleSet() {
	before := mkldnn.Current()
	defer mkldnn.Set(before)
	mkldnn.Set(mkldnn.Settings{Conv: mkldnn.BF16, MatMul: mkldnn.BF16})
	fmt.Println(mkldnn.Current().Conv, mkldnn.Current().MatMul)
	// Output: bf16 bf16
}
