package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/vision/datasets"
)

// meters are what is seen of a pass through the images. They take tensors: nothing in it waits for the device but the printing.
type meters struct {
	time, loss, top1, top5 meter.Average
	progress               *meter.Progress
	last                   time.Time // when the last batch was done
}

// newMeters begins a pass of that many batches through the images of a network that has a name, if there are two.
func (t *trainer) newMeters(name, prefix, tag string, batches int) *meters {
	m := &meters{
		time: meter.Average{Name: "Time", Format: "%6.3f"},
		loss: meter.Average{Name: "Loss"},
		top1: meter.Average{Name: name + "Acc@1", Format: "%6.2f", Summary: true},
		top5: meter.Average{Name: name + "Acc@5", Format: "%6.2f", Summary: true},
		last: time.Now(),
	}
	m.progress = meter.NewProgress(t.out, prefix, batches, &m.time, &m.loss, &m.top1, &m.top5)
	m.progress.Every, m.progress.Tag = t.printFreq, tag
	if t.log != nil {
		m.progress.Logs = []meter.Log{t.log}
	}
	return m
}

// add records the results of a batch: scores [N, classes], and targets as [trainer.step] has them.
func (m *meters) add(loss, scores, target torch.Tensor) {
	n := scores.Size(0)
	if target.Dim() == 2 {
		target = target.ArgMaxDim(1)
	}
	_, best := scores.Detach().TopK(min(5, scores.Size(1)))
	hits := best.Eq(target.Unsqueeze(1)).To(torch.Float32) // [N, 5], at most one a row
	percent := 100 / float64(n)
	m.loss.Add(loss, n)
	m.top1.Add(hits.Select(1, 0).Sum().MulScalar(percent), n)
	m.top5.Add(hits.Sum().MulScalar(percent), n)
	m.time.Update(time.Since(m.last).Seconds(), 1)
	m.last = time.Now()
	m.progress.Step(n)
}

// header says what will be computed, from which images, on which device.
func (t *trainer) header() {
	precision := t.dtype.String()
	if t.AMP {
		precision += " autocast"
	}
	t.printf("imagenet: %v with %d threads and %d workers, libtorch %s, %s, %v", t.dev, torch.NumThreads(), t.workers, torch.Version(),
		precision, t.format())
	fewest, most := perClass(t.trainFiles)
	t.printf("data: %s: %d images to train on, %d to %d of each of %d classes; %d to measure with", t.data, t.trainFiles.Len(), fewest, most,
		len(t.classes), t.valFiles.Len())
	t.printf("model: %s with %.1f million parameters", t.Arch, float64(nn.NumParameters(t.model))/1e6)
	if t.group != nil {
		t.printf("processes: %d, each with its part of the images", t.Ranks)
	}
	if t.evaluate {
		return
	}
	t.printf("plan: %d x %d batches of %d, %s, learning rate %v, %s", t.Epochs, t.train.Len(), t.Batch, t.Opt, t.LR, t.Scheduler)
	if t.at.Path != "" {
		t.printf("going on in epoch %d after batch %d, from %s", t.at.Epoch, t.at.Batch, t.at.Path)
	}
}

// perClass is the number of images in the smallest and the largest class.
func perClass(files *datasets.ImageFiles) (fewest, most int) {
	counts := make([]int, len(files.Classes))
	for _, class := range files.Targets {
		counts[class]++
	}
	return slices.Min(counts), slices.Max(counts)
}

// summary is the last line of a run. Chance is what naming the most frequent class every time would get.
func (t *trainer) summary() {
	_, most := perClass(t.valFiles)
	text := fmt.Sprintf("done: Acc@1 %.2f %%, where chance is %.2f %%", t.at.Metric, 100*float64(most)/float64(t.valFiles.Len()))
	if t.seen > 0 {
		text += fmt.Sprintf(", %.1f images/s in training", float64(t.seen)/t.busy.Seconds())
	}
	t.printf("%s, %v in all", text, time.Since(t.start).Round(time.Second))
}

// logEpoch logs the learning rate of the epoch, and tells what the machine does.
func (t *trainer) logEpoch() error {
	if t.log == nil {
		return nil
	}
	if err := t.log.AddScalar("train/lr", t.sched.LastLR()[0], t.at.Step); err != nil {
		return err
	}
	reading, err := t.log.Sense(t.at.Step)
	t.printf("%v", reading)
	return err
}

func (t *trainer) printf(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }
