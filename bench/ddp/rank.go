package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/libtorch-go/libtorch/internal/talk"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/vision/models"
)

// question is what a rank is asked to do: "make" a model, or a round of steps "alone" or with the others ("step"), or the "exchange".
type question struct {
	Do                 string
	Bucket             float64
	Steps, Batch, Size int
}

// reply tells the seconds of a step, or of the exchange.
type reply struct {
	Seconds, Forward, Backward, First float64
	Bytes, Last                       int // what a model's gradients and the last bucket have
	Error                             string
}

// mega is libtorch's MB.
const mega = 1 << 20

// answer is a rank of ours.
func answer() error {
	g, err := dist.InitProcessGroup(context.Background(), "gloo")
	if err != nil {
		return err
	}
	defer g.Close()
	torch.SetNumThreads(1)
	t := &training{g: g}
	defer t.close()
	return talk.Answer(os.Stdin, os.Stdout, func(q question) (r reply) {
		var err error
		broken := torch.Try(func() { r, err = t.do(q) })
		if broken != nil {
			err = broken
		}
		if err != nil {
			r.Error = err.Error()
		}
		return r
	})
}

// training is a model with its data.
type training struct {
	g     *dist.Group
	ddp   *dist.DDP[*models.ResNet]
	opt   *optim.SGD
	x, y  torch.Tensor
	whole torch.Tensor // as large as all gradients
}

func (t *training) do(q question) (r reply, err error) {
	switch q.Do {
	case "make":
		if err = t.make(q); err != nil {
			return r, err
		}
		for _, p := range nn.Parameters(t.ddp) {
			r.Bytes += p.NumEl() * p.ElementSize()
		}
		r.Last = lastBucket(nn.Parameters(t.ddp), q.Bucket)
		t.steps(t.ddp, 2, &reply{}) // buckets are made anew after the first
		return r, nil
	case "alone":
		t.steps(t.ddp.Module, q.Steps, &r) // in NoSync the first pass would still exchange buffers
		return r, nil
	case "step", "exchange":
		if err := t.g.Barrier().Wait(context.Background()); err != nil {
			return r, err
		}
		if q.Do == "exchange" {
			began := time.Now()
			err := t.g.AllReduce(t.whole).Wait(context.Background())
			r.Seconds = time.Since(began).Seconds()
			return r, err
		}
		t.steps(t.ddp, q.Steps, &r)
		s := t.ddp.Stats()
		r.First = (s.AverageBackward - s.AverageOverlap).Seconds()
		return r, nil
	}
	return r, fmt.Errorf("a rank cannot %q", q.Do)
}

func (t *training) make(q question) (err error) {
	t.close()
	torch.ManualSeed(0)
	net := models.ResNet18(1000)
	var o dist.DDPOptions
	if q.Bucket != defaultBucket {
		o.BucketCapMB = q.Bucket
	}
	if t.ddp, err = dist.NewDDP(t.g, net, o); err != nil {
		return err
	}
	t.opt = optim.NewSGD(nn.Parameters(net), 0.01)
	t.x, t.y = torch.RandN(q.Batch, 3, q.Size, q.Size), torch.RandIntN(1000, q.Batch)
	count := 0
	for _, p := range nn.Parameters(net) {
		count += p.NumEl()
	}
	t.whole = torch.Ones(count)
	return nil
}

func (t *training) close() {
	if t.ddp == nil {
		return
	}
	t.ddp.Close()
	nn.Close(t.ddp.Module)
	t.opt.Close()
	torch.Close(t.x, t.y, t.whole)
	t.ddp = nil
}

// steps makes steps and tells the means of their times.
func (t *training) steps(net nn.Layer, count int, r *reply) {
	began := time.Now()
	for range count {
		torch.Scope(func() {
			start := time.Now()
			loss := F.CrossEntropy(net.Forward(t.x), t.y)
			half := time.Now()
			loss.Backward()
			r.Forward += half.Sub(start).Seconds() / float64(count)
			r.Backward += time.Since(half).Seconds() / float64(count)
			t.opt.Step()
			t.opt.ZeroGrad()
		})
	}
	r.Seconds = time.Since(began).Seconds() / float64(count)
}

// defaultBucket is DDP's, in MB.
const defaultBucket = 25

// lastBucket is what the last bucket of a pass has in bytes: gradients come from the last parameter to the first, into buckets each of
// which is full as soon as it has reached its size; the first is one of 1 MB by default.
func lastBucket(params []torch.Tensor, mb float64) int {
	limit, full := int(mb*mega), 0
	next := limit
	if mb == defaultBucket {
		limit = mega
	}
	for _, p := range slices.Backward(params) {
		if full >= limit {
			limit, full = next, 0
		}
		full += p.NumEl() * p.ElementSize()
	}
	return full
}
