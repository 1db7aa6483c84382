package export

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/libtorch-go/libtorch/torch"
)

// stop ends a run: C++ looks at its number before each operator. The nil stop ends none.
type stop struct {
	stopped atomic.Uint32
	pin     runtime.Pinner // C++ reads the number while the run lasts
}

// newStop is a stop that a context sets; release says that the run is over. It is nil where the context never ends.
func newStop(ctx context.Context) (s *stop, release func()) {
	if ctx.Done() == nil {
		return nil, func() {}
	}
	s = &stop{}
	s.pin.Pin(s)
	ignore := context.AfterFunc(ctx, func() { s.stopped.Store(1) })
	return s, func() {
		ignore()
		s.pin.Unpin()
	}
}

// word is where the number lies.
func (s *stop) word() *atomic.Uint32 {
	if s == nil {
		return nil
	}
	return &s.stopped
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
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	s, release := newStop(ctx)
	defer release()
	results, err := e.tensors(e.run(s, inputs))
	if err != nil && s != nil && s.stopped.Load() != 0 {
		return nil, fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return results, err
}
