package torch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/cgo"
)

// Device is where a tensor lives. Devices compare with ==; the zero Device means "not
// given": the CPU, or the device of the input.
type Device struct{ n uint32 } // the type, a byte for the index, and one more

// DeviceType is a kind of device, numbered as in libtorch.
type DeviceType struct{ n uint8 }

// The device types that this module speaks of by name.
var (
	DeviceCPU  = DeviceType{0}
	DeviceCUDA = DeviceType{1}
	DeviceXPU  = DeviceType{12}
	DeviceMPS  = DeviceType{13}
	DeviceMeta = DeviceType{14}
)

const noIndex = 0xff

var (
	// CPU is the host.
	CPU = DeviceCPU.at(noIndex)
	// Meta holds no data: operations compute only shapes and dtypes.
	Meta = DeviceMeta.at(noIndex)
)

func (t DeviceType) at(index uint8) Device { return Device{1 + uint32(t.n)<<8 + uint32(index)} }

// String is PyTorch's name: "cuda".
func (t DeviceType) String() string { return t.at(noIndex).String() }

// CUDA is the i-th CUDA device, counted from 0. It need not exist to be named.
func CUDA(i int) Device { return NewDevice(DeviceCUDA, i) }

// maxIndex is the highest number of a device: libtorch has a byte for it.
const maxIndex = 127

// NewDevice is device i of a type; -1 stands for the type's current device. It panics with a
// *[Error] for a number that libtorch cannot hold, where PyTorch takes another device.
func NewDevice(t DeviceType, i int) Device {
	if i < -1 || i > maxIndex {
		throw("device", KindValue, "the number of a device lies between 0 and %d, or is -1 for the current one; got %d", maxIndex, i)
	}
	return t.at(uint8(int8(i)))
}

// The word of the wire is one less, so that "none" is all ones.
func (d Device) code() int64 { return int64(d.n) - 1 }

func deviceOf(word uint64) Device { return Device{uint32(word + 1)} }

// IsZero tells whether d is the zero Device, which stands for "not given".
func (d Device) IsZero() bool { return d.n == 0 }

// Type is the kind of device.
func (d Device) Type() DeviceType { return DeviceType{uint8((d.n - 1) >> 8)} }

// Index is the device's number among those of its type, or -1 where none is said.
func (d Device) Index() int { return int(int8(d.n - 1)) }

// IsCPU tells whether d is the host.
func (d Device) IsCPU() bool { return !d.IsZero() && d.Type() == DeviceCPU }

// IsCUDA tells whether d is a CUDA device.
func (d Device) IsCUDA() bool { return !d.IsZero() && d.Type() == DeviceCUDA }

// String is PyTorch's name: "cpu", "cuda:0".
func (d Device) String() string {
	if d.IsZero() {
		return "default device"
	}
	return cgo.DeviceName(uint64(d.n - 1))
}

// ParseDevice reads PyTorch's name of a device: "cpu", "cuda", "cuda:1", "meta".
func ParseDevice(name string) (Device, error) {
	kind, number, numbered := strings.Cut(name, ":")
	t, ok := map[string]DeviceType{"cpu": DeviceCPU, "cuda": DeviceCUDA, "xpu": DeviceXPU, "mps": DeviceMPS, "meta": DeviceMeta}[kind]
	if !ok {
		return Device{}, fmt.Errorf("torch: %q is not a device; expected cpu, cuda or cuda:N", name)
	}
	if !numbered {
		return NewDevice(t, -1), nil
	}
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i > maxIndex || t == DeviceCPU && i > 0 {
		return Device{}, fmt.Errorf("torch: %q is not a device: %q is not a number of one", name, number)
	}
	return NewDevice(t, i), nil
}

// DefaultDevice is the first CUDA device where there is one that can be used, else the
// CPU.
func DefaultDevice() Device {
	if DeviceCount(DeviceCUDA) > 0 {
		return CUDA(0)
	}
	return CPU
}

// DeviceCount counts the usable devices of a type: 0 where the type is not there at all,
// 1 for the CPU.
func DeviceCount(t DeviceType) int {
	if t == DeviceCUDA && cgo.CUDAError() != nil {
		return 0
	}
	var c cgo.Call
	c.Begin(cgo.OpDeviceCount)
	c.Code(NewDevice(t, -1).code())
	switch err := c.Run(); {
	case err == nil:
		return c.IntResult(0)
	case err.Kind == KindValue: // libtorch has no such type
		return 0
	default:
		panic(newError(err))
	}
}

// CheckDevice says whether tensors can be put on d: an error tells what is missing and is
// [ErrNoCUDA] where that is CUDA.
func CheckDevice(d Device) error {
	switch {
	case d.IsCPU() && d.Index() > 0:
		return fmt.Errorf("torch: the CPU is one device, there is none of number %d", d.Index())
	case d.IsCPU() || d == Meta || d.IsZero():
		return Load()
	case d.IsCUDA():
		if err := cgo.CUDAError(); err != nil {
			return fmt.Errorf("torch: device %v: %w: %w", d, ErrNoCUDA, err)
		}
	}
	n := DeviceCount(d.Type())
	if n == 0 && d.IsCUDA() {
		return fmt.Errorf("torch: device %v: %w: %w", d, ErrNoCUDA, cgo.DeviceError())
	}
	if d.Index() >= n {
		return fmt.Errorf("torch: device %v does not exist; there are %d of its type", d, n)
	}
	return nil
}

// need panics where d is a CUDA device and CUDA was not loaded.
func need(op string, d Device) {
	if !d.IsCUDA() {
		return
	}
	if err := cgo.CUDAError(); err != nil {
		throw(op, KindNoCUDA, "%v: %v", ErrNoCUDA, err)
	}
}

// Synchronize waits until all work submitted to the device is done.
func Synchronize(d Device) {
	need("synchronize", d)
	var c cgo.Call
	c.Begin(cgo.OpSynchronize)
	c.Code(d.code())
	done(&c)
}
