package profiler

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
)

// running is the one profiler of the process.
var running atomic.Pointer[Profiler]

// collecting tells [Record] that somebody listens.
var collecting atomic.Bool

// Profiler records between [Start] and [Profiler.Stop]. Its methods may be called from any
// goroutine, except under a [Schedule].
type Profiler struct {
	options Options
	plan    plan

	mu      sync.Mutex
	stopped bool
	phase   phase
	step    int
	thread  uint64 // of the goroutine that started it, under a Schedule
	mark    uint64 // the range of the step that is being recorded, or 0
	last    *Result
}

// Profile records what fn does, on all goroutines, and returns the recording. Under a
// [Schedule], fn calls [Profiler.Step] after each of its steps, and the result is that of the last
// cycle that recorded anything.
//
// The error is that of [Start], of Options.OnTraceReady or of
// libtorch; where fn panics, the profiler ends and the panic goes on.
func Profile(fn func(*Profiler), opts ...Options) (result *Result, err error) {
	p, err := Start(opts...)
	if err != nil {
		return nil, err
	}
	defer func() {
		var ended error
		if result, ended = p.Stop(); !errors.Is(ended, ErrStopped) {
			err = ended
			return
		}
		result = p.last // fn stopped it
	}()
	fn(p)
	return nil, nil
}

// Start begins to record, on all goroutines. It fails with [ErrRunning] where a profiler is running,
// and with torch.ErrNoCUDA where CUDA is among the activities and cannot be used.
//
// Under a [Schedule] the goroutine is locked to its thread until [Profiler.Stop]: each recorded
// step is a range on it.
func Start(opts ...Options) (*Profiler, error) {
	p := &Profiler{options: option.One(opts)}
	if err := p.options.Schedule.check(); err != nil {
		return nil, err
	}
	var err error
	if err = torch.Load(); err != nil {
		return nil, err
	}
	if p.plan, err = p.options.plan(); err != nil {
		return nil, err
	}
	if !running.CompareAndSwap(nil, p) {
		return nil, ErrRunning
	}
	if p.options.Schedule != nil {
		runtime.LockOSThread()
		p.thread = threadNumber()
	}
	if err := p.enter(p.options.Schedule.at(0)); err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// Stop ends the recording and returns it: under a [Schedule] that of the last cycle that recorded
// anything, which may be none; its Events are empty then. It waits for the operations that
// run at the moment, on all goroutines; inside of a hook or a custom function it fails.
//
// The result has to be closed, or is left to the garbage collector.
func (p *Profiler) Stop() (*Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.check("Stop"); err != nil {
		return nil, err
	}
	p.unmark()
	err := p.finish()
	if collecting.Load() {
		return nil, err // it could not be stopped here, and goes on
	}
	p.end()
	if p.last == nil {
		p.last = &Result{}
	}
	return p.last, err
}

// Step ends a step of the [Schedule]: the next one begins. It has to be called by the goroutine that
// started the profiler. Without a Schedule it does nothing.
func (p *Profiler) Step() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.check("Step"); err != nil {
		return err
	}
	if p.options.Schedule == nil {
		return nil
	}
	p.unmark()
	p.step++
	return p.enter(p.options.Schedule.at(p.step))
}

// check refuses what cannot be done any more, or not here.
func (p *Profiler) check(method string) error {
	if p.stopped {
		return ErrStopped
	}
	if p.options.Schedule != nil && threadNumber() != p.thread {
		return fmt.Errorf("torch/profiler: under a Schedule, %s has to be called by the goroutine that started the profiler", method)
	}
	return nil
}

// enter goes from one phase to the next.
func (p *Profiler) enter(next phase) error {
	var failed error
	if p.phase == saving {
		if failed = p.finish(); p.phase == saving {
			return failed
		}
	}
	if next != idle && p.phase == idle {
		if err := p.plan.run(cgo.OpPrepareProfiler); err != nil {
			return err
		}
		p.phase = warming
	}
	if next >= recording && p.phase == warming {
		if err := p.collect(); err != nil {
			return err
		}
	}
	p.phase = next
	if next >= recording && p.options.Schedule != nil {
		p.mark = enterRange(stepName + "#" + strconv.Itoa(p.step))
	}
	return failed
}

func (p *Profiler) collect() error {
	err := p.plan.run(cgo.OpStartProfiler)
	collecting.Store(err == nil)
	return err
}

// finish ends a cycle, and hands over what it recorded. Preparations are ended in the way
// that libtorch has for it: a recording that nobody wants.
func (p *Profiler) finish() error {
	wanted := p.phase >= recording
	if p.phase == warming {
		if err := p.collect(); err != nil {
			return err
		}
	}
	if p.phase == idle {
		return nil
	}
	result, err := p.take()
	if err != nil {
		return err
	}
	p.phase = idle
	collecting.Store(false)
	if !wanted {
		result.Close()
		return nil
	}
	p.last = result
	if p.options.OnTraceReady != nil {
		return p.options.OnTraceReady(result)
	}
	return nil
}

func (p *Profiler) take() (*Result, error) {
	return torch.Try1(func() *Result {
		if p.plan.cuda {
			torch.Synchronize(torch.NewDevice(torch.DeviceCUDA, -1))
		}
		var c cgo.Call
		c.Begin(cgo.OpStopProfiler)
		bridge.Done(&c)
		return newResult(c.WordResult(0), p.plan)
	})
}

func (p *Profiler) end() {
	p.stopped = true
	if p.options.Schedule != nil {
		runtime.UnlockOSThread()
	}
	running.Store(nil)
}

func (p *Profiler) unmark() {
	if p.mark != 0 {
		leaveRange(p.mark)
		p.mark = 0
	}
}

// Record runs fn as a range of that name: an event around all that fn does on its goroutine.
// While no profiler runs, that costs next to nothing.
func Record(name string, fn func()) {
	if !collecting.Load() {
		fn()
		return
	}
	var c cgo.Call
	putRange(&c, name)
	bridge.Within(&c, fn)
}

// putRange makes the call that begins a range.
func putRange(c *cgo.Call, name string) {
	c.Begin(cgo.OpEnterRange)
	c.Str(encodeName(name))
}

func enterRange(name string) uint64 {
	var c cgo.Call
	putRange(&c, name)
	bridge.Done(&c)
	return c.WordResult(0)
}

func leaveRange(guard uint64) {
	var c cgo.Call
	c.Begin(cgo.OpLeave)
	c.Word(guard)
	bridge.Done(&c)
}

func threadNumber() uint64 {
	var c cgo.Call
	c.Begin(cgo.OpThreadNumber)
	bridge.Done(&c)
	return c.WordResult(0)
}
