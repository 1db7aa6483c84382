package parametrize_test

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/nn/utils/parametrize"
)

// symmetric makes a matrix symmetric from its upper half.
type symmetric struct{}

func (symmetric) Forward(originals ...torch.Tensor) torch.Tensor {
	return originals[0].Triu().Add(originals[0].Triu(1).T())
}

// A constraint of one's own: what is trained is another tensor than the weight.
func ExampleRegister() {
	torch.Scope(func() {
		torch.ManualSeed(0)
		layer := parametrize.Register(nn.NewLinear(3, 3), "weight", symmetric{})
		w := layer.Value("weight")
		fmt.Println(w.Equal(w.T()))
		for name := range nn.NamedParameters(layer) {
			fmt.Println(name)
		}
	})
	// Output:
	// true
	// bias
	// parametrizations.weight.original
}

// The norm of a weight is learned apart from its direction.
func ExampleWeightNorm() {
	torch.Scope(func() {
		layer := parametrize.WeightNorm(nn.NewLinear(2, 3))
		for name, p := range nn.NamedParameters(layer) {
			fmt.Println(name, p.Shape())
		}
	})
	// Output:
	// bias [3]
	// parametrizations.weight.original0 [3 1]
	// parametrizations.weight.original1 [3 2]
}

func ExampleOrthogonal() {
	torch.Scope(func() {
		torch.ManualSeed(0)
		layer := parametrize.Orthogonal(nn.NewLinear(3, 3))
		w := layer.Value("weight")
		fmt.Println(w.MatMul(w.T()).AllClose(torch.Eye(3), torch.AllCloseOptions{ATol: new(1e-5)}))
	})
	// Output: true
}

// When training is over the computed weight becomes a plain one.
func ExampleRemove() {
	torch.Scope(func() {
		torch.ManualSeed(0)
		layer := parametrize.Register(nn.NewLinear(2, 2), "weight", symmetric{})
		plain := parametrize.Remove(layer, "weight")
		fmt.Println(plain.Weight.Equal(plain.Weight.T()), plain.Weight.IsLeaf())
	})
	// Output: true true
}
