package export_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/endless"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// endlessRuns has programs without an end, whose turns compute or do nothing, run in each way.
func endlessRuns(t *testing.T, see func(t *testing.T, run func(context.Context, ...any) ([]torch.Tensor, error))) {
	for name, p := range map[string]*export.Program{"computing": endless.Program(1), "idle": endless.Idle()} {
		c := compiled(t, p)
		m, err := p.Module()
		require.NoError(t, err)
		t.Run("compiled, "+name, func(t *testing.T) { see(t, c.RunContext) })
		t.Run("node by node, "+name, func(t *testing.T) { see(t, m.RunContext) })
	}
}

// A run ends when its context does, even if its program has no end, and others that go on beside it do not.
func TestRunContext(t *testing.T) {
	torchtest.NoLeaks(t)
	endlessRuns(t, func(t *testing.T, run func(context.Context, ...any) ([]torch.Tensor, error)) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				torch.Scope(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
					defer cancel()
					_, err := run(ctx, torch.Ones(1, 1))
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorContains(t, err, "the run was stopped")
					for _, ctx := range []context.Context{t.Context(), context.Background()} {
						out, err := run(ctx, torch.Zeros(1, 1))
						require.NoError(t, err)
						torchtest.Equal(t, out[0], torch.Zeros(1, 1))
					}
				})
			})
		}
		all.Wait()
	})
}

// The error of a run that was stopped has the cause; one that failed by itself has its own alone.
func TestRunContextErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	why := errors.New("the client has left")
	endlessRuns(t, func(t *testing.T, run func(context.Context, ...any) ([]torch.Tensor, error)) {
		torch.Scope(func() {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(30*time.Millisecond, func() { cancel(why) })
			_, err := run(ctx, torch.Ones(1, 1))
			require.ErrorIs(t, err, why)
			_, err = run(ctx, torch.Zeros(1, 1)) // by now it has ended
			require.ErrorIs(t, err, why)
			require.EqualError(t, err, "export: the client has left")
			_, err = run(t.Context(), torch.Zeros(4))
			require.ErrorContains(t, err, "has the shape [4]")
			require.NotErrorIs(t, err, why)
		})
	})
	_, err := (&export.Compiled{}).RunContext(t.Context())
	require.ErrorContains(t, err, "zero Compiled")
}

// Calibrating ends with its context: where a program has no end, and between two of the many runs of one that has.
func TestCalibrateContext(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p := endless.Program(1)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err := export.CalibrateContext(ctx, p, slices.Values([][]any{{torch.Ones(1, 1)}}))
		require.ErrorIs(t, err, context.DeadlineExceeded)

		x, k := torch.RandN(1, 8, 9, 9), torch.RandN(8, 8, 3, 3)
		p, err = export.Export(func(x torch.Tensor) torch.Tensor { return conv(x, k, 0) }, []any{x})
		require.NoError(t, err)
		defer p.Close()
		later, end := context.WithCancelCause(t.Context())
		defer end(nil)
		why := errors.New("no more")
		samples := func(yield func([]any) bool) {
			yield([]any{x})
			end(why)
		}
		_, err = export.CalibrateContext(later, p, samples)
		require.ErrorIs(t, err, why)
	})
}
