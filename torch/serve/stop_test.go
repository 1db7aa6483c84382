package serve_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	forever "github.com/libtorch-go/libtorch/internal/endless"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/serve"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// endless is a model that goes on forever for rows of 1.
func endless(t *testing.T) serve.Model {
	m, err := serve.Program(forever.Program(1))
	require.NoError(t, err)
	return m
}

// Requests that a program has no end for end with their contexts, one in its batch or several, and the lane computes what comes then.
func TestRequestsThatDoNotEnd(t *testing.T) {
	torchtest.NoLeaks(t)
	s := start(t, endless(t), serve.Options{MaxBatch: 4, MaxDelay: 20 * time.Millisecond})
	for _, requests := range []int{1, 3} {
		var all sync.WaitGroup
		for i := range requests {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(50+20*i)*time.Millisecond)
				defer cancel()
				torch.Scope(func() {
					_, err := s.Run(ctx, torch.Ones(1, 1))
					require.ErrorIs(t, err, context.DeadlineExceeded)
				})
			})
		}
		all.Wait()
		torch.Scope(func() {
			out, err := s.Run(t.Context(), torch.Zeros(1, 1))
			require.NoError(t, err)
			torchtest.Equal(t, out[0], torch.Zeros(1, 1))
		})
	}
}

// A model that is not warm before a context ends is none that is served: New gives up, Swap keeps the model of before.
func TestWarmUpThatDoesNotEnd(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		o := serve.Options{MaxBatch: 4, Sample: []torch.Tensor{torch.Ones(1, 1)}}
		s := start(t, serve.Func(vectors(1), func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{in[0].Neg()} }), o)
		for name, warm := range map[string]func(context.Context) error{
			"new":  func(ctx context.Context) error { _, err := serve.NewContext(ctx, endless(t), o); return err },
			"swap": func(ctx context.Context) error { return s.SwapContext(ctx, endless(t)) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := warm(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.ErrorContains(t, err, "warming up with 1 rows", name)
		}
		out, err := s.Run(t.Context(), torch.Ones(1, 1))
		require.NoError(t, err)
		torchtest.Equal(t, out[0], torch.Ones(1, 1).Neg())
	})
}
