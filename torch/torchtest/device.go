package torchtest

import (
	"testing"

	"github.com/libtorch-go/libtorch/torch"
)

// EachDevice runs fn as a subtest on the CPU and, where there is one, on the first CUDA
// device.
func EachDevice(t *testing.T, fn func(t *testing.T, d torch.Device)) {
	t.Helper()
	for _, d := range Devices() {
		t.Run(d.String(), func(t *testing.T) { fn(t, d) })
	}
}

// Devices are those that tests run on: the CPU, and the first CUDA device where it works.
func Devices() []torch.Device {
	list := []torch.Device{torch.CPU}
	if torch.CheckDevice(torch.CUDA(0)) == nil {
		list = append(list, torch.CUDA(0))
	}
	return list
}
