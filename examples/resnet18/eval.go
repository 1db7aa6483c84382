package main

import (
	"context"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// validate returns the accuracy on the validation images, in percent.
func (t *trainer) validate(ctx context.Context) (float64, error) {
	nn.Eval(t.model)
	p := t.newPass("Test: ", t.val.Len(), 0)
	defer p.Close()
	var err error
	torch.Inference(func() { err = t.test(ctx, p) })
	if err != nil {
		return 0, err
	}
	p.progress.DisplaySummary()
	return p.top1.Avg(), nil
}

func (t *trainer) test(ctx context.Context, p *pass) error {
	for batch, err := range t.val.Epoch(ctx, 0) {
		if err != nil {
			return err
		}
		p.gotData()
		images, labels := t.prepare(batch.Input, batch.Target)
		var scores, loss torch.Tensor
		amp.Autocast(t.device, t.ampDType, func() {
			scores = t.model.Forward(images)
			loss = F.CrossEntropy(scores, labels)
		})
		p.add(loss, scores, labels)
	}
	return nil
}
