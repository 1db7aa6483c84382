package profiler

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/torch"
)

// Event is one operator, range or kernel.
type Event struct {
	Name   string        // "aten::mm", the name of a range, that of a kernel
	Start  time.Duration // since the recording began
	End    time.Duration
	Device torch.Device // where it ran: the CPU for all but kernels and copies on a card
	Stream int          // the card's stream, for kernels and copies
	Thread uint64       // libtorch's number of the thread; goroutines may go from one to another

	Range    bool   // the program made it: by [Record], or as a step
	Backward bool   // it is a node of a backward pass
	Sequence int64  // the number that a forward operation shares with its backward node, or -1
	Forward  uint64 // the thread of that forward operation
	Async    bool   // it ended on another thread than it began on

	Shapes [][]int  // of the arguments, if recorded: empty for a number, a list, an absent tensor
	DTypes []string // of the arguments, in C++'s names: "float", "long int", "Scalar"
	FLOPs  int64    // the estimate of WithFLOPs, or 0

	// Bytes that were allocated, minus those freed, between start and end on its thread.
	CPUMemory, DeviceMemory int64

	Kernels  []Kernel // the kernels that it started, without those of its children
	Parent   *Event   // the event around it on its thread, or nil
	Children []*Event

	id, link uint64 // its number, and that of the operator a kernel belongs to
}

// Kernel is a kernel or a copy that an operator started on a card.
type Kernel struct {
	Name   string
	Device torch.Device
	Time   time.Duration
}

const stepName = "ProfilerStep"

// Key is the name that events are counted under: the steps of a [Schedule] count as one.
func (e *Event) Key() string {
	if strings.HasPrefix(e.Name, stepName+"#") {
		return stepName + "*"
	}
	return e.Name
}

func (e *Event) onCPU() bool { return e.Device.IsCPU() }

// nested tells whether the event takes part in the tree.
func (e *Event) nested() bool { return e.onCPU() && !e.Async }

// CPUTime is the time from start to end; 0 for an event on a card.
func (e *Event) CPUTime() time.Duration {
	if !e.onCPU() {
		return 0
	}
	return e.End - e.Start
}

// SelfCPUTime is CPUTime without that of the children.
func (e *Event) SelfCPUTime() time.Duration { return own(e, e.nested(), (*Event).CPUTime) }

// DeviceTime is the time of all kernels of the event and of its children, or its own.
func (e *Event) DeviceTime() (t time.Duration) {
	switch {
	case e.Async:
		return 0
	case !e.onCPU():
		return e.End - e.Start
	}
	for _, k := range e.Kernels {
		t += k.Time
	}
	for _, c := range e.Children {
		t += c.DeviceTime()
	}
	return t
}

// SelfDeviceTime is DeviceTime without that of the children.
func (e *Event) SelfDeviceTime() time.Duration { return own(e, true, (*Event).DeviceTime) }

// SelfCPUMemory is CPUMemory without that of the children.
func (e *Event) SelfCPUMemory() int64 {
	return own(e, e.nested(), func(e *Event) int64 { return e.CPUMemory })
}

// SelfDeviceMemory is DeviceMemory without that of the children.
func (e *Event) SelfDeviceMemory() int64 {
	return own(e, e.nested(), func(e *Event) int64 { return e.DeviceMemory })
}

// own is the part of the event outside its children.
func own[T ~int64](e *Event, counts bool, of func(*Event) T) (rest T) {
	if !counts {
		return 0
	}
	rest = of(e)
	for _, c := range e.Children {
		rest -= of(c)
	}
	return rest
}

// byTime is the order of events: an event comes before those inside of it.
func byTime(a, b *Event) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
}

// grow makes trees of events that are in order: on each thread, an event is the child of the
// innermost one around it.
func grow(events []*Event) []*Event {
	open := map[uint64][]*Event{}
	for _, e := range events {
		if !e.nested() {
			continue
		}
		stack := open[e.Thread]
		for len(stack) > 0 {
			around := stack[len(stack)-1]
			if e.Start < around.End && e.End <= around.End {
				around.Children = append(around.Children, e)
				e.Parent = around
				break
			}
			stack = stack[:len(stack)-1]
		}
		open[e.Thread] = append(stack, e)
	}
	return merge(events)
}

// merge drops an event whose parent has the same name and no other child: an operator that
// calls itself under another dispatch key counts once.
func merge(events []*Event) []*Event {
	for {
		before := len(events)
		events = slices.DeleteFunc(events, func(e *Event) bool {
			p := e.Parent
			if p == nil || p.Name != e.Name || len(p.Children) != 1 {
				return false
			}
			p.Children, p.Kernels = e.Children, e.Kernels
			for _, c := range e.Children {
				c.Parent = p
			}
			return true
		})
		if len(events) == before {
			return events
		}
	}
}
