package aten_test

import (
	"fmt"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

// One call for many tensors: what optimizers are made of.
func ExampleForeachAddInPlace() {
	torch.Scope(func() {
		params := []torch.Tensor{torch.Zeros(2), torch.Ones(1)}
		updates := []torch.Tensor{torch.Ones(2), torch.Ones(1)}
		aten.ForeachAddInPlace(params, updates, aten.ForeachAddOptions{Alpha: -0.5})
		fmt.Println(params)
	})
	// Output: [tensor([-0.5000, -0.5000]) tensor([0.5000])]
}

// The norm of each of many tensors.
func ExampleForeachNorm() {
	torch.Scope(func() {
		grads := []torch.Tensor{torch.FromSlice([]float32{3, 4}), torch.FromSlice([]float32{6, 8})}
		fmt.Println(aten.ForeachNorm(grads))
	})
	// Output: [tensor(5.) tensor(10.)]
}
