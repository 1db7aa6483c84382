package windows_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/signal/windows"
)

// Windows for spectra are periodic, windows for filters symmetric.
func ExampleHann() {
	torch.Scope(func() {
		fmt.Println(windows.Hann(4, windows.Options{Periodic: true}))
		fmt.Println(windows.Hann(5))
	})
	// Output:
	// tensor([0.0000, 0.5000, 1.0000, 0.5000])
	// tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
}

func ExampleKaiser() {
	torch.Scope(func() {
		fmt.Println(windows.Kaiser(3, 12, windows.Options{TensorOptions: torch.TensorOptions{DType: torch.Float64}}).DType())
		fmt.Println(windows.Kaiser(3, 0)) // no fading at all
	})
	// Output:
	// float64
	// tensor([1., 1., 1.])
}

func ExampleBartlett() {
	torch.Scope(func() { fmt.Println(windows.Bartlett(5)) })
	// Output: tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
}

func ExampleGaussian() {
	torch.Scope(func() {
		w := windows.Gaussian(5, 1)
		fmt.Println(w.Index(2).Float64(), w.Flip(0).AllClose(w))
	})
	// Output: 1 true
}
