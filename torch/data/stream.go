package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/libtorch-go/libtorch/internal/option"
)

// A Stream is a data set without places: its samples come one after the other, from archives, a queue or a generator, and
// their number need not be known. It is called for every epoch, and gives up when ctx ends. An error is its last item.
//
//	lines := data.Stream[string](func(ctx context.Context, epoch int) iter.Seq2[string, error] {
//		return func(yield func(string, error) bool) {
//			…
//		}
//	})
//	loader, err := data.NewStreamLoader(lines.Shuffle(10_000, seed), tokenize, data.LoaderOptions{BatchSize: 64, Workers: 2})
//
// A stream is read by one goroutine, whatever the number of workers: the samples come once, in their order. It should yield what
// is quick to read, such as bytes; decoding is for the function that joins samples, which the workers run.
// Tensors among the samples belong to the loader, which closes them when they are joined.
type Stream[S any] func(ctx context.Context, epoch int) iter.Seq2[S, error]

// Shuffle is the samples in random order, as far as a buffer of size samples goes: each is drawn from those in the buffer,
// and the next of the stream takes its place. The order depends on the seed and the epoch alone. It panics with a
// *[torch.Error] unless size is
// positive.
func (s Stream[S]) Shuffle(size int, seed uint64) Stream[S] {
	need("shuffle", atLeast("the size of the buffer", size, 1))
	return func(ctx context.Context, epoch int) iter.Seq2[S, error] {
		return func(yield func(S, error) bool) {
			r := rand.New(rand.NewPCG(seed, uint64(epoch)))
			var buffer []S
			defer func() { discard(buffer) }()
			for sample, err := range s(ctx, epoch) {
				if err != nil {
					yield(sample, err)
					return
				}
				if len(buffer) < size {
					buffer = append(buffer, sample)
					continue
				}
				k := r.IntN(size)
				buffer[k], sample = sample, buffer[k]
				if !yield(sample, nil) {
					return
				}
			}
			r.Shuffle(len(buffer), func(i, k int) { buffer[i], buffer[k] = buffer[k], buffer[i] })
			for len(buffer) > 0 {
				sample := buffer[0]
				buffer = buffer[1:]
				if !yield(sample, nil) {
					return
				}
			}
		}
	}
}

// Shard is every world-th sample from the rank-th on: the part of one of several processes that read the same stream.
// The parts' lengths may
// differ by one. It panics with a *[torch.Error] unless 0 <= rank < world.
func (s Stream[S]) Shard(rank, world int) Stream[S] {
	need("shard", atLeast("the number of shards", world, 1))
	need("shard", between("the rank", rank, 0, world-1))
	return func(ctx context.Context, epoch int) iter.Seq2[S, error] {
		return func(yield func(S, error) bool) {
			k := 0
			for sample, err := range s(ctx, epoch) {
				if err == nil && k%world != rank {
					discard(sample)
				} else if !yield(sample, err) || err != nil {
					return
				}
				k++
			}
		}
	}
}

// NewStreamLoader makes a loader of the samples of a stream and of a function that joins them into a batch, such as
// [Stack], which gets the samples' numbers in the stream as their indices. Of the options it takes those that do not
// choose samples: BatchSize,
// DropLast, Seed, Workers, Prefetch, Timeout, PinMemory and Device. The number of batches is unknown: Len is -1.
// [Loader.EpochFrom] reads and drops the samples of the batches before.
func NewStreamLoader[S, B any](stream Stream[S], join func(samples []S, indices []int, r *rand.Rand) (B, error),
	opts ...LoaderOptions) (*Loader[B], error) {
	if stream == nil || join == nil {
		return nil, errors.New("data: a loader needs a stream and a function that joins its samples, got nil")
	}
	o := option.One(opts)
	if o.Shuffle || o.Sampler != nil || o.BatchSampler != nil {
		return nil, errors.New("data: a stream's samples come in its own order: Shuffle, Sampler and BatchSampler are not for it; " +
			"Stream.Shuffle is")
	}
	l, err := newLoader[B](o)
	if err != nil {
		return nil, err
	}
	if field := hiddenField[S](); field != "" {
		return nil, fmt.Errorf("data: a loader cannot free the tensors in field %s, which is not exported", field)
	}
	size := l.batchSize()
	l.count = func() int { return -1 }
	l.jobs = func(ctx context.Context, epoch, first int) (jobs[B], error) {
		if err := between("the first batch", first, 0, math.MaxInt/size); err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
		r := &reader[S, B]{
			ctx: ctx, stream: stream, join: join, epoch: epoch, number: first, size: size, dropLast: o.DropLast,
			batches: make(chan *job[B]), gone: make(chan struct{}), await: l.await,
		}
		go r.read()
		return r, nil
	}
	return l, nil
}

// A reader goes through a stream and hands out its samples, a batch at a time.
type reader[S, B any] struct {
	ctx      context.Context
	stream   Stream[S]
	join     func([]S, []int, *rand.Rand) (B, error)
	epoch    int
	number   int // of the next batch
	size     int
	dropLast bool
	batches  chan *job[B]
	gone     chan struct{}
	await    func(gone <-chan struct{}, n int)
}

func (r *reader[S, B]) next() (*job[B], bool) {
	select {
	case j, ok := <-r.batches:
		return j, ok
	case <-r.ctx.Done(): // a worker's context may learn so a moment later
		return newJob(r.epoch, 0, func(context.Context, *rand.Rand) (batch B, _ error) { return batch, context.Cause(r.ctx) }), true
	}
}

func (r *reader[S, B]) end() int { return math.MaxInt }

func (r *reader[S, B]) stop() { r.await(r.gone, 1) }

// read is the reader's goroutine.
func (r *reader[S, B]) read() {
	defer close(r.gone)
	var samples []S
	at, first := 0, r.number*r.size // of the first of the samples, and where to begin
	err := guard(func() error {
		for sample, err := range r.stream(r.ctx, r.epoch) {
			if err != nil {
				return err
			}
			if at < first { // EpochFrom has these behind it
				discard(sample)
				at++
				continue
			}
			samples = append(samples, sample)
			if len(samples) == r.size {
				if !r.hand(samples, at) {
					return nil
				}
				at += len(samples)
				samples = nil
			}
		}
		return nil
	})
	switch {
	case r.ctx.Err() != nil:
		discard(samples)
		return
	case err != nil:
		discard(samples)
		r.fail(err)
	case len(samples) > 0 && !r.dropLast:
		r.hand(samples, at)
	default:
		discard(samples)
	}
	close(r.batches)
}

// hand hands out a batch of samples, of which the first has that number in the stream. It returns false when nobody takes it
// any more.
func (r *reader[S, B]) hand(samples []S, at int) bool {
	indices, taken := make([]int, len(samples)), false
	for k := range indices {
		indices[k] = at + k
	}
	j := newJob(r.epoch, r.number, func(_ context.Context, random *rand.Rand) (B, error) {
		taken = true
		replaceTensors(&samples, adopt)
		return r.join(samples, indices, random)
	})
	j.drop = func() {
		if !taken {
			discard(samples)
		}
	}
	return r.send(j)
}

// fail hands out the error that ends the stream, in place of a batch.
func (r *reader[S, B]) fail(err error) {
	r.send(newJob(r.epoch, r.number, func(context.Context, *rand.Rand) (batch B, _ error) { return batch, err }))
}

func (r *reader[S, B]) send(j *job[B]) bool {
	r.number++
	select {
	case r.batches <- j:
		return true
	case <-r.ctx.Done():
		j.drop()
		return false
	}
}
