package data

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// A Dataset gives samples one by one, which it reads, decodes or computes.
type Dataset[S any] interface {
	// Len is the number of samples.
	Len() int
	// At returns sample i. It may be called from several goroutines at once, and
	// should give up when ctx ends.
	At(ctx context.Context, i int) (S, error)
}

// A Source makes whole batches.
type Source[B any] interface {
	// Len is the number of samples.
	Len() int
	// Batch makes a batch of the samples with these indices. Random choices
	// come from r, which is the same for the same batch of the same epoch. Batch
	// runs in a [torch.Scope]: it closes nothing, and the loader keeps what it
	// returns. It may be called from several goroutines at once, and should give up
	// when ctx ends.
	Batch(ctx context.Context, indices []int, r *rand.Rand) (B, error)
}

// Sample is an input with its target.
type Sample struct {
	Input, Target torch.Tensor
}

// Batch is what training loops usually want: inputs and targets of shape [Len(), ...].
type Batch struct {
	Input, Target torch.Tensor
	Index         []int // the indices of the samples
}

// Len is the number of samples in the batch.
func (b Batch) Len() int { return len(b.Index) }

// Collate makes a source of a data set and of a function that joins samples into a
// batch, such as [Stack]. Random choices of join come from r.
func Collate[S, B any](set Dataset[S], join func(samples []S, indices []int, r *rand.Rand) (B, error)) Source[B] {
	return collated[S, B]{set, join}
}

type collated[S, B any] struct {
	set  Dataset[S]
	join func([]S, []int, *rand.Rand) (B, error)
}

func (c collated[S, B]) Len() int { return c.set.Len() }

func (c collated[S, B]) Batch(ctx context.Context, indices []int, r *rand.Rand) (batch B, err error) {
	samples := make([]S, len(indices))
	for k, i := range indices {
		if ctx.Err() != nil {
			return batch, context.Cause(ctx)
		}
		visit(ctx, i)
		if samples[k], err = c.set.At(ctx, i); err != nil {
			return batch, err
		}
	}
	visit(ctx, -1)
	return c.join(samples, indices, r)
}

// Stack joins samples of equal shapes along a new first dimension. It is the join of
// [Collate] for data sets of [Sample]. Samples without a target give a batch without.
func Stack(samples []Sample, indices []int, _ *rand.Rand) (Batch, error) {
	inputs, targets := make([]torch.Tensor, len(samples)), make([]torch.Tensor, len(samples))
	for k, s := range samples {
		inputs[k], targets[k] = s.Input, s.Target
	}
	batch := Batch{Input: torch.Stack(inputs), Index: indices}
	if slices.ContainsFunc(targets, torch.Tensor.Defined) {
		batch.Target = torch.Stack(targets)
	}
	return batch, nil
}

// Map makes a source whose batches are those of another source, changed by fn. It is
// for work on whole batches, such as augmentation. Random choices come from r.
func Map[A, B any](from Source[A], fn func(batch A, r *rand.Rand) B) Source[B] {
	return mapped[A, B]{from, fn}
}

type mapped[A, B any] struct {
	from Source[A]
	fn   func(A, *rand.Rand) B
}

func (m mapped[A, B]) Len() int { return m.from.Len() }

func (m mapped[A, B]) Batch(ctx context.Context, indices []int, r *rand.Rand) (batch B, err error) {
	a, err := m.from.Batch(ctx, indices, r)
	if err != nil {
		return batch, err
	}
	return m.fn(a, r), nil
}

// TensorDataset is a source whose data are two tensors.
type TensorDataset struct {
	input, target rows
}

// NewTensorDataset makes a source of two tensors whose first dimension counts the
// samples, on any device; the target may be undefined. The tensors have to stay open
// for as long as the set is used. It panics with a *[torch.Error] if their lengths differ.
func NewTensorDataset(input, target torch.Tensor) *TensorDataset {
	set := &TensorDataset{input: newRows(input)}
	if target.Defined() {
		set.target = newRows(target)
		if set.target.len() != set.input.len() {
			torch.Throw("tensor_dataset", torch.KindValue, "%d inputs have %d targets", set.input.len(), set.target.len())
		}
	}
	return set
}

// Len is the number of samples.
func (d *TensorDataset) Len() int { return d.input.len() }

// Batch selects the samples.
func (d *TensorDataset) Batch(_ context.Context, indices []int, _ *rand.Rand) (Batch, error) {
	index := torch.FromSlice(indices)
	return Batch{Input: d.input.pick(index), Target: d.target.pick(index), Index: indices}, nil
}

// rows is a tensor from which rows are picked along its first dimension.
type rows struct {
	t     torch.Tensor
	shape []int
	flat  bool // picked as a matrix, which libtorch copies row by row: up to 20 times faster
}

func newRows(t torch.Tensor) rows {
	shape := t.Shape()
	if len(shape) == 0 {
		torch.Throw("tensor_dataset", torch.KindIndex, "a tensor without dimensions has no samples")
	}
	return rows{t, shape, len(shape) > 2 && t.NumEl() > 0 && t.IsContiguous()}
}

func (r rows) len() int { return r.shape[0] }

func (r rows) pick(index torch.Tensor) torch.Tensor {
	if !r.t.Defined() {
		return torch.Tensor{}
	}
	index = index.To(r.t.Device())
	if !r.flat {
		return r.t.IndexSelect(0, index)
	}
	picked := r.t.View(r.shape[0], -1).IndexSelect(0, index)
	return picked.View(append([]int{-1}, r.shape[1:]...)...)
}
