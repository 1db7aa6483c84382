package cuda

import (
	"fmt"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
)

// IsAvailable tells whether there is a device that can be used.
func IsAvailable() bool { return DeviceCount() > 0 }

// DeviceCount counts the CUDA devices that can be used; 0 without a driver.
func DeviceCount() int { return torch.DeviceCount(torch.DeviceCUDA) }

// Unavailable says why CUDA cannot be used: no driver, a libtorch without CUDA, a library
// that is missing, no device. It is nil where CUDA works, and matches torch.ErrNoCUDA
// otherwise.
func Unavailable() error { return torch.CheckDevice(torch.CUDA(0)) }

// CurrentDevice is the device that "cuda" without a number means on this goroutine's
// thread; torch.WithDevice changes it.
func CurrentDevice() int {
	var c cgo.Call
	c.Begin(cgo.OpCurrentDevice)
	torch.RawDone(&c)
	return c.IntResult(0)
}

// Synchronize waits until the device has done all work that was submitted to it.
func Synchronize(device int) { torch.Synchronize(torch.CUDA(device)) }

// Versions are those of the libraries that libtorch was built with.
type Versions struct {
	CUDNN   int // 91900 is 9.19.0
	Runtime int // 13000 is CUDA 13.0
}

// LibraryVersions asks libtorch for the versions of cuDNN and the CUDA runtime.
func LibraryVersions() (Versions, error) {
	if err := cgo.CUDAError(); err != nil {
		return Versions{}, fmt.Errorf("torch/cuda: %w: %w", torch.ErrNoCUDA, err)
	}
	return torch.Try1(func() Versions {
		var c cgo.Call
		c.Begin(cgo.OpCudaVersions)
		torch.RawDone(&c)
		return Versions{CUDNN: c.IntResult(0), Runtime: c.IntResult(1)}
	})
}
