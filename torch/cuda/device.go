package cuda

import (
	"fmt"
	"runtime"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// The error of [Unavailable] matches torch.ErrNoCUDA and one of these. Its text says what to
// do.
var (
	ErrHidden          = cgo.ErrHidden          // CUDA_VISIBLE_DEVICES leaves none
	ErrNoDriver        = cgo.ErrNoDriver        // NVIDIA's driver is not installed, or not in the container
	ErrMissingLibrary  = cgo.ErrMissingLibrary  // libtorch is for the CPU alone, or lacks a library of CUDA's
	ErrVersionMismatch = cgo.ErrVersionMismatch // the driver is too old, or the shim is for another libtorch
	ErrNoDevice        = cgo.ErrNoDevice        // the driver finds no card
)

// IsAvailable tells whether there is a device that can be used.
func IsAvailable() bool { return DeviceCount() > 0 }

// DeviceCount counts the CUDA devices that can be used; 0 without a driver.
func DeviceCount() int { return torch.DeviceCount(torch.DeviceCUDA) }

// Unavailable says why CUDA cannot be used and what to do about it. It is nil if CUDA
// works; otherwise it matches torch.ErrNoCUDA and one of the errors above.
func Unavailable() error { return torch.CheckDevice(torch.CUDA(0)) }

// CurrentDevice is the device that "cuda" without a number means on this goroutine's
// thread; [WithDevice] changes it.
func CurrentDevice() int {
	c := begin(cgo.OpCurrentDevice)
	bridge.Done(c)
	return c.IntResult(0)
}

// WithDevice runs fn with another current device. The goroutine keeps its thread for that
// time. It cannot be set permanently, because goroutines change threads.
func WithDevice(device int, fn func()) {
	torch.WithDevice(torch.CUDA(resolve("with_device", device)), fn)
}

// Synchronize waits until the device has done all work that was submitted to it, on all
// streams. -1 stands for the current device, here and wherever a device is asked for.
func Synchronize(device int) {
	torch.Synchronize(torch.CUDA(resolve("synchronize", device)))
}

// CanAccessPeer tells whether kernels of a device can read and write the memory of another one.
// Copies between such devices go directly from one to the other; libtorch enables that with the
// first copy.
func CanAccessPeer(device, other int) bool {
	c := begin(cgo.OpDeviceAccessPeer)
	for _, d := range []int{device, other} {
		c.Code(bridge.Code(torch.CUDA(resolve("can_access_peer", d))))
	}
	bridge.Done(c)
	return c.BoolResult(0)
}

// Versions are those of the libraries in the process, and of the driver.
type Versions struct {
	CUDNNBuilt int // that libtorch was built with: 91900 is 9.19.0
	CUDNN      int // that was loaded
	Runtime    int // 13000 is CUDA 13.0
	Driver     int // the newest CUDA that the driver can run
	NCCL       int // between cards: 22809 is 2.28.9
}

// LibraryVersions returns what libtorch and the driver report.
func LibraryVersions() (Versions, error) {
	if err := cgo.CUDAError(); err != nil {
		return Versions{}, fmt.Errorf("torch/cuda: %w: %w", torch.ErrNoCUDA, err)
	}
	return torch.Try1(func() Versions {
		libraries, driver := begin(cgo.OpCudaVersions), begin(cgo.OpCudaDriverVersion)
		bridge.Done(libraries)
		bridge.Done(driver)
		return Versions{libraries.IntResult(0), libraries.IntResult(1), libraries.IntResult(2), driver.IntResult(0), driver.IntResult(1)}
	})
}

// begin starts a call of an entry that needs CUDA. Without CUDA it panics, before libtorch
// fails with an internal assertion.
func begin(op cgo.Op) *cgo.Call {
	if err := cgo.CUDAError(); err != nil {
		torch.Throw(op.String(), torch.KindNoCUDA, "%v: %v", torch.ErrNoCUDA, err)
	}
	var c cgo.Call
	c.Begin(op)
	return &c
}

// on runs an entry that takes a device.
func on(op cgo.Op, device int, more ...func(*cgo.Call)) *cgo.Call {
	c := begin(op)
	c.Code(bridge.Code(torch.CUDA(resolve(op.String(), device))))
	for _, put := range more {
		put(c)
	}
	bridge.Done(c)
	return c
}

// resolve returns the device's number and panics if there is no such device.
func resolve(op string, device int) int {
	n := DeviceCount()
	switch {
	case n == 0:
		torch.Throw(op, torch.KindNoCUDA, "%v", Unavailable())
	case device < -1 || device >= n:
		torch.Throw(op, torch.KindValue, "device %d does not exist; there are %d", device, n)
	case device == -1:
		return CurrentDevice()
	}
	return device
}

// lockThread runs fn on one thread.
func lockThread(fn func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fn()
}
