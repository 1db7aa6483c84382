package cifar

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// Side is the width and height of an image.
const Side = 32

// Classes are the names of the scores.
func Classes() []string {
	return []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}
}

// Net computes scores [N, 10] of images [N, 3, 32, 32] of numbers from 0 to 1.
type Net struct {
	Body nn.Sequential `torch:"body"`
	Head *nn.Linear    `torch:"head"`
}

// New makes a network with random weights: 388,000 parameters, 26 million products an image.
func New() *Net {
	return &Net{
		Body: nn.Sequential{
			block(3, 24, nil), block(24, 32, nn.NewMaxPool2d(2)), block(32, 32, nil),
			block(32, 96, nn.NewMaxPool2d(2)), block(96, 96, nil),
			block(96, 128, nn.NewMaxPool2d(2)), block(128, 128, nil), nn.NewAdaptiveMaxPool2d(1), nn.Flatten{},
		},
		Head: nn.NewLinear(128, len(Classes())),
	}
}

// block is a convolution, a pool if there is one, and what follows.
func block(in, out int, pool nn.Layer) nn.Sequential {
	s := nn.Sequential{nn.NewConv2d(in, out, 3, nn.ConvOptions{Padding: 1, NoBias: true})}
	if pool != nil {
		s = append(s, pool)
	}
	return append(s, nn.NewBatchNorm2d(out), nn.ReLU{})
}

// Forward implements [nn.Layer].
func (n *Net) Forward(x torch.Tensor) torch.Tensor {
	const mean, std = 0.4734, 0.2516 // of all CIFAR-10's pixels
	return n.Head.Forward(n.Body.Forward(x.SubScalar(mean).DivScalar(std)))
}
