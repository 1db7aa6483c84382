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

// slow are constants that a program computes one after the other, for a second or so.
func slow(t *testing.T) *export.Program {
	w := torch.Rand(512, 512).MulScalar(1.0 / 256)
	p, err := export.Export(func(x torch.Tensor) torch.Tensor {
		y := w
		for range 200 {
			y = y.MM(w)
		}
		return x.Add(y)
	}, []any{torch.Ones(512)})
	require.NoError(t, err)
	return p
}

// Compiling ends with its context, which may be while constants are computed, and can be done again then.
func TestCompileContext(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p := slow(t)
		defer p.Close()
		why := errors.New("nobody wants it any more")
		for _, o := range []export.CompileOptions{{}, {Exact: true}, {Weights: torch.Int8}} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
			_, err := export.CompileContext(ctx, p, o)
			require.ErrorIs(t, err, why)
			require.ErrorContains(t, err, "cannot be compiled: it was stopped")
			_, err = export.CompileContext(ctx, p, o) // by now it has ended
			require.ErrorIs(t, err, why)
		}
		c, err := export.CompileContext(t.Context(), p)
		require.NoError(t, err)
		defer c.Close()
		torch.NoGrad(func() {
			out, err := c.RunContext(t.Context(), torch.Ones(512))
			require.NoError(t, err)
			require.Equal(t, []int{512, 512}, out[0].Shape())
		})
	})
}
