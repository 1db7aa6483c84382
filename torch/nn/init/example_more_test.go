package nninit_test

import (
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// The spread that keeps activations of the same size from layer to layer.
func ExampleKaimingNormal() {
	torch.Scope(func() {
		torch.ManualSeed(0)
		w := nninit.KaimingNormal(torch.Empty(256, 512), nninit.KaimingOptions{Nonlinearity: nninit.ReLU})
		fmt.Printf("%.1f %.1f\n", w.Std().Float64()*math.Sqrt(512), math.Sqrt2)
	})
	// Output: 1.4 1.4
}

// All layers of a network, each as it should begin.
func ExampleXavierUniform() {
	torch.ManualSeed(0)
	net := nn.Sequential{nn.NewLinear(4, 8), nn.Tanh{}, nn.NewLinear(8, 2)}
	defer nn.Close(net)
	nn.Apply(net, func(m any) {
		if l, ok := m.(*nn.Linear); ok {
			nninit.XavierUniform(l.Weight, nninit.GainOptions{Gain: new(nninit.Gain(nninit.Tanh, 0))})
			nninit.Zeros(l.Bias)
		}
	})
	for name, p := range nn.NamedParameters(net) {
		limit := 5.0 / 3 * math.Sqrt(6.0/12)
		torch.Scope(func() { fmt.Println(name, p.Detach().Abs().Max().Float64() <= limit) })
		break
	}
	// Output: 0.weight true
}

func ExampleOrthogonal() {
	torch.Scope(func() {
		torch.ManualSeed(0)
		w := nninit.Orthogonal(torch.Empty(3, 5))
		o := torch.AllCloseOptions{ATol: new(1e-5)}
		fmt.Println(w.MatMul(w.T()).AllClose(torch.Eye(3), o))
	})
	// Output: true
}

func ExampleTruncNormal() {
	torch.Scope(func() {
		torch.ManualSeed(0)
		w := nninit.TruncNormal(torch.Empty(1000), 0, 1, -2, 2)
		fmt.Println(w.Abs().Max().Float64() <= 2)
	})
	// Output: true
}

// A convolution that passes its input on.
func ExampleDirac() {
	torch.Scope(func() {
		fmt.Println(nninit.Dirac(torch.Empty(2, 2, 3)))
	})
	// Output:
	// tensor([[[0., 1., 0.],
	//          [0., 0., 0.]],
	//
	//         [[0., 0., 0.],
	//          [0., 1., 0.]]])
}

func ExampleFans() {
	torch.Scope(func() {
		in, out := nninit.Fans(torch.Empty(16, 3, 5, 5)) // 16 filters of 3 channels, 5x5
		fmt.Println(in, out)
	})
	// Output: 75 400
}
