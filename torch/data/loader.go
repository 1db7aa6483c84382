package data

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
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

	Workers  int           // goroutines that make batches ahead, up to 1024; 0: the loop makes each when it asks for it
	Prefetch int           // batches a worker makes ahead, up to 4096; default 2
	Timeout  time.Duration // how long the loop waits for a batch of a worker; default: for ever

	// PinMemory puts the tensors of batches into page-locked memory, from which copies
	// to a CUDA device do not block. It is ignored on a machine without one.
	PinMemory bool

	// Device is where batches go; default: they stay where the source makes them. Whoever makes a batch starts its copy, from
	// pinned memory and on a stream beside the computation's, as soon as it is made; the loop gets it when it is
	// there, without waiting for it on the CPU. Up to Workers x Prefetch batches are on the device ahead of use.
	Device torch.Device
}

// Loader makes the batches of a source, epoch after epoch. It has no state but its [LoaderStats]: several
// epochs may run at the same time.
type Loader[B any] struct {
	options LoaderOptions
	count   func() int // of batches in an epoch; -1: unknown
	jobs    func(ctx context.Context, epoch, first int) (jobs[B], error)
	ahead   copier
	tally   tally
	grace   time.Duration // how long a stopped worker is waited for
	after   func(time.Duration) <-chan time.Time
}

// NewLoader makes a loader. It returns an error for options
// that make no sense, for a source or a sampler that cannot tell its length, and for a batch
// type with tensors in fields that are not exported, which the loader could not free.
func NewLoader[B any](source Source[B], opts ...LoaderOptions) (*Loader[B], error) {
	o := option.One(opts)
	switch {
	case source == nil:
		return nil, errors.New("data: a loader needs a source, got nil")
	case o.Shuffle && o.Sampler != nil:
		return nil, errors.New("data: a loader takes either Shuffle or a Sampler")
	case o.BatchSampler != nil && (o.BatchSize != 0 || o.Shuffle || o.DropLast || o.Sampler != nil):
		return nil, errors.New("data: a loader with a BatchSampler takes no BatchSize, Shuffle, DropLast or Sampler")
	}
	l, err := newLoader[B](o)
	if err != nil {
		return nil, err
	}
	err = guard(func() error {
		n := source.Len()
		if err := atLeast("the length of the source", n, 0); err != nil {
			return err
		}
		batches := o.batchSampler(n)
		l.count, l.jobs = batches.Len, plannedOf(source, batches)
		return atLeast("the length of the sampler", l.Len(), 0)
	})
	if err != nil {
		return nil, fmt.Errorf("data: a loader cannot be made: %w", err)
	}
	return l, nil
}

// newLoader is what all loaders have.
func newLoader[B any](o LoaderOptions) (*Loader[B], error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("data: a loader's %w", err)
	}
	if field := hiddenField[B](); field != "" {
		return nil, fmt.Errorf("data: a loader cannot free the tensors in field %s, which is not exported", field)
	}
	ahead, err := newCopier(o.Device)
	if err != nil {
		return nil, fmt.Errorf("data: a loader's Device: %w", err)
	}
	if o.Prefetch == 0 {
		o.Prefetch = 2
	}
	o.PinMemory = (o.PinMemory || ahead.device.Type() == torch.DeviceCUDA) && torch.CheckDevice(torch.CUDA(0)) == nil
	return &Loader[B]{options: o, ahead: ahead, grace: 5 * time.Second, after: time.After}, nil
}

// check checks the numbers. Every worker has an OS thread, and Go ends a process that has ten
// thousand threads or no memory for the list of pending batches.
func (o *LoaderOptions) check() error {
	const mostWorkers, mostAhead = 1024, 4096
	return cmp.Or(
		atLeast("BatchSize", o.BatchSize, 0),
		between("Workers", o.Workers, 0, mostWorkers),
		between("Prefetch", o.Prefetch, 0, mostAhead),
		atLeast("Timeout", o.Timeout, 0),
	)
}

// batchSampler is the batch sampler that the options describe for a source of n
// samples.
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

// Len is the number of batches in an epoch, or -1 for those of a [Stream].
func (l *Loader[B]) Len() int { return l.count() }

// Epoch runs through the batches of an epoch; epochs differ in the random order and in the
// random choices of the source. The body of the loop is a [torch.Scope]: what is made in it,
// the batch included, is freed at its end.
//
// An error is the last item: an [*Error] if a batch could not be made, or the cause of ctx
// once that has ended.
//
// For [iter.Pull2] the batch alone is freed, when the next one is asked for or the iterator is
// stopped. Its functions have to be called where Pull2 was, in the same scope and mode or in
// none, because Go ends a process in which a coroutine changes between a goroutine that is locked
// to its thread and one that is not. Those of [Loader.Pull] can be called everywhere.
func (l *Loader[B]) Epoch(ctx context.Context, epoch int) iter.Seq2[B, error] {
	return l.EpochFrom(ctx, epoch, 0)
}

