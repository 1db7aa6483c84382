package export_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// endless is a program that returns x where it is zero; else it goes on forever.
func endless(t *testing.T) *export.Compiled {
	more := inner("more", node("any", "torch.ops.aten.any.default", tensor("any"), "self", tensor("c")), typed(torch.Bool, meta()))
	turn := inner("turn", node("copy", "torch.ops.aten.clone.default", tensor("copy"), "self", tensor("c")), meta(4))
	p := plainly(
		node("loop", "torch.ops.higher_order.while_loop", []tensor{"last"}, "", more, "", turn, "", []tensor{"x"}, "", []tensor{}),
		node("result", "torch.ops.aten.clone.default", tensor("result"), "self", tensor("last")))
	p.Graph.Tensors["last"] = meta(-1)
	return compiled(t, p)
}

// A run ends when its context does, even if its program has no end, and others that go on beside it do not.
func TestRunContext(t *testing.T) {
	torchtest.NoLeaks(t)
	c := endless(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			torch.Scope(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
				defer cancel()
				_, err := c.RunContext(ctx, torch.Ones(4))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, "the run was stopped")
				for _, ctx := range []context.Context{t.Context(), context.Background()} {
					out, err := c.RunContext(ctx, torch.Zeros(4))
					require.NoError(t, err)
					torchtest.Equal(t, out[0], torch.Zeros(4))
				}
			})
		})
	}
	all.Wait()
}

// The error of a run that was stopped has the cause; one that failed by itself has its own alone.
func TestRunContextErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	c := endless(t)
	torch.Scope(func() {
		why := errors.New("the client has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(30*time.Millisecond, func() { cancel(why) })
		_, err := c.RunContext(ctx, torch.Ones(4))
		require.ErrorIs(t, err, why)
		_, err = c.RunContext(ctx, torch.Zeros(4)) // by now it has ended
		require.EqualError(t, err, "export: the client has left")
		_, err = c.RunContext(t.Context(), torch.Zeros(4, 4))
		require.ErrorContains(t, err, "has the shape [4 4]")
		require.NotErrorIs(t, err, why)
		_, err = (&export.Compiled{}).RunContext(t.Context())
		require.ErrorContains(t, err, "zero Compiled")
	})
}
