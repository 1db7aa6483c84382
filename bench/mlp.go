package main

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// mlp is a training step of a network of three linear layers on a batch of 64: small enough
// for everything around the kernels to count. python/mlp.py is its twin.
type mlp struct {
	model          nn.Sequential
	optimizer      optim.Optimizer
	images, labels torch.Tensor
}

// pattern is a tensor of n numbers between -1 and 1 that both sides can make exactly.
func pattern(n, step, period int) torch.Tensor {
	ramp := torch.TensorOptions{DType: torch.Int64}.Arange(n).MulScalar(step).RemainderScalar(period)
	return ramp.To(torch.Float32).DivScalar(period / 2).SubScalar(1)
}

func newMLP(of func([]torch.Tensor) optim.Optimizer) *mlp {
	m := &mlp{model: nn.Sequential{nn.NewLinear(784, 256), nn.ReLU{}, nn.NewLinear(256, 128), nn.ReLU{}, nn.NewLinear(128, 10)}}
	torch.Scope(func() {
		torch.NoGrad(func() {
			for _, p := range nn.Parameters(m.model) {
				p.CopyInPlace(pattern(p.NumEl(), 7919, 1024).MulScalar(0.0625).Reshape(p.Shape()...))
			}
		})
		m.images = pattern(64*784, 31, 256).Reshape(64, 784).Keep()
		m.labels = torch.TensorOptions{DType: torch.Int64}.Arange(64).RemainderScalar(10).Keep()
	})
	m.optimizer = of(nn.Parameters(m.model))
	return m
}

// step is the computation of one step.
func (m *mlp) step(in []torch.Tensor) []torch.Tensor {
	loss := F.CrossEntropy(m.model.Forward(in[0]), in[1])
	m.optimizer.ZeroGrad()
	loss.Backward()
	m.optimizer.Step()
	return []torch.Tensor{loss}
}

func (m *mlp) run(n int) {
	for range n {
		torch.Scope(func() { m.step([]torch.Tensor{m.images, m.labels}) })
	}
}

func (m *mlp) check() string {
	m.run(3)
	return digest(nn.Parameters(m.model)...)
}

// recorded is such a step that is repeated in one call.
type recorded struct {
	*mlp
	tape *export.Step
}

func newRecorded(of func([]torch.Tensor) optim.Optimizer) *recorded {
	m := newMLP(of)
	return &recorded{m, export.CompileStep(m.step)}
}

func (r *recorded) run(n int) {
	for range n {
		torch.Scope(func() { again(r.tape, r.images, r.labels) })
	}
}

// again runs what is recorded.
func again(tape *export.Step, inputs ...torch.Tensor) []torch.Tensor {
	out, err := tape.Run(inputs...)
	if err != nil {
		torch.Throw("bench", torch.KindValue, "%v", err)
	}
	return out
}

func (r *recorded) check() string {
	r.run(6) // it is recorded in the third
	return digest(nn.Parameters(r.model)...)
}

// products are the eight products of matrices of a step of mlp, and nothing else, in one call: the time that no step can do without.
type products struct {
	inputs []torch.Tensor // the batch, and each layer's weight and the gradient of its outputs
	tape   *export.Step
}

func newProducts(string) (workload, error) {
	p := &products{tape: export.CompileStep(multiply)}
	torch.Scope(func() {
		p.inputs = append(p.inputs, pattern(64*784, 31, 256).Reshape(64, 784).Keep())
		for _, size := range [][2]int{{784, 256}, {256, 128}, {128, 10}} {
			p.inputs = append(p.inputs, pattern(size[0]*size[1], 7919, 1024).Reshape(size[1], size[0]).Keep(),
				pattern(64*size[1], 101, 512).Reshape(64, size[1]).Keep())
		}
	})
	return p, nil
}

// multiply computes the outputs of each layer from those of the one before, and the gradients of its weights and, but for the first, of its
// inputs.
func multiply(in []torch.Tensor) (out []torch.Tensor) {
	x := in[0]
	for layer := 1; layer < len(in); layer += 2 {
		w, g := in[layer], in[layer+1]
		y := x.MM(w.T())
		if out = append(out, y, g.T().MM(x)); layer > 1 {
			out = append(out, g.MM(w))
		}
		x = y
	}
	return out
}

func (p *products) step() (out []torch.Tensor) {
	torch.NoGrad(func() { out = again(p.tape, p.inputs...) })
	return out
}

func (p *products) run(n int) {
	for range n {
		torch.Scope(func() { p.step() })
	}
}

func (p *products) check() (text string) {
	p.run(6) // it is recorded in the third
	torch.Scope(func() { text = digest(p.step()...) })
	return text
}

// mlpCases take Python's fastest way to step, its fused kernels.
func mlpCases() (list []benchmark) {
	for _, c := range []struct {
		name string
		of   func([]torch.Tensor) optim.Optimizer
	}{
		{"MLP, SGD", func(p []torch.Tensor) optim.Optimizer { return optim.NewSGD(p, 0.01, optim.SGDOptions{Momentum: 0.9}) }},
		{"MLP, AdamW", func(p []torch.Tensor) optim.Optimizer { return optim.NewAdamW(p, 0.001) }},
	} {
		list = append(list, benchmark{name: c.name, group: smallGroup, n: 20, make: func(string) (workload, error) { return newMLP(c.of), nil }},
			benchmark{name: c.name + ", recorded", group: smallGroup, n: 20, make: func(string) (workload, error) { return newRecorded(c.of), nil }})
	}
	return append(list, benchmark{name: "MLP, its products alone", group: smallGroup, n: 20, make: newProducts})
}
