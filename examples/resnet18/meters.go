package main

import (
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
)

// meters are what is seen of a pass through the images. They take tensors: nothing in it waits
// for the device but the printing.
type meters struct {
	time, data       meter.Average // seconds of a batch, and those in which it was waited for
	loss, top1, top5 meter.Average
	progress         *meter.Progress
	images           int       // done in this pass
	start, last      time.Time // of the pass, and when the last batch was done
	before           data.LoaderStats
}

// newMeters begins a pass over the batches of a loader, the first of which may be done already. -logdir gets its figures under
// names that begin with tag; the last batch is that of the run's step number end.
func (t *trainer) newMeters(prefix, tag string, loader *data.Loader[data.Batch], done, end int) *meters {
	m := &meters{
		time:  meter.Average{Name: "Time", Format: "%6.3f"},
		data:  meter.Average{Name: "Data", Format: "%6.3f"},
		loss:  meter.Average{Name: "Loss"},
		top1:  meter.Average{Name: "Acc@1", Format: "%6.2f", Summary: true},
		top5:  meter.Average{Name: "Acc@5", Format: "%6.2f", Summary: true},
		start: time.Now(), before: loader.Stats(),
	}
	m.last = m.start
	m.progress = meter.NewProgress(t.out, prefix, loader.Len(), &m.time, &m.data, &m.loss, &m.top1, &m.top5)
	m.progress.Done, m.progress.Every = done, t.printFreq
	if m.progress.Tag, m.progress.First = tag, end-loader.Len(); t.log != nil {
		m.progress.Logs = []meter.Log{t.log}
	}
	return m
}

// gotData says that the batch is there, and how long it took to come.
func (m *meters) gotData() { m.data.Update(time.Since(m.last).Seconds(), 1) }

// add records the results of a batch.
func (m *meters) add(loss, scores, labels torch.Tensor) {
	n := labels.Size(0)
	top1, top5 := accuracy(scores, labels)
	m.loss.Add(loss, n)
	m.top1.Add(top1, n)
	m.top5.Add(top5, n)
	m.time.Update(time.Since(m.last).Seconds(), 1)
	m.last = time.Now()
	m.images += n
	m.progress.Step(n)
}

// accuracy is how many percent of the scores [N, classes] are highest, and how many are
// among the five highest, at their labels [N].
func accuracy(scores, labels torch.Tensor) (top1, top5 torch.Tensor) {
	_, best := scores.Detach().TopK(5)
	hits := best.Eq(labels.Unsqueeze(1)).To(torch.Float32) // [N, 5], at most one a row
	percent := 100 / float64(labels.Size(0))
	return hits.Select(1, 0).Sum().MulScalar(percent), hits.Sum().MulScalar(percent)
}
