package data

import (
	"context"
	"fmt"
	"iter"
)

// State is a place in a training's data: which batch comes next, and of what. It goes into a checkpoint, as JSON or field by field.
type State struct {
	Epoch int // that runs
	Batch int // of the epoch that comes next, counted from 0

	BatchSize int    // of the loader that Batch counts for; 0 for a BatchSampler
	Seed      uint64 // of that loader
	Batches   int    // in an epoch of that loader; -1 for a [Stream]
}

// StateAt is the state of a training that goes on with a batch of an epoch. After the last batch of an epoch it is that of the next epoch's
// first.
func (l *Loader[B]) StateAt(epoch, batch int) State {
	n := l.Len()
	if n >= 0 && batch >= n {
		epoch, batch = epoch+1, 0
	}
	return State{Epoch: epoch, Batch: batch, BatchSize: l.batchSize(), Seed: l.options.Seed, Batches: n}
}

// Resume is [Loader.Epoch] from a state on: it yields the rest of the epoch, with the same bits as if it had never stopped. Later epochs
// begin as always. It returns an error where the state is that of a loader with other batches, whose count would mean other
// samples here.
//
//	rest, err := loader.Resume(ctx, state)
func (l *Loader[B]) Resume(ctx context.Context, s State) (iter.Seq2[B, error], error) {
	own := l.StateAt(s.Epoch, s.Batch)
	for _, c := range []struct {
		what      string
		was, here any
	}{
		{"batches of", s.BatchSize, own.BatchSize},
		{"the seed", s.Seed, own.Seed},
		{"an epoch of", s.Batches, own.Batches},
	} {
		if c.was != c.here {
			return nil, fmt.Errorf("data: the state is of a loader with %s %v, this one has %v: batch %d would be another", c.what, c.was,
				c.here, s.Batch)
		}
	}
	return l.EpochFrom(ctx, s.Epoch, s.Batch), nil
}

func (l *Loader[B]) batchSize() int {
	if l.options.BatchSampler != nil {
		return 0
	}
	return max(1, l.options.BatchSize)
}
