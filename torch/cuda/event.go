package cuda

import (
	"time"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Event marks a place in a stream: others wait until the stream reaches it, or measure when
// it did. It may be recorded again, at another place. An event belongs to the device on
// which it is first recorded, and may be used from any goroutine.
//
//	start, end := cuda.NewEvent(cuda.EventOptions{Timing: true}), cuda.NewEvent(cuda.EventOptions{Timing: true})
//	start.Record()
//	y := model.Forward(x)
//	end.Record()
//	end.Synchronize()
//	fmt.Println(start.Elapsed(end))
type Event struct {
	h *cgo.Handle
}

// EventOptions are the rarer arguments of [NewEvent].
type EventOptions struct {
	Timing   bool // the event records the time, for [Event.Elapsed]; it costs a little
	Blocking bool // Synchronize lets the thread sleep; otherwise it polls, which is quicker and uses a core
	Device   int  // of an event that is Blocking; others get theirs when they are recorded
}

// NewEvent makes an event. It is freed by Close, or by the garbage collector.
func NewEvent(opts ...EventOptions) *Event {
	o := option.One(opts)
	c := begin(cgo.OpNewEvent)
	device := resolve("new_event", o.Device)
	var made uint64
	if o.Blocking {
		made = on(cgo.OpBlockingEvent, device, func(c *cgo.Call) { c.Bool(o.Timing) }).WordResult(0)
	}
	c.Bool(o.Timing)
	c.Word(made)
	c.Code(bridge.Code(torch.CUDA(device)))
	bridge.Done(c)
	return &Event{c.Owned(0, cgo.DeviceKind)}
}

func (e *Event) handle() *cgo.Handle {
	if e == nil {
		return nil
	}
	return e.h
}

// Close frees the event. Streams that wait for it go on waiting.
func (e *Event) Close() { e.handle().Close() }

// Record puts the event at the end of the work submitted to the stream: the given one, or else
// the current stream of the current device.
func (e *Event) Record(s ...Stream) { e.run(cgo.OpEventRecord, streamOr(s).put) }

// Wait makes work that is submitted to the stream from now on wait for the event, like
// [Stream.WaitEvent]. The default stream is as for Record.
func (e *Event) Wait(s ...Stream) { streamOr(s).WaitEvent(e) }

// Query tells whether the work before the event is done. It is true for an event that
// was never recorded.
func (e *Event) Query() bool { return e.run(cgo.OpEventQuery).BoolResult(0) }

// Synchronize waits until the work before the event is done.
func (e *Event) Synchronize() { e.run(cgo.OpEventSynchronize) }

// Elapsed is the time from e to end, on the device, to about half a microsecond. Both need Timing
// and must have been reached: call end.Synchronize first. Otherwise it panics with a *torch.Error.
func (e *Event) Elapsed(end *Event) time.Duration {
	c := e.run(cgo.OpEventElapsed, func(c *cgo.Call) { c.Object(end.handle()) })
	return time.Duration(c.FloatResult(0) * float64(time.Millisecond))
}

func (e *Event) run(op cgo.Op, more ...func(*cgo.Call)) *cgo.Call {
	c := begin(op)
	c.Object(e.handle())
	for _, put := range more {
		put(c)
	}
	bridge.Done(c)
	return c
}

// streamOr is the stream that is given, or the current one.
func streamOr(s []Stream) Stream {
	if len(s) > 0 {
		return s[0]
	}
	return CurrentStream(-1)
}
