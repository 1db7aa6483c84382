package data

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/libtorch-go/libtorch/torch"
)

// LoaderOptions are the settings of a [Loader], with the names and defaults of PyTorch's
// DataLoader.
type LoaderOptions struct {
	BatchSize int  // samples in a batch; default 1
	Shuffle   bool // visit the samples in random order: Random(source.Len(), Seed)
	DropLast  bool // leave out a last batch that is not full
	Seed      uint64

	Sampler      Sampler      // which samples, in what order; instead of Shuffle
	BatchSampler BatchSampler // which batches; instead of all the above but Seed

	Workers  int           // goroutines that make batches ahead; 0: the loop makes each when it asks for it
	Prefetch int           // batches a worker makes ahead; default 2
	Timeout  time.Duration // how long the loop waits for a batch of a worker; default: for ever

	// PinMemory puts the tensors of batches into page-locked memory, from which
	// copies to a CUDA device do not block. It is ignored where there is none.
	PinMemory bool
}

// Loader makes the batches of a source, epoch after epoch. It has no state: several
// epochs may run at the same time.
type Loader[B any] struct {
	source  Source[B]
	batches BatchSampler
	options LoaderOptions
	grace   time.Duration // how long a stopped worker is waited for
	after   func(time.Duration) <-chan time.Time
}

// NewLoader makes a loader; nil options are the defaults. It returns an error for options
// that make no sense, and for a batch type with tensors in fields that are not exported,
// which the loader could not free.
func NewLoader[B any](source Source[B], options *LoaderOptions) (*Loader[B], error) {
	l := &Loader[B]{source: source, grace: 5 * time.Second, after: time.After}
	if options != nil {
		l.options = *options
	}
	o := &l.options
	switch {
	case o.BatchSize < 0 || o.Workers < 0 || o.Prefetch < 0 || o.Timeout < 0:
		return nil, errors.New("data: a loader's BatchSize, Workers, Prefetch and Timeout cannot be negative")
	case o.Shuffle && o.Sampler != nil:
		return nil, errors.New("data: a loader takes either Shuffle or a Sampler")
	case o.BatchSampler != nil && (o.BatchSize != 0 || o.Shuffle || o.DropLast || o.Sampler != nil):
		return nil, errors.New("data: a loader with a BatchSampler takes no BatchSize, Shuffle, DropLast or Sampler")
	}
	if _, field := survey(reflect.TypeFor[B](), map[reflect.Type]bool{}); field != "" {
		return nil, fmt.Errorf("data: a loader cannot free the tensors in field %s, which is not exported", field)
	}
	if o.Prefetch == 0 {
		o.Prefetch = 2
	}
	o.PinMemory = o.PinMemory && torch.CheckDevice(torch.CUDA(0)) == nil
	l.batches = o.batchSampler(source.Len())
	return l, nil
}

// batchSampler is the one that the options amount to for a source of n samples.
func (o *LoaderOptions) batchSampler(n int) BatchSampler {
	if o.BatchSampler != nil {
		return o.BatchSampler
	}
	samples := o.Sampler
	switch {
	case samples != nil:
	case o.Shuffle:
		samples = Random(n, o.Seed)
	default:
		samples = Sequential(n)
	}
	return Batched(samples, max(1, o.BatchSize), o.DropLast)
}

// Len is the number of batches in an epoch.
func (l *Loader[B]) Len() int { return l.batches.Len() }

// Epoch runs through the batches of an epoch; epochs differ in the random order and in the
// random choices of the source. The body of the loop is a [torch.Scope]: what is made in it,
// the batch included, is freed at its end.
//
// An error is the last item: an [*Error] if a batch could not be made, or the cause of ctx
// once that has ended.
func (l *Loader[B]) Epoch(ctx context.Context, epoch int) iter.Seq2[B, error] {
	return l.EpochFrom(ctx, epoch, 0)
}

