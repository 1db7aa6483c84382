package profiler

import (
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// Activity is a kind of event.
type Activity struct{ n uint8 }

// The kinds of events.
var (
	CPU  = Activity{1} // operators, ranges and memory on the host
	CUDA = Activity{2} // kernels, copies and the driver's calls, as the card reports them
)

// String is the kind's name.
func (a Activity) String() string {
	switch a {
	case CPU:
		return "CPU"
	case CUDA:
		return "CUDA"
	default:
		return fmt.Sprintf("Activity(%d)", a.n)
	}
}

// Options say what is recorded, and when. The zero value records operators and their times.
type Options struct {
	Activities    []Activity // default: CPU, and CUDA where there is a card
	RecordShapes  bool       // shapes and dtypes of arguments
	ProfileMemory bool       // allocated and freed bytes
	WithFLOPs     bool       // estimates for products and 2d convolutions; records shapes, too

	// Schedule divides a program's steps into those that are recorded and others. The
	// default records from beginning to end.
	Schedule *Schedule

	// OnTraceReady gets what has been recorded: at the end of each cycle of the Schedule, or
	// at the end. Its error is that of the Step or Stop it runs in.
	OnTraceReady func(*Result) error
}

// plan is Options as the shim takes it.
type plan struct {
	cpu, cuda, shapes, memory, flops bool
}

func (o *Options) plan() (plan, error) {
	p := plan{shapes: o.RecordShapes || o.WithFLOPs, memory: o.ProfileMemory, flops: o.WithFLOPs}
	for _, a := range o.Activities {
		switch a {
		case CPU:
			p.cpu = true
		case CUDA:
			p.cuda = true
		default:
			return p, fmt.Errorf("torch/profiler: unknown activity %v; expected CPU or CUDA", a)
		}
	}
	if len(o.Activities) == 0 {
		p.cpu, p.cuda = true, torch.DeviceCount(torch.DeviceCUDA) > 0
	}
	if !p.cuda {
		return p, nil
	}
	if err := torch.CheckDevice(torch.NewDevice(torch.DeviceCUDA, -1)); err != nil {
		return p, fmt.Errorf("torch/profiler: activity CUDA: %w", err)
	}
	return p, nil
}

// run passes the plan to one of the entries that take it.
func (p plan) run(op cgo.Op) error {
	return torch.Try(func() {
		var c cgo.Call
		c.Begin(op)
		for _, on := range []bool{p.cpu, p.cuda, p.shapes, p.memory, p.flops} {
			c.Bool(on)
		}
		bridge.Done(&c)
	})
}

// Schedule is a plan by steps. After SkipFirst steps come cycles: Wait steps in which nothing
// happens, Warmup steps in which tracing is prepared and nothing is kept, Active steps that
// are recorded. [Profiler.Step] ends a step.
type Schedule struct {
	SkipFirst     int
	Wait          int
	Warmup        int
	Active        int  // at least 1
	Repeat        int  // the number of cycles; 0 is as many as there are steps for
	SkipFirstWait bool // the first cycle does without its Wait
}

type phase int

const (
	idle phase = iota
	warming
	recording
	saving // recording, and the last step of its cycle
)

func (s *Schedule) check() error {
	if s != nil && (min(s.SkipFirst, s.Wait, s.Warmup, s.Repeat) < 0 || s.Active < 1) {
		return fmt.Errorf("torch/profiler: schedule %+v: expected at least one active step and no negative number", *s)
	}
	return nil
}

// at is the phase of a step; the steps count from 0.
func (s *Schedule) at(step int) phase {
	if s == nil {
		return recording
	}
	if step < s.SkipFirst {
		return idle
	}
	step -= s.SkipFirst
	if s.SkipFirstWait {
		step += s.Wait
	}
	cycle := s.Wait + s.Warmup + s.Active
	if s.Repeat > 0 && step/cycle >= s.Repeat {
		return idle
	}
	switch step %= cycle; {
	case step < s.Wait:
		return idle
	case step < s.Wait+s.Warmup:
		return warming
	case step < cycle-1:
		return recording
	default:
		return saving
	}
}

// ErrRunning is the error of a second profiler: libtorch has one.
var ErrRunning = errors.New("torch/profiler: a profiler is running already; there can be one at a time in a process")

// ErrStopped is the error of a profiler that is used after its end.
var ErrStopped = errors.New("torch/profiler: the profiler has been stopped")
