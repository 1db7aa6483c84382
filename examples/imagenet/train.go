package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
)

// learn is the training: from where the run stands to its end, with a measurement and a checkpoint after each epoch. When term ends it
// stores where it is and returns errInterrupted.
func (t *trainer) learn(term context.Context) error {
	for t.at.Epoch < t.Epochs {
		if err := t.epoch(term); err != nil {
			return err
		}
		accuracy, err := t.measure(term)
		if err != nil {
			return t.stopped(err)
		}
		t.sched.Step()
		t.at = checkpoint.Point{Epoch: t.at.Epoch + 1, Step: t.at.Step, Metric: accuracy}
		if err := t.kept.Save(t.at); err != nil {
			return err
		}
	}
	t.summary()
	return nil
}

// epoch trains on what the epoch still has. The batch at hand is finished before it ends with term.
func (t *trainer) epoch(term context.Context) error {
	nn.Train(t.model)
	began, before := time.Now(), t.train.Stats()
	m := t.newMeters("", fmt.Sprintf("Epoch: [%d]", t.at.Epoch), "train/", t.train.Len())
	m.progress.Done, m.progress.First = t.at.Batch, t.at.Epoch*t.train.Len()
	defer m.progress.Close()
	for batch, err := range t.train.EpochFrom(context.WithoutCancel(term), t.at.Epoch, t.at.Batch) {
		if err != nil {
			return err
		}
		target := batch.Target.To(t.dev, torch.NonBlocking)
		loss, scores := t.step(batch.Input, target)
		if t.ema != nil && t.at.Batch%t.EMASteps == 0 {
			t.average()
		}
		m.add(loss, scores, target)
		t.seen += t.sees(batch.Len())
		t.at.Batch, t.at.Step = t.at.Batch+1, t.at.Step+1
		if stop, err := t.kept.Step(term, t.at); err != nil {
			return err
		} else if stop {
			return t.interrupted()
		}
	}
	torch.Synchronize(t.dev)
	t.busy += time.Since(began)
	m.progress.Close()
	t.printf("%v", t.train.Stats().Since(before))
	return errors.Join(m.progress.Err(), t.logEpoch())
}

// step trains on a batch: images [N, 3, H, W] and their classes [N], or weights of classes [N, classes].
func (t *trainer) step(images, target torch.Tensor) (loss, scores torch.Tensor) {
	images = images.To(t.dev, torch.NonBlocking).To(torch.Float32, t.format())
	amp.Autocast(t.dev, t.dtype, func() {
		scores = t.net.Forward(images)
		loss = F.CrossEntropy(scores, target, F.CrossEntropyOptions{LabelSmoothing: t.LabelSmoothing})
	})
	t.scaler.Scale(loss).Backward()
	if t.ClipGradNorm > 0 {
		t.scaler.Unscale(t.opt)
		nnutils.ClipGradNorm(nn.Parameters(t.model), t.ClipGradNorm)
	}
	t.scaler.Step(t.opt)
	t.opt.ZeroGrad()
	return loss, scores
}

// average takes the weights into the moving average, which begins after the warm-up.
func (t *trainer) average() {
	t.ema.UpdateParameters(t.model)
	if t.at.Epoch < t.WarmupEpochs {
		t.ema.NAveraged.ZeroInPlace()
	}
}

// measure returns the accuracy of the network in percent, or that of the moving average where there is one.
func (t *trainer) measure(ctx context.Context) (percent float64, err error) {
	if !t.leads() {
		return 0, nil
	}
	if percent, err = t.accuracy(ctx, t.model, ""); err != nil || t.ema == nil {
		return percent, err
	}
	return t.accuracy(ctx, t.ema, "EMA ")
}

// accuracy measures a network on the photographs that the run does not learn from.
func (t *trainer) accuracy(ctx context.Context, model nn.Layer, name string) (percent float64, err error) {
	nn.Eval(model)
	m := t.newMeters(name, "Test: ", "val/", t.val.Len())
	m.progress.Every, m.progress.First = -1, t.at.Step-t.val.Len()
	defer m.progress.Close()
	torch.Inference(func() {
		for batch, failed := range t.val.Epoch(ctx, 0) {
			if err = failed; err != nil {
				return
			}
			images, target := batch.Input.To(t.dev, torch.NonBlocking).To(torch.Float32, t.format()), batch.Target.To(t.dev, torch.NonBlocking)
			var scores, loss torch.Tensor
			amp.Autocast(t.dev, t.dtype, func() {
				scores = model.Forward(images)
				loss = F.CrossEntropy(scores, target, F.CrossEntropyOptions{LabelSmoothing: t.LabelSmoothing})
			})
			m.add(loss, scores, target)
		}
	})
	if err != nil {
		return 0, err
	}
	m.progress.Summary()
	return m.top1.Avg(), m.progress.Err()
}

// judge only measures.
func (t *trainer) judge(term context.Context) error {
	accuracy, err := t.measure(term)
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	if err == nil {
		t.at.Metric = accuracy
		t.summary()
	}
	return err
}

// stopped handles an error between two epochs, and returns the error to report. After a signal it stores where the run is.
func (t *trainer) stopped(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	if err := t.kept.Save(t.at); err != nil {
		return err
	}
	return t.interrupted()
}

func (t *trainer) interrupted() error {
	err := fmt.Errorf("%w in epoch %d after batch %d of %d", errInterrupted, t.at.Epoch, t.at.Batch, t.train.Len())
	if t.output == "" {
		return fmt.Errorf("%w; nothing is kept without -output-dir", err)
	}
	return fmt.Errorf("%w; the same command goes on from there", err)
}
