package main

import (
	"context"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// newModel is the network, which takes images [N, 1, 28, 28] to scores [N, 10].
func newModel() nn.Sequential {
	padded := nn.ConvOptions{Padding: 1}
	return nn.Sequential{
		nn.NewConv2d(1, 32, 3, padded), nn.ReLU{}, nn.NewMaxPool2d(2),
		nn.NewConv2d(32, 64, 3, padded), nn.ReLU{}, nn.NewMaxPool2d(2),
		nn.Flatten{}, nn.NewLinear(64*7*7, 128), nn.ReLU{}, nn.NewDropout(0.5), nn.NewLinear(128, 10),
	}
}

// accuracy is the part of the test images that the model reads right.
func accuracy(ctx context.Context, model nn.Layer, test *data.Loader[data.Batch], dev torch.Device) (_ float64, err error) {
	nn.Eval(model)
	var right meter.Average
	torch.Inference(func() {
		for batch, failed := range test.Epoch(ctx, 0) {
			if err = failed; err != nil {
				return
			}
			hits := model.Forward(normalise(batch.Input, dev)).ArgMaxDim(1).Eq(batch.Target.To(dev))
			right.Add(hits.To(torch.Float32).Mean(), batch.Len())
		}
	})
	return right.Avg(), err
}
