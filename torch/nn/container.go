package nn

import (
	"github.com/libtorch-go/libtorch/torch"
)

// Chain feeds x through the layers, one after the other, and closes what each of them made
// as soon as the next has used it, so that it uses no more memory than Python. It closes
// neither x nor a result that a layer passes on unchanged. Without layers the result is x.
func Chain(x torch.Tensor, layers ...Layer) torch.Tensor {
	y := x
	for _, layer := range layers {
		next := layer.Forward(y)
		if !y.Is(x) && !y.Is(next) {
			y.Close()
		}
		y = next
	}
	return y
}

// Sequential is a list of layers, named "0", "1", …; write a struct to name them
// otherwise.
//
//	net := nn.Sequential{nn.NewLinear(784, 128), nn.ReLU{}, nn.NewLinear(128, 10)}
type Sequential []Layer

// NewSequential makes a row of layers.
func NewSequential(layers ...Layer) Sequential { return layers }

// Forward is [Chain] through all layers.
func (s Sequential) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, func(x torch.Tensor) torch.Tensor { return Chain(x, s...) })
}

// ModuleList is PyTorch's name for a slice of modules. Any slice does.
type ModuleList = []Layer

// ModuleDict is PyTorch's name for modules by key. Any map does; modules are in the order
// of the keys. A slice of [Named] keeps another order.
type ModuleDict = map[string]Layer

// ParameterList is PyTorch's name for a slice of parameters. Any slice does.
type ParameterList = []torch.Tensor

// ParameterDict is PyTorch's name for parameters by key. Any map does; parameters are in
// the order of the keys.
type ParameterDict = map[string]torch.Tensor

// Named is a module with a name of its own: a slice of them is PyTorch's ModuleDict in the
// order in which it was filled, of any type of modules.
type Named[M any] struct {
	Name   string
	Module M `torch:",inline"`
}

func (n Named[M]) elementName() string { return n.Name }

// NamedSequential is a [Sequential] whose layers have names of their own: PyTorch's Sequential of an
// OrderedDict.
//
//	net := nn.NamedSequential{
//		{Name: "hidden", Module: nn.NewLinear(784, 128)}, {Name: "relu", Module: nn.ReLU{}}, {Name: "out", Module: nn.NewLinear(128, 10)},
//	}
type NamedSequential []Named[Layer]

// Forward is [Chain] through all layers.
func (s NamedSequential) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(s, x, func(x torch.Tensor) torch.Tensor {
		layers := make([]Layer, len(s))
		for i, named := range s {
			layers[i] = named.Module
		}
		return Chain(x, layers...)
	})
}

// ReprName is PyTorch's name.
func (s NamedSequential) ReprName() string { return "Sequential" }

// String describes the module, see [String].
func (s NamedSequential) String() string { return String(s) }

// Identity returns its input. It replaces a layer that is not wanted.
type Identity struct{}

// Forward returns x.
func (i Identity) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(i, x, func(x torch.Tensor) torch.Tensor { return x })
}

// Flatten makes one dimension of all but the first.
type Flatten struct {
	StartDim *int // default 1
	EndDim   *int // default -1
}

// Forward returns a view of x where its strides allow, else a copy.
func (f Flatten) Forward(x torch.Tensor) torch.Tensor {
	return Hooked(f, x, func(x torch.Tensor) torch.Tensor { return x.Flatten(or(f.StartDim, 1), or(f.EndDim, -1)) })
}