// EpochFrom is [Loader.Epoch] without the first batches: it goes on with batch number
// first, counted from 0, where a run was interrupted.
func (l *Loader[B]) EpochFrom(ctx context.Context, epoch, first int) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		jobs, err := l.jobs(epoch, first)
		if err != nil {
			yield(*new(B), err)
			return
		}
		next := func(k int) (B, error) { return l.build(ctx, &jobs[k], 0) }
		if l.options.Workers > 0 {
			crew := l.hire(ctx, jobs)
			defer crew.dismiss()
			next = func(int) (B, error) { return crew.next() }
		}
		for k := range jobs {
			batch, err := next(k)
			if err != nil {
				yield(batch, err)
				return
			}
			if !lend(batch, yield) {
				return
			}
		}
	}
}

// A job is to make one batch.
type job struct {
	epoch, number int
	indices       []int
	sample        atomic.Int64 // which one is being made; -1: none in particular
}

func (j *job) failure(worker int, err error) error {
	return &Error{Epoch: j.epoch, Batch: j.number, Index: int(j.sample.Load()), Worker: worker, Err: err}
}

// A source that makes samples one by one tells so through its context, so that an error, a
// panic or a delay can be traced to the sample.
type sampleKey struct{}

func visit(ctx context.Context, i int) {
	if sample, ok := ctx.Value(sampleKey{}).(*atomic.Int64); ok {
		sample.Store(int64(i))
	}
}

// jobs lists the work of an epoch.
func (l *Loader[B]) jobs(epoch, first int) (jobs []job, err error) {
	err = guard(func() error {
		batches := l.batches.Batches(epoch)
		if first < 0 || first > len(batches) {
			return fmt.Errorf("data: epoch %d has no batch %d, only %d of them", epoch, first, len(batches))
		}
		jobs = make([]job, len(batches)-first)
		for k := range jobs {
			j := &jobs[k]
			j.epoch, j.number, j.indices = epoch, first+k, batches[first+k]
			j.sample.Store(-1)
		}
		return nil
	})
	return jobs, err
}

// build makes a batch whose tensors belong to no scope. Every error but that of an ended
// context is an [*Error].
func (l *Loader[B]) build(ctx context.Context, j *job, worker int) (batch B, err error) {
	if ctx.Err() != nil {
		return batch, context.Cause(ctx)
	}
	err = guard(func() (err error) {
		torch.Scope(func() { err = l.fill(context.WithValue(ctx, sampleKey{}, &j.sample), j, &batch) })
		return err
	})
	switch {
	case err == nil:
		return batch, nil
	case ctx.Err() != nil:
		return batch, context.Cause(ctx)
	}
	return batch, j.failure(worker, err)
}

func (l *Loader[B]) fill(ctx context.Context, j *job, batch *B) error {
	for _, i := range j.indices {
		if n := l.source.Len(); i < 0 || i >= n {
			return fmt.Errorf("the sampler asks for sample %d of %d", i, n)
		}
	}
	made, err := l.source.Batch(ctx, j.indices, l.random(j))
	if err != nil {
		return err
	}
	if l.options.PinMemory {
		replaceTensors(&made, pin)
	}
	replaceTensors(&made, torch.Tensor.Keep)
	*batch = made
	return nil
}

func pin(t torch.Tensor) torch.Tensor {
	if !t.Defined() || t.Device() != torch.CPU {
		return t
	}
	return t.PinMemory()
}

// random is the source of random choices of one batch.
func (l *Loader[B]) random(j *job) *rand.Rand {
	var seed [32]byte
	for i, part := range []uint64{l.options.Seed, uint64(j.epoch), uint64(j.number)} {
		binary.LittleEndian.PutUint64(seed[8*i:], part)
	}
	return rand.New(rand.NewChaCha8(seed))
}

// lend runs the body of the loop in a scope that owns the batch.
func lend[B any](batch B, yield func(B, error) bool) (more bool) {
	torch.Scope(func() {
		replaceTensors(&batch, func(t torch.Tensor) torch.Tensor {
			defer t.Close()
			return t.Alias()
		})
		more = yield(batch, nil)
	})
	return more
}

// discard frees a batch that nobody wants any more.
func discard[B any](batch B) {
	replaceTensors(&batch, func(t torch.Tensor) torch.Tensor {
		t.Close()
		return torch.Tensor{}
	})
}
