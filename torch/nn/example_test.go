package nn_test

import (
	"fmt"
	"maps"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// Net is a small convolutional network: a module is a struct, its parts are its fields.
type Net struct {
	Conv1   *nn.Conv2d
	Norm    *nn.BatchNorm2d `torch:"bn"`
	Dropout *nn.Dropout
	FC      *nn.Linear
}

func NewNet() *Net {
	return &Net{
		Conv1:   nn.NewConv2d(1, 8, 3, nn.ConvOptions{Stride: 2, Padding: 1, NoBias: true}),
		Norm:    nn.NewBatchNorm2d(8),
		Dropout: nn.NewDropout(0.5),
		FC:      nn.NewLinear(8*14*14, 10),
	}
}

func (n *Net) Forward(x torch.Tensor) torch.Tensor {
	return nn.Chain(x, n.Conv1, n.Norm, nn.ReLU{InPlace: true}, nn.Flatten{}, n.Dropout, n.FC)
}

func Example() {
	net := NewNet()
	for name, value := range nn.StateDict(net) {
		fmt.Println(name, value.Shape())
	}
	nn.Eval(net)
	torch.NoGrad(func() {
		fmt.Println(net.Forward(torch.Zeros(4, 1, 28, 28)).Shape(), nn.NumParameters(net))
	})
	// Output:
	// conv1.weight [8 1 3 3]
	// bn.weight [8]
	// bn.bias [8]
	// bn.running_mean [8]
	// bn.running_var [8]
	// bn.num_batches_tracked []
	// fc.weight [10 1568]
	// fc.bias [10]
	// [4 10] 15778
}

func ExampleSequential() {
	net := nn.Sequential{nn.NewLinear(2, 3), nn.ReLU{}, nn.NewLinear(3, 1)}
	for name := range nn.NamedParameters(net) {
		fmt.Println(name)
	}
	// Output:
	// 0.weight
	// 0.bias
	// 2.weight
	// 2.bias
}

func ExampleLoadStateDict() {
	torch.Scope(func() {
		student, teacher := nn.NewLinear(2, 2), nn.NewLinear(2, 2)
		fmt.Println(nn.LoadStateDict(student, maps.Collect(nn.StateDict(teacher))))
		fmt.Println(student.Weight.Equal(teacher.Weight))
		fmt.Println(nn.LoadStateDict(student, map[string]torch.Tensor{"weight": torch.Zeros(2, 2)}))
	})
	// Output:
	// <nil>
	// true
	// nn: the state dict does not fit the module: Missing key(s) in state_dict: "bias"
}

// Of the activations of a block nothing is kept: the backward pass computes them again.
func ExampleCheckpoint() {
	torch.ManualSeed(0)
	block := nn.Sequential{nn.NewLinear(4, 64), nn.Tanh{}, nn.NewLinear(64, 1)}
	defer nn.Close(block)
	torch.Scope(func() {
		x := torch.Ones(8, 4)
		y := nn.Checkpoint(func(in ...torch.Tensor) torch.Tensor { return block.Forward(in[0]) }, x)
		y.Sum().Backward()
		fmt.Println(nn.Parameters(block)[0].Grad().Shape())
	})
	// Output: [64 4]
}
