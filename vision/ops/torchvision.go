package ops

import (
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
)

// torchvision says that its library is open.
var torchvision atomic.Bool

// UseTorchvision loads torchvision's own library from the folder of its Python package, or from wherever its _C.so is. From then
// on the process's [NMS], [BatchedNMS] and [RoIAlign] run its kernels, also those for CUDA where both are built for it: their
// bits are Python's, and boxes on a card stay there. It must be built for the libtorch in use, or else this is an error that
// says what is missing, and everything goes on as before. Its other operators, such as torchvision::deform_conv2d, can then be called
// by torch.Call.
func UseTorchvision(dir string) error {
	if err := library.Load(filepath.Join(dir, "_C.so")); err != nil {
		return fmt.Errorf("vision/ops: torchvision's library: %w", err)
	}
	if err := torch.Try(func() { library.Lookup("torchvision::roi_align"); library.Lookup("torchvision::nms") }); err != nil {
		return fmt.Errorf("vision/ops: %s does not hold torchvision's library: %w", dir, err)
	}
	torchvision.Store(true)
	return nil
}

// call1 runs an operator with one result.
func call1(name string, args ...any) torch.Tensor { return torch.Call(name, args...)[0].(torch.Tensor) }

// rows are boxes with the number of their image before them, [K, 5], as torchvision's kernels take them.
func rows(x torch.Tensor, boxes []torch.Tensor) torch.Tensor {
	list := []torch.Tensor{x.NewZeros([]int{0, 5})}
	for i, b := range boxes {
		list = append(list, torch.Cat([]torch.Tensor{torch.FullLike(column(b, 0), i).Unsqueeze(1), b}, 1))
	}
	return torch.Cat(list)
}
