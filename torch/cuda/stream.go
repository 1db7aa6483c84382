package cuda

import (
	"fmt"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Stream is a queue of work on a device: work in one stream runs in order, work in two streams
// may run at the same time. Streams are values, compare with ==, need no Close, and may be
// used from any goroutine. The zero Stream is no stream.
//
// Each thread has a current stream, to which operations are submitted: see
// [WithStream].
type Stream struct {
	device torch.Device
	id     int64
}

// DefaultStream is the stream that all goroutines share until they choose another.
func DefaultStream(device int) Stream { return streamResult(on(cgo.OpDefaultStream, device)) }

// CurrentStream is the stream that operations on the device are submitted to here.
func CurrentStream(device int) Stream { return streamResult(on(cgo.OpCurrentStream, device)) }

// StreamOptions are the rarer arguments of [NewStream].
type StreamOptions struct {
	Priority int // lower numbers go first; default 0, see [StreamPriorities]
}

// NewStream takes a stream from the device's pool. The pool has 32 for each priority and
// gives them out in turn: the 33rd is the first again.
func NewStream(device int, opts ...StreamOptions) Stream {
	o := option.One(opts)
	return streamResult(on(cgo.OpNewStream, device, func(c *cgo.Call) { c.Int(o.Priority) }))
}

// ExternalStream is a stream that another library made: pointer is its cudaStream_t. It
// must exist as long as it is used here.
func ExternalStream(pointer uintptr, device int) Stream {
	return streamResult(on(cgo.OpExternalStream, device, func(c *cgo.Call) { c.Word(uint64(pointer)) }))
}

// StreamPriorities are the lowest and the highest priority of streams: 0 and -3 or so.
func StreamPriorities() (least, greatest int) {
	c := begin(cgo.OpStreamPriorities)
	resolve("stream_priorities", -1)
	bridge.Done(c)
	return c.IntResult(0), c.IntResult(1)
}

func streamResult(c *cgo.Call) Stream {
	return Stream{bridge.Device[torch.Device](c.WordResult(0)), int64(c.WordResult(1))}
}

// WithStream runs fn with s as the current stream, and its device as the current device. The
// goroutine keeps its thread for that time; others are not affected. What fn submits may not
// have run when WithStream returns, and waits for nothing that was submitted elsewhere:
//
//	side := cuda.NewStream(0)
//	side.WaitStream(cuda.CurrentStream(0)) // x is being computed there
//	cuda.WithStream(side, func() { y = x.MatMul(w) })
//	cuda.CurrentStream(0).WaitStream(side)
//	cuda.RecordStream(side, x, w)
func WithStream(s Stream, fn func()) {
	check(cgo.OpEnterStream, s)
	var c cgo.Call
	c.Begin(cgo.OpEnterStream)
	s.put(&c)
	bridge.Within(&c, fn)
}

// RecordStream says that s uses the tensors, which were made on another stream: their memory is
// not given to new tensors before s has done the work submitted to it when they are freed.
// Without this call one stream may write to freed memory while another still reads it.
func RecordStream(s Stream, tensors ...torch.Tensor) {
	check(cgo.OpRecordStream, s)
	for _, t := range tensors {
		var c cgo.Call
		c.Begin(cgo.OpRecordStream)
		c.Tensor(bridge.Handle(t))
		s.put(&c)
		bridge.Done(&c)
	}
}

// Device is the number of the stream's device.
func (s Stream) Device() int { return s.device.Index() }

// ID is libtorch's number of the stream; 0 is the default one.
func (s Stream) ID() int64 { return s.id }

// Pointer is the stream's cudaStream_t, for other libraries; 0 for the default one.
func (s Stream) Pointer() uintptr {
	return uintptr(s.run(cgo.OpStreamPointer).WordResult(0))
}

// Priority is the stream's priority: lower numbers go first.
func (s Stream) Priority() int { return s.run(cgo.OpStreamPriority).IntResult(0) }

// Query tells whether all work submitted to the stream is done. It does not wait.
func (s Stream) Query() bool { return s.run(cgo.OpStreamQuery).BoolResult(0) }

// Synchronize waits until all work submitted to the stream is done.
func (s Stream) Synchronize() { s.run(cgo.OpStreamSynchronize) }

// WaitEvent makes work that is submitted to the stream from now on wait for the event. The
// caller does not wait. An event that was never recorded is not waited for.
func (s Stream) WaitEvent(e *Event) {
	s.run(cgo.OpStreamWaitEvent, func(c *cgo.Call) { c.Object(e.handle()) })
}

// WaitStream makes work that is submitted to the stream from now on wait for all that was
// submitted to the other one by now. The caller does not wait.
func (s Stream) WaitStream(other Stream) {
	check(cgo.OpStreamWaitStream, other)
	s.run(cgo.OpStreamWaitStream, other.put)
}

// RecordEvent is a new event at the end of the stream's work, without timing.
func (s Stream) RecordEvent() *Event {
	e := NewEvent()
	e.Record(s)
	return e
}

// String names the device and the stream: "cuda:0 stream 3".
func (s Stream) String() string {
	if s.device.IsZero() {
		return "no stream"
	}
	return fmt.Sprintf("%v stream %d", s.device, s.id)
}

func (s Stream) put(c *cgo.Call) {
	c.Code(bridge.Code(s.device))
	c.Word(uint64(s.id))
}

func (s Stream) run(op cgo.Op, more ...func(*cgo.Call)) *cgo.Call {
	check(op, s)
	c := begin(op)
	s.put(c)
	for _, put := range more {
		put(c)
	}
	bridge.Done(c)
	return c
}

// check wants CUDA, and a stream.
func check(op cgo.Op, s Stream) {
	begin(op)
	if s.device.IsZero() {
		torch.Throw(op.String(), torch.KindValue, "the stream is none; NewStream makes one")
	}
}