// EpochFrom is [Loader.Epoch] without the first batches: it goes on with batch number
// first, counted from 0, where a run was interrupted.
func (l *Loader[B]) EpochFrom(ctx context.Context, epoch, first int) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		body := lend[B]
		if cgo.Pulled() {
			body = show[B] // a scope would lock the coroutine to its thread
		}
		r := l.start(ctx, epoch, first)
		defer r.stop()
		for {
			batch, err, ok := r.next()
			switch {
			case !ok:
				return
			case err != nil:
				yield(batch, err)
				return
			case !body(batch, yield):
				return
			}
		}
	}
}

// Pull is [Loader.Epoch] for a program that asks for each batch when it needs it, rather than
// in a loop: for two loaders in step, or a stream without end. It corresponds to [iter.Pull2],
// but can be used in scopes, modes and loops over other loaders, where Go does not permit
// Pull2. next returns the next batch or the error that ends the epoch, and false after its
// end. The tensors of a batch live until next or stop is called again. stop ends the epoch; it
// must be called unless next has returned false, and may always be called.
//
//	next, stop := loader.Pull(ctx, epoch)
//	defer stop()
//	batch, err, ok := next()
func (l *Loader[B]) Pull(ctx context.Context, epoch int) (next func() (B, error, bool), stop func()) {
	var r *run[B]
	var last B
	next = func() (batch B, err error, ok bool) {
		if r == nil {
			r = l.start(ctx, epoch, 0)
		}
		discard(last)
		last = *new(B)
		batch, err, ok = r.next()
		if err != nil || !ok {
			r.stop()
			return batch, err, ok
		}
		last = batch
		return batch, nil, true
	}
	stop = func() {
		if r == nil {
			r = &run[B]{ended: true}
		}
		discard(last)
		last = *new(B)
		r.stop()
	}
	return next, stop
}

// lend runs the body of the loop in a scope that owns the batch.
func lend[B any](batch B, yield func(B, error) bool) (more bool) {
	torch.Scope(func() {
		replaceTensors(&batch, adopt)
		more = yield(batch, nil)
	})
	return more
}

// adopt makes a tensor one of the scope's.
func adopt(t torch.Tensor) torch.Tensor {
	defer t.Close()
	return t.Alias()
}

// show hands the batch out and frees it, and nothing else, when the next one is asked for.
func show[B any](batch B, yield func(B, error) bool) (more bool) {
	defer discard(batch)
	return yield(batch, nil)
}

// discard frees a batch that is not needed any more.
func discard[B any](batch B) {
	replaceTensors(&batch, func(t torch.Tensor) torch.Tensor {
		t.Close()
		return t
	})
}

// A parcel is a batch on its way to the loop.
type parcel[B any] struct {
	batch  B
	copied *cuda.Event // the end of its copy to a device; nil: there is none
	err    error
}

// discard frees a parcel that nobody takes.
func (p parcel[B]) discard() {
	discard(p.batch)
	if p.copied != nil {
		p.copied.Close()
	}
}

// open hands the batch to the loop.
func (l *Loader[B]) open(p parcel[B]) (B, error) {
	if p.copied != nil {
		arrive(l.ahead, &p.batch, p.copied)
	}
	return p.batch, p.err
}

// build makes a batch whose tensors belong to no scope. Every error but that of an ended
// context is an [*Error].
func (l *Loader[B]) build(ctx context.Context, j *job[B], worker int) (p parcel[B]) {
	defer j.drop()
	if ctx.Err() != nil {
		return parcel[B]{err: context.Cause(ctx)}
	}
	began := time.Now()
	err := guard(func() (err error) {
		torch.Scope(func() { err = l.fill(context.WithValue(ctx, sampleKey{}, &j.sample), j, &p) })
		return err
	})
	switch {
	case err == nil:
		l.tally.busy.Add(int64(time.Since(began)))
		return p
	case ctx.Err() != nil:
		return parcel[B]{err: context.Cause(ctx)}
	}
	return parcel[B]{err: j.failure(worker, err)}
}

func (l *Loader[B]) fill(ctx context.Context, j *job[B], p *parcel[B]) error {
	batch, err := j.make(ctx, l.random(j))
	if err != nil {
		return err
	}
	if l.options.PinMemory {
		replaceTensors(&batch, pin)
	}
	copied := copyAhead(l.ahead, &batch)
	replaceTensors(&batch, l.keep)
	*p = parcel[B]{batch: batch, copied: copied}
	return nil
}

// keep lets a tensor live, and counts its bytes.
func (l *Loader[B]) keep(t torch.Tensor) torch.Tensor {
	if t.Defined() {
		l.tally.bytes.Add(int64(t.NumEl() * t.ElementSize()))
	}
	return t.Keep()
}

func pin(t torch.Tensor) torch.Tensor {
	if !t.Defined() || t.Device() != torch.CPU {
		return t
	}
	return t.PinMemory()
}

// random is the source of random choices of one batch.
func (l *Loader[B]) random(j *job[B]) *rand.Rand {
	var seed [32]byte
	for i, part := range []uint64{l.options.Seed, uint64(j.epoch), uint64(j.number)} {
		binary.LittleEndian.PutUint64(seed[8*i:], part)
	}
	return rand.New(rand.NewChaCha8(seed))
}
