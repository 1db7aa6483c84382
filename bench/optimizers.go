package main

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// stepped are as many tensors as ResNet-18 has parameters.
const stepped = 62

// optimizerStep is a step of an optimizer over many tensors of one size.
type optimizerStep struct {
	parameters []torch.Tensor
	optimizer  optim.Optimizer
}

func newOptimizerStep(size int, of func([]torch.Tensor) optim.Optimizer) *optimizerStep {
	s := &optimizerStep{}
	torch.Unscoped(func() {
		ramp := torch.TensorOptions{DType: torch.Float32}.Arange(size).DivScalar(size)
		grad := ramp.SubScalar(0.5)
		for i := range stepped {
			p := ramp.AddScalar(i).SetRequiresGrad(true)
			p.SetGrad(grad)
			s.parameters = append(s.parameters, p)
		}
	})
	s.optimizer = of(s.parameters)
	return s
}

func (s *optimizerStep) run(n int) {
	for range n {
		s.optimizer.Step()
	}
}

func (s *optimizerStep) check() string {
	s.run(3)
	return digest(s.parameters...)
}

func optimizerCases() (list []benchmark) {
	for _, o := range []struct {
		name string
		of   func([]torch.Tensor) optim.Optimizer
	}{
		{"SGD", func(p []torch.Tensor) optim.Optimizer {
			return optim.NewSGD(p, 0.01, optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4})
		}},
		{"Adam", func(p []torch.Tensor) optim.Optimizer { return optim.NewAdam(p, 0.01) }},
		{"AdamW", func(p []torch.Tensor) optim.Optimizer { return optim.NewAdamW(p, 0.01) }},
		{"Adagrad", func(p []torch.Tensor) optim.Optimizer { return optim.NewAdagrad(p, 0.01) }},
	} {
		for _, size := range []int{16, 1024, 16384} {
			list = append(list, benchmark{
				name:  fmt.Sprintf("%s step, %d x %d", o.name, stepped, size),
				group: optimizerGroup,
				n:     20,
				make:  func(string) (workload, error) { return newOptimizerStep(size, o.of), nil },
			})
		}
	}
	return list
}
