package cli

import "github.com/libtorch-go/libtorch/torch"

// Device is the value of a flag -device: cpu, cuda or cuda:N. It is 0 for "", which leaves the
// choice to [OpenDevice].
func Device(text string) (torch.Device, error) {
	if text == "" {
		return torch.Device{}, nil
	}
	dev, err := torch.ParseDevice(text)
	if err != nil || !dev.IsCPU() && !dev.IsCUDA() {
		return torch.Device{}, Usagef("-device is %q, expected cpu, cuda or cuda:N", text)
	}
	return dev, nil
}

// OpenDevice opens libtorch and returns the device to run on: the one asked for or, if that is
// 0, a card where there is one. A device that cannot be used is an error.
func OpenDevice(asked torch.Device) (torch.Device, error) {
	if err := torch.Load(); err != nil {
		return torch.Device{}, err
	}
	if asked.IsZero() {
		asked = torch.DefaultDevice()
	}
	return asked, torch.CheckDevice(asked)
}
