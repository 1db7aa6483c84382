package gotorch

import (
	"fmt"
	"unsafe"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// Device is where a tensor lives.
type Device struct {
	T unsafe.Pointer
}

// What T of a Device points to.
var (
	onCPU  = torch.CPU
	onCUDA = torch.CUDA(0)
)

func (d Device) core() torch.Device {
	if d.T == nil {
		panic("the zero Device is no device: NewDevice makes one")
	}
	return *(*torch.Device)(d.T)
}

// NewDevice is the device "cpu" or "cuda". It panics over another name.
func NewDevice(deviceType string) Device {
	switch deviceType {
	case "cpu":
		return Device{unsafe.Pointer(&onCPU)}
	case "cuda":
		return Device{unsafe.Pointer(&onCUDA)}
	}
	panic(fmt.Sprintf("NewDevice: %q is no device: expected cpu or cuda", deviceType))
}

// IsCUDAAvailable tells whether there is a card to compute on.
func IsCUDAAvailable() bool { return cuda.IsAvailable() }

// IsCUDNNAvailable tells whether there is a card, and cuDNN for it.
func IsCUDNNAvailable() bool {
	if !cuda.IsAvailable() {
		return false
	}
	v, err := cuda.LibraryVersions()
	return err == nil && v.CUDNN > 0
}

// SetNumThreads sets how many threads an operation may use on the CPU; less than one means one. Until it is called
// libtorch decides, by the environment's OMP_NUM_THREADS first.
func SetNumThreads(n int32) { torch.SetNumThreads(max(1, int(n))) }
