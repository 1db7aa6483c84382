package cuda

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// Graph is work that was recorded once and is then submitted as a whole, with one call, so that
// a small network costs almost no host time. [Graphed] does everything described here.
//
// A graph records kernels and addresses. A replay reads the current contents at the addresses
// of the inputs and writes to those of the outputs: both must stay open, and new inputs are
// copied into the old ones. Go code in between is not recorded, and values that it used stay
// fixed, such as a learning rate that is a number. Memory for intermediate results belongs to
// the graph's pool until [Graph.Close].
//
// Random numbers of the default generator differ from replay to replay; other generators must
// be registered before the capture.
type Graph struct {
	h    *cgo.Handle
	side Stream // it was captured on
}

// GraphOptions are the rarer arguments of [NewGraph].
type GraphOptions struct {
	Debug bool // keep what DebugDump writes
}

// NewGraph makes an empty graph. It is freed by Close, or by the garbage collector.
func NewGraph(opts ...GraphOptions) *Graph {
	o := option.One(opts)
	c := begin(cgo.OpNewGraph)
	resolve("new_graph", -1)
	c.Bool(o.Debug)
	bridge.Done(c)
	return &Graph{h: c.Owned(0, cgo.DeviceKind)}
}

// CaptureMode is what other threads may do to CUDA during a capture.
type CaptureMode struct{ n uint8 }

// The capture modes. Other goroutines and the garbage collector free and allocate at any time,
// which every mode but CaptureGlobal permits.
var (
	CaptureThreadLocal = CaptureMode{0} // this thread may not wait and the like, others may
	CaptureGlobal      = CaptureMode{1} // no thread may; PyTorch's default
	CaptureRelaxed     = CaptureMode{2} // all may
)

// code is cudaStreamCaptureMode.
func (m CaptureMode) code() int { return [...]int{1, 0, 2}[m.n] }

// CaptureOptions are the rarer arguments of [Graph.Capture].
type CaptureOptions struct {
	Pool   PoolID // where memory comes from; graphs that share it are to be replayed in the order of their captures
	Stream Stream // to capture on, not a default stream; default: that of the pool's first graph, or one of libtorch's
	Mode   CaptureMode
}

// ErrNotCapturable is the error of work that a graph cannot hold: it waits for the device,
// reads a value, or takes memory from elsewhere.
var ErrNotCapturable = errors.New("the work cannot be captured")

// Capture records what fn submits, without running it. The goroutine keeps its thread for that
// time. Work that cannot be captured gives an error that matches [ErrNotCapturable] and names the
// operation; the graph is then empty, and the device stays usable. Other errors of fn are returned
// as they are. What fn computes belongs to the graph, and is filled by [Graph.Replay].
func (g *Graph) Capture(fn func(), opts ...CaptureOptions) (err error) {
	o := option.One(opts)
	failed := torch.Try(func() {
		begin(cgo.OpGraphCaptureBegin)
		side := o.stream()
		g.side = side
		Synchronize(side.Device())
		torch.GC()
		EmptyCache()
		around(side, func() { err = g.record(fn, o) })
	})
	if err == nil {
		err = failed
	}
	return err
}

// captured are the streams of pools: memory belongs to a stream, so that graphs share a pool's only where they are captured on the same.
var captured sync.Map

// stream is what to capture on.
func (o CaptureOptions) stream() Stream {
	switch {
	case o.Stream != Stream{}:
		return o.Stream
	case o.Pool == PoolID{}:
		return NewStream(-1)
	}
	side, _ := captured.LoadOrStore(o.Pool, NewStream(-1))
	return side.(Stream)
}

// Replay submits the recorded work to the current stream. It returns at once.
func (g *Graph) Replay() { g.run(cgo.OpGraphReplay) }

// Reset empties the graph and gives its memory back, but for what open tensors hold.
func (g *Graph) Reset() { g.run(cgo.OpGraphReset) }

// Close frees the graph. Its outputs stay readable until they are closed.
func (g *Graph) Close() { g.handle().Close() }

// Pool names the memory of a graph that was captured, for others that share it.
func (g *Graph) Pool() PoolID {
	id := poolResult(g.run(cgo.OpGraphPool))
	captured.LoadOrStore(id, g.side)
	return id
}

// RegisterGenerator makes random numbers of a generator differ from replay to replay. It comes
// before the capture, and is not needed for the default generator.
func (g *Graph) RegisterGenerator(generator *torch.Generator) {
	g.run(cgo.OpGraphRegisterGenerator, func(c *cgo.Call) { bridge.Generator(c, generator) })
}

// DebugDump writes the graph in Graphviz's format. It takes GraphOptions.Debug.
func (g *Graph) DebugDump(path string) error {
	return torch.Try(func() { g.run(cgo.OpGraphDebugDump, func(c *cgo.Call) { c.Str(path) }) })
}

// IsCapturing tells whether the current stream of this goroutine's thread is being captured.
func IsCapturing() bool {
	c := begin(cgo.OpIsCapturing)
	resolve("is_capturing", -1)
	bridge.Done(c)
	return c.BoolResult(0)
}

func (g *Graph) handle() *cgo.Handle {
	if g == nil {
		return nil
	}
	return g.h
}

func (g *Graph) run(op cgo.Op, more ...func(*cgo.Call)) *cgo.Call {
	c := begin(op)
	c.Object(g.handle())
	for _, put := range more {
		put(c)
	}
	bridge.Done(c)
	return c
}

// around runs fn on another stream, after the work submitted to the current one, and makes
// the current one wait for fn.
func around(side Stream, fn func()) {
	lockThread(func() {
		current := CurrentStream(side.Device())
		side.WaitStream(current)
		defer func() { current.WaitStream(side) }()
		WithStream(side, fn)
	})
}

// record captures on the current stream.
func (g *Graph) record(fn func(), o CaptureOptions) error {
	g.run(cgo.OpGraphCaptureBegin, func(c *cgo.Call) {
		o.Pool.put(c)
		c.Int(o.Mode.code())
	})
	open := true
	end := func() error {
		open = false
		return torch.Try(func() { g.run(cgo.OpGraphCaptureEnd) })
	}
	defer func() {
		if open { // fn panicked with something else, or ended its goroutine
			_ = end()
			g.Reset()
		}
	}()
	failed := torch.Try(fn)
	if ending := end(); failed == nil {
		failed = ending
	}
	if failed != nil {
		g.Reset()
		return captureError(failed)
	}
	return nil
}

// advice says what to do about the error codes of captures.
var advice = map[int]string{
	900: "it waits for the device or reads a value there (Item, Float64, Values, NonZero, a mask as an index, a copy to the " +
		"host); do that outside, with what the graph puts out",
	901: "an earlier operation of the capture was not allowed",
	904: "it submitted work to another stream that the capturing one was not made to wait for",
	905: "it waits for work outside of the capture",
	906: "it uses the default stream",
	907: "it asks for an event that belongs to the capture",
	908: "the capture ends on another thread than it began on",
}

// captureError distinguishes work that cannot be captured from errors that occur
// anyway.
func captureError(err error) error {
	var e *torch.Error
	if !errors.As(err, &e) {
		return err
	}
	hint, known := advice[e.Code]
	if e.Kind != torch.KindAccelerator || !known {
		if !strings.Contains(e.Msg, "captur") {
			return err
		}
		hint = "libtorch refuses it"
	}
	return fmt.Errorf("torch/cuda: %w: %w: %s", ErrNotCapturable, err, hint)
}
