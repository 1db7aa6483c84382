package windows_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/signal/windows"
)

func Example() {
	torch.Scope(func() {
		fmt.Println(windows.Bartlett(5))
		fmt.Println(windows.Bartlett(4, windows.Options{Periodic: true}))
	})
	// Output:
	// tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
	// tensor([0.0000, 0.5000, 1.0000, 0.5000])
}
