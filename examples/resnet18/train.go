package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// learn is the training: from where the run stands to its end, with a validation and a
// checkpoint after each epoch. It returns the last accuracy, in percent.
func (t *trainer) learn(ctx context.Context) (accuracy float64, err error) {
	step := cuda.Graphed(func(in []torch.Tensor) []torch.Tensor {
		images, labels := t.prepare(in[0], in[1])
		var scores, loss torch.Tensor
		amp.Autocast(t.device, t.ampDType, func() {
			scores = t.net.Forward(images)
			loss = F.CrossEntropy(scores, labels)
		})
		t.scaler.Scale(loss).Backward()
		t.scaler.Step(t.opt)
		t.opt.ZeroGrad()
		return []torch.Tensor{loss, scores, labels}
	}, cuda.GraphedOptions{Disabled: !t.Graph, Device: max(0, t.device.Index())})
	defer step.Close()

	for t.epoch < t.Epochs {
		nn.Train(t.model)
		m := t.newMeters(fmt.Sprintf("Epoch: [%d]", t.epoch), "train/", t.train, t.batch, (t.epoch+1)*t.train.Len())
		for batch, err := range t.train.EpochFrom(ctx, t.epoch, t.batch) {
			if err != nil {
				m.progress.Close()
				return 0, t.stopped(err)
			}
			m.gotData()
			out, err := step.Run(batch.Input, batch.Target)
			if err != nil {
				m.progress.Close()
				return 0, err
			}
			t.sched.Step()
			t.batch++
			m.add(out[0], out[1], out[2])
		}
		torch.Synchronize(t.device)
		m.progress.Close()
		if err := t.trained(m); err != nil {
			return 0, err
		}
		if accuracy, err = t.validate(ctx); err != nil {
			return 0, t.stopped(err)
		}
		t.best = max(t.best, accuracy)
		t.epoch, t.batch = t.epoch+1, 0
		if err := t.store(); err != nil {
			return 0, err
		}
	}
	return accuracy, nil
}

// validate returns the accuracy on the validation images, in percent. One process does it.
func (t *trainer) validate(ctx context.Context) (percent float64, err error) {
	if !t.leads() {
		return 0, nil
	}
	nn.Eval(t.model)
	m := t.newMeters("Test: ", "test/", t.val, 0, (t.epoch+1)*t.train.Len())
	defer m.progress.Close()
	torch.Inference(func() {
		for batch, failed := range t.val.Epoch(ctx, 0) {
			if err = failed; err != nil {
				return
			}
			m.gotData()
			images, labels := t.prepare(batch.Input, batch.Target)
			var scores, loss torch.Tensor
			amp.Autocast(t.device, t.ampDType, func() {
				scores = t.model.Forward(images)
				loss = F.CrossEntropy(scores, labels)
			})
			m.add(loss, scores, labels)
		}
	})
	if err != nil {
		return 0, err
	}
	m.progress.Summary()
	return m.top1.Avg(), nil
}

// stopped handles an error in the middle of an epoch and returns the error to report. After
// a signal it stores the state of the run first.
func (t *trainer) stopped(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	text := fmt.Sprintf("interrupted in epoch %d after batch %d of %d", t.epoch, t.batch, t.train.Len())
	if t.save == "" {
		return interrupt{text + "; nothing is stored without -save"}
	}
	if err := t.store(); err != nil {
		return err
	}
	return interrupt{fmt.Sprintf("%s; -resume %s goes on from there", text, t.save)}
}
