package profiler

import (
	"slices"
	"sort"
	"time"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/internal/bridge"
	"github.com/libtorch-go/libtorch/torch"
)

// The names of events about memory, and those of utilities that are left out.
const (
	memoryName      = "[memory]"
	outOfMemoryName = "[OutOfMemory]"
)

var hidden = map[string]bool{"aten::is_leaf": true, "aten::output_nr": true, "aten::_version": true}

// allocation is a piece of memory that was allocated or freed.
type allocation struct {
	Event
	bytes int64 // negative: it was freed
	seen  bool  // inside of an event
}

// decode reads the events of a recording, in the order of put_event in cgo/shim/profiler.cc.
func decode(r cgo.Reader, began uint64) (events []*Event, memory []*allocation) {
	names := map[string]string{}
	since := func(ns uint64) time.Duration { return time.Duration(int64(ns - began)) }
	for r.More() {
		name, _ := decodeName(r.Text())
		e := &Event{Name: intern(names, name)}
		e.id, e.link = r.Next(), r.Next()
		e.Start, e.End = since(r.Next()), since(r.Next())
		e.Thread = r.Next()
		ends := r.Next()
		e.Forward = r.Next()
		e.Sequence = int64(r.Next())
		const backward = 1 // at::RecordScope::BACKWARD_FUNCTION
		e.Backward = r.Next() == backward
		place := r.Next()
		e.Device = bridge.Device[torch.Device](place&^0xff | uint64(uint8(max(-1, int8(place)))))
		e.Stream = int(r.Next())
		bytes := int64(r.Next())
		e.FLOPs = int64(r.Next())
		e.Async = r.Next() != 0 || ends != e.Thread
		e.Range = r.Next() != 0
		for range r.Next() {
			e.Shapes = append(e.Shapes, readShape(&r))
		}
		for range r.Next() {
			e.DTypes = append(e.DTypes, intern(names, r.Text()))
		}
		switch {
		case e.Name == memoryName || e.Name == outOfMemoryName:
			memory = append(memory, &allocation{Event: *e, bytes: bytes})
		case !hidden[e.Name]:
			events = append(events, e)
		}
	}
	return events, memory
}

func intern(names map[string]string, s string) string {
	if known, ok := names[s]; ok {
		return known
	}
	names[s] = s
	return s
}

func readShape(r *cgo.Reader) []int {
	shape := make([]int, r.Next())
	for i := range shape {
		shape[i] = int(r.Next())
	}
	return shape
}

// assemble turns what was recorded into trees of events, with kernels and memory where
// they belong, in the order of their times.
func assemble(events []*Event, memory []*allocation) []*Event {
	link(events)
	events = append(events, account(events, memory)...)
	slices.SortStableFunc(events, byTime)
	return grow(events)
}

// link assigns kernels and driver calls to the operators that made them.
func link(events []*Event) {
	made := map[uint64][]*Event{}
	for _, e := range events {
		if e.link != 0 {
			made[e.link] = append(made[e.link], e)
		}
	}
	for _, e := range events {
		if e.link != 0 || !e.nested() {
			continue
		}
		for _, k := range made[e.id] {
			if k.onCPU() {
				k.Thread = e.Thread
			} else {
				e.Kernels = append(e.Kernels, Kernel{k.Name, k.Device, k.End - k.Start})
			}
		}
	}
}

// account adds up the memory in each event. An allocation outside of all events becomes an event of
// its own, and so does a failed one.
func account(events []*Event, memory []*allocation) (rest []*Event) {
	threads := map[uint64][]*allocation{}
	for _, m := range memory {
		if m.Name == outOfMemoryName {
			m.keep()
			rest = append(rest, &m.Event)
			continue
		}
		threads[m.Thread] = append(threads[m.Thread], m)
	}
	for _, list := range threads {
		slices.SortStableFunc(list, func(a, b *allocation) int { return byTime(&a.Event, &b.Event) })
	}
	for _, e := range events {
		if !e.onCPU() {
			continue
		}
		list := threads[e.Thread]
		for i := sort.Search(len(list), func(i int) bool { return list[i].Start >= e.Start }); i < len(list) && list[i].Start <= e.End; i++ {
			e.count(list[i])
			list[i].seen = true
		}
	}
	for _, m := range memory {
		if m.Name == memoryName && !m.seen {
			m.keep()
			rest = append(rest, &m.Event)
		}
	}
	return rest
}

func (e *Event) count(m *allocation) {
	if m.Device.IsCPU() {
		e.CPUMemory += m.bytes
	} else {
		e.DeviceMemory += m.bytes
	}
}

// keep makes an event of an allocation: an instant on the host.
func (m *allocation) keep() {
	m.count(m)
	m.Device, m.End, m.Sequence, m.Async = torch.CPU, m.Start, -1, false
}
