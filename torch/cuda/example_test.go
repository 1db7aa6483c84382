package cuda_test

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// Unavailable says why there is no card to compute with: no driver, or one that is too old.
func ExampleUnavailable() {
	err := cuda.Unavailable()
	if err != nil && !errors.Is(err, torch.ErrNoCUDA) {
		fmt.Println("cannot happen:", err)
	}
	fmt.Println(cuda.IsAvailable() == (err == nil))
	// Output: true
}

// A device that the machine does not have is an error, whatever is asked of it.
func ExampleDeviceCount() {
	beyond := torch.CUDA(cuda.DeviceCount()) // devices are counted from 0
	err := torch.Try(func() { torch.Ones(2).To(beyond) })
	fmt.Println(err != nil, torch.CheckDevice(beyond) != nil)
	// Output: true true
}
