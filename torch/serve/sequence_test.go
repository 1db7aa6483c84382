package serve_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// summing is a model whose state is the sum of what it has seen, times a factor.
func summing(factor float64) *probe {
	sig := vectors(3)
	sig.States = []serve.Spec{spec("sum", -1, 3)}
	return &probe{Model: serve.Func(sig, func(in []torch.Tensor) []torch.Tensor {
		sum := in[0].Add(in[1])
		return []torch.Tensor{sum.MulScalar(factor), sum}
	})}
}

// Sequences keep their states, in batches with others, and one request after the other.
func TestSequences(t *testing.T) {
	torchtest.NoLeaks(t)
	s := start(t, summing(1), serve.Options{Lanes: 2, MaxBatch: 8, MaxDelay: 5 * time.Millisecond})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			id, sum := fmt.Sprint("sequence ", i), float32(0)
			for k := range 10 {
				sum += float32(i)
				got, err := ask(t.Context(), s, serve.Request{Sequence: id, Start: k == 0, End: k == 9}, float32(i))
				require.NoError(t, err)
				require.Equal(t, []float32{sum}, got)
			}
			_, err := ask(t.Context(), s, serve.Request{Sequence: id}, 1)
			require.ErrorIs(t, err, serve.ErrSequence)
		})
	}
	all.Wait()
	require.Zero(t, s.Stats().Sequences)
	require.Less(t, s.Stats().Batches, int64(80))
	got, err := ask(t.Context(), s, serve.Request{}, 7)
	require.NoError(t, err, "a request of no sequence starts at zero")
	require.Equal(t, []float32{7}, got)

	all = sync.WaitGroup{}
	_, err = ask(t.Context(), s, serve.Request{Sequence: "one", Start: true}, 0)
	require.NoError(t, err)
	for range 20 { // they wait for each other
		all.Go(func() {
			_, err := ask(t.Context(), s, serve.Request{Sequence: "one"}, 1)
			require.NoError(t, err)
		})
	}
	all.Wait()
	got, err = ask(t.Context(), s, serve.Request{Sequence: "one"}, 0)
	require.NoError(t, err)
	require.Equal(t, []float32{20}, got)
	_, err = ask(t.Context(), s, serve.Request{Sequence: "one"}, 0, 0)
	require.ErrorContains(t, err, "2 rows, expected 1 as at the beginning")
	got, err = ask(t.Context(), s, serve.Request{Sequence: "one", Start: true}, 3)
	require.NoError(t, err)
	require.Equal(t, []float32{3}, got, "begun again")
}

// A sequence stays with the model that began it; there are only so many.
func TestSequenceLives(t *testing.T) {
	torchtest.NoLeaks(t)
	old := summing(1)
	s := start(t, old, serve.Options{Lanes: 1, Sequences: 2, Idle: time.Hour})
	step := func(id string, q serve.Request) (float32, error) {
		q.Sequence = id
		got, err := ask(t.Context(), s, q, 1)
		if err != nil {
			return 0, err
		}
		return got[0], nil
	}
	_, err := step("a", serve.Request{Start: true})
	require.NoError(t, err)
	require.NoError(t, s.Swap(summing(100)))
	got, err := step("a", serve.Request{})
	require.NoError(t, err)
	require.Equal(t, float32(2), got, "the old model's")
	got, err = step("b", serve.Request{Start: true})
	require.NoError(t, err)
	require.Equal(t, float32(100), got, "the new model's")
	_, err = step("c", serve.Request{Start: true})
	require.ErrorIs(t, err, serve.ErrBusy)
	require.Zero(t, old.closed.Load())
	_, err = step("a", serve.Request{End: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, old.closed.Load())
	_, err = step("c", serve.Request{Start: true})
	require.NoError(t, err)

	plain := start(t, adding(1), serve.Options{})
	_, err = ask(t.Context(), plain, serve.Request{Sequence: "a", Start: true}, 1)
	require.ErrorIs(t, err, serve.ErrInput)
}

// A sequence that nobody goes on with is forgotten, and lets go of the model that began it; a first request is never too late for its own.
func TestSequenceForgotten(t *testing.T) {
	torchtest.NoLeaks(t)
	old := summing(1)
	s := start(t, old, serve.Options{Lanes: 1, Idle: time.Millisecond})
	for range 50 {
		_, err := ask(t.Context(), s, serve.Request{Sequence: "a", Start: true}, 1)
		require.NoError(t, err)
	}
	require.NoError(t, s.Swap(summing(100)))
	eventually(t, func() bool { return s.Stats().Sequences == 0 })
	_, err := ask(t.Context(), s, serve.Request{Sequence: "a"}, 1)
	require.ErrorIs(t, err, serve.ErrSequence)
	eventually(t, func() bool { return old.closed.Load() == 1 })
	got, err := ask(t.Context(), s, serve.Request{Sequence: "a", Start: true}, 1)
	require.NoError(t, err)
	require.Equal(t, []float32{100}, got)
}

// A step that nobody waited for was not made; a sequence that is begun again meanwhile loses nothing of it.
func TestSequenceGivenUp(t *testing.T) {
	torchtest.NoLeaks(t)
	m := summing(1)
	s := start(t, m, serve.Options{Lanes: 1, WarmUp: []int{}})
	_, err := ask(t.Context(), s, serve.Request{Sequence: "a", Start: true}, 1)
	require.NoError(t, err)
	m.gate, m.started = make(chan struct{}), make(chan float32, 10)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-m.started; cancel() }()
	_, err = ask(ctx, s, serve.Request{Sequence: "a"}, 5)
	require.ErrorIs(t, err, context.Canceled)
	again := make(chan []float32)
	go func() {
		got, _ := ask(t.Context(), s, serve.Request{Sequence: "a"}, 1)
		again <- got
	}()
	close(m.gate)
	require.Equal(t, []float32{2}, <-again)
}
