package torch_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

func ExampleError() {
	err := torch.Try(func() { torch.Ones(2).Reshape(3) })
	var e *torch.Error
	if errors.As(err, &e) {
		fmt.Println(e.Op)
		fmt.Println(e.Msg)
		fmt.Println(e.Args)
	}
	// Output:
	// reshape
	// shape '[3]' is invalid for input of size 2
	// [float32[2]]
}

// The line of the program, not of the library.
func ExampleError_Caller() {
	err := torch.Try(func() { torch.Ones(2).Reshape(3) })
	var e *torch.Error
	errors.As(err, &e)
	fmt.Println(filepath.Base(e.Caller().File))
	// Output: example_errors_test.go
}

// %v is one line; %+v adds the lines of the program that led to the failure.
func ExampleError_Format() {
	err := torch.Try(func() { torch.Ones(2).Reshape(3) })
	fmt.Println(strings.Count(fmt.Sprintf("%v", err), "\n"))
	fmt.Println(strings.Contains(fmt.Sprintf("%+v", err), "example_errors_test.go:"))
	// Output:
	// 0
	// true
}

func ExampleRecover() {
	train := func() (err error) {
		defer torch.Recover(&err) // mistakes in here are its error
		torch.Ones(2).Reshape(3)
		return nil
	}
	fmt.Println(train())
	// Output: torch: reshape: shape '[3]' is invalid for input of size 2 (with float32[2])
}

func ExampleTry1() {
	reshape := func(x torch.Tensor) (torch.Tensor, error) {
		return torch.Try1(func() torch.Tensor { return x.Reshape(2, -1) })
	}
	y, err := reshape(torch.Arange(4))
	fmt.Println(y.Shape(), err)
	_, err = reshape(torch.Arange(3))
	fmt.Println(err)
	// Output:
	// [2 2] <nil>
	// torch: reshape: shape '[2, -1]' is invalid for input of size 3 (with int64[3])
}

// normalised is a function of one's own whose complaints Try catches as it does libtorch's.
func normalised(x torch.Tensor) torch.Tensor {
	if !x.IsFloatingPoint() {
		torch.Throw("normalised", torch.KindType, "expected floating point numbers, got %v", x.DType())
	}
	return x.Div(x.Norm())
}

func ExampleThrow() {
	err := torch.Try(func() { normalised(torch.Arange(3)) })
	fmt.Println(err)
	fmt.Println(errors.Is(err, torch.ErrType))
	// Output:
	// torch: normalised: expected floating point numbers, got int64
	// true
}

// Anomaly mode also finds the operation that a failing derivative belongs to.
func ExampleAnomalyOptions() {
	torch.DetectAnomaly(func() {
		fmt.Println(torch.IsAnomalyEnabled(), torch.IsAnomalyCheckNaNEnabled())
	}, torch.AnomalyOptions{NoNaNCheck: true})
	// Output: true false
}
