package main

import (
	"time"

	"github.com/libtorch-go/libtorch/examples/internal/meter"
	"github.com/libtorch-go/libtorch/torch"
)

// A pass is one run through the images, as its meters see it. They take tensors: nothing in
// it waits for the device but the printing.
type pass struct {
	time, data, loss, top1, top5 *meter.AverageMeter

	progress *meter.ProgressMeter
	every    int // batches between two lines
	batch    int // batches done
	images   int // images done
	start    time.Time
	last     time.Time // when the last batch was done
}

// newPass begins a pass of that many batches, the first of which may be done already.
func (t *trainer) newPass(prefix string, batches, done int) *pass {
	p := &pass{
		time:  meter.NewAverageMeter("Time", "%6.3f", meter.None),
		data:  meter.NewAverageMeter("Data", "%6.3f", meter.None),
		loss:  meter.NewAverageMeter("Loss", "%.4e", meter.None),
		top1:  meter.NewAverageMeter("Acc@1", "%6.2f", meter.Average),
		top5:  meter.NewAverageMeter("Acc@5", "%6.2f", meter.Average),
		every: t.printFreq,
		batch: done,
		start: time.Now(),
	}
	p.last = p.start
	p.progress = meter.NewProgressMeter(t.out, batches, prefix, p.time, p.data, p.loss, p.top1, p.top5)
	return p
}

// Close removes the bar from the screen and frees what the meters hold.
func (p *pass) Close() {
	p.progress.Close()
	for _, m := range []*meter.AverageMeter{p.loss, p.top1, p.top5} {
		m.Reset()
	}
}

// gotData says that the batch is there, and how long it took to come.
func (p *pass) gotData() { p.data.Update(time.Since(p.last).Seconds(), 1) }

// add records the results of a batch.
func (p *pass) add(loss, scores, labels torch.Tensor) {
	n := labels.Size(0)
	top1, top5 := accuracy(scores, labels)
	p.loss.Add(loss.Detach(), n)
	p.top1.Add(top1, n)
	p.top5.Add(top5, n)
	p.time.Update(time.Since(p.last).Seconds(), 1)
	p.last = time.Now()
	p.images += n
	if p.batch++; p.batch%p.every == 0 {
		p.progress.Display(p.batch)
	}
	p.progress.Advance(p.batch, n)
}

// accuracy is how many percent of the scores [N, classes] are highest, and how many are
// among the five highest, at their labels [N].
func accuracy(scores, labels torch.Tensor) (top1, top5 torch.Tensor) {
	_, best := scores.Detach().TopK(5)
	hits := best.Eq(labels.Unsqueeze(1)).To(torch.Float32) // [N, 5], at most one a row
	percent := 100 / float64(labels.Size(0))
	return hits.Select(1, 0).Sum().MulScalar(percent), hits.Sum().MulScalar(percent)
}
