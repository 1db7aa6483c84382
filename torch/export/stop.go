package export

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/libtorch-go/libtorch/torch"
)

// newStop is a number that C++ looks at before each operator, and that a context sets to end a run; release says that the run is over. It
// is nil where the context never ends.
func newStop(ctx context.Context) (stop *atomic.Uint32, release func()) {
	if ctx.Done() == nil {
		return nil, func() {}
	}
	stop = new(atomic.Uint32)
	var pin runtime.Pinner
	pin.Pin(stop)
	ignore := context.AfterFunc(ctx, func() { stop.Store(1) })
	return stop, func() {
		ignore()
		pin.Unpin()
	}
}

// goesOn is an error once ctx has ended: each step of a run asks, and each turn of a loop, which may have no steps.
func goesOn(ctx context.Context) error { return unlessStopped(ctx, "the run") }

// unlessStopped is an error that says what was stopped, once ctx has ended.
func unlessStopped(ctx context.Context, what string) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s was stopped: %w", what, context.Cause(ctx))
}

// RunContext is [Compiled.Run] until ctx ends: a run that has not ended by then ends before its next operator, with an error that matches
// context.Cause. That also bounds loops, which a program of unknown origin may have without an end. What such a run would have changed,
// inputs and buffers, may be changed or not, as by any run that fails. On a card the operators of a run are queued and end by themselves;
// a captured graph is queued as a whole.
func (c *Compiled) RunContext(ctx context.Context, inputs ...any) ([]torch.Tensor, error) {
	e, err := c.engine()
	if err != nil {
		return nil, err
	}
	return e.tensors(e.until(ctx, inputs))
}

// until is run until ctx ends.
func (c *engine) until(ctx context.Context, inputs []any) ([]any, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	stop, release := newStop(ctx)
	defer release()
	outputs, err := c.run(stop, inputs)
	if err != nil && stop != nil && stop.Load() != 0 {
		return nil, fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return outputs, err
}
