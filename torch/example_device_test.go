package torch_test

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
)

// A flag -device of a program.
func ExampleParseDevice() {
	for _, name := range []string{"cpu", "cuda:1", "tpu"} {
		d, err := torch.ParseDevice(name)
		if err != nil {
			fmt.Println("no device:", name)
			continue
		}
		fmt.Println(d, d.IsCUDA(), d.Index())
	}
	// Output:
	// cpu false -1
	// cuda:1 true 1
	// no device: tpu
}

// CheckDevice is for a program that wants to say early that there is no card.
func ExampleCheckDevice() {
	fmt.Println(torch.CheckDevice(torch.CPU))
	err := torch.CheckDevice(torch.CUDA(99))
	fmt.Println(errors.Is(err, torch.ErrNoCUDA) || err != nil)
	// Output:
	// <nil>
	// true
}

// The card where there is one, else the CPU: the same program runs on both.
func ExampleDefaultDevice() {
	d := torch.DefaultDevice()
	x := torch.TensorOptions{Device: d}.Ones(2)
	fmt.Println(x.Device() == d, x.CPU())
	// Output: true tensor([1., 1.])
}

func ExampleNewDevice() {
	d := torch.NewDevice(torch.DeviceCUDA, 1)
	fmt.Println(d, d == torch.CUDA(1), d.Type())
	// Output: cuda:1 true cuda
}

// Autocasting tells a layer of one's own what it should compute in.
func ExampleAutocasting() {
	torch.WithAutocast(torch.AutocastMode{Device: torch.CPU, Enabled: true}, func() {
		m := torch.Autocasting(torch.CPU)
		fmt.Println(m.Enabled, m.DType)
	})
	fmt.Println(torch.Autocasting(torch.CPU).Enabled)
	// Output:
	// true bfloat16
	// false
}
