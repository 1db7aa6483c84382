package main

import (
	"context"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
)

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
