package profiler

import (
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/pytext"
	"github.com/libtorch-go/libtorch/torch"
)

// Average sums up the events of one kind.
type Average struct {
	Name   string
	Device torch.Device
	Range  bool
	Shapes [][]int // of the arguments, if the events are grouped by them

	Count int
	FLOPs int64

	CPUTime, SelfCPUTime           time.Duration
	DeviceTime, SelfDeviceTime     time.Duration
	CPUMemory, SelfCPUMemory       int64
	DeviceMemory, SelfDeviceMemory int64

	nested bool // the first of its events has a parent
	async  bool // the first of its events is Async
}

// AverageCPUTime is the mean CPU time of a call.
func (a *Average) AverageCPUTime() time.Duration { return a.CPUTime / time.Duration(max(1, a.Count)) }

// AverageDeviceTime is the mean device time of a call.
func (a *Average) AverageDeviceTime() time.Duration {
	return a.DeviceTime / time.Duration(max(1, a.Count))
}

// Averages are the sums of a recording, in the order in which their names first
// occurred.
type Averages struct {
	Rows []*Average
	plan plan
}

// AverageOptions say which events are of one kind.
type AverageOptions struct {
	GroupByInputShapes bool // those with arguments of the same shapes, too; needs RecordShapes
}

// KeyAverages sums up the events by name.
func (r *Result) KeyAverages(opts ...AverageOptions) Averages {
	byShapes := len(opts) > 0 && opts[0].GroupByInputShapes
	type key struct {
		name, shapes string
		device       torch.Device
		isRange      bool
	}
	rows := map[key]*Average{}
	list := Averages{plan: r.plan}
	for _, e := range r.events {
		k := key{name: e.Key(), device: torch.NewDevice(e.Device.Type(), -1), isRange: e.Range}
		if byShapes {
			k.shapes = shapesText(e.Shapes)
		}
		a := rows[k]
		if a == nil {
			a = &Average{Name: k.name, Device: k.device, Range: e.Range, nested: e.Parent != nil, async: e.Async}
			if byShapes {
				a.Shapes = e.Shapes
			}
			rows[k] = a
			list.Rows = append(list.Rows, a)
		}
		a.add(e)
	}
	return list
}

func (a *Average) add(e *Event) {
	a.merge(&Average{
		Count:   1,
		CPUTime: e.CPUTime(), SelfCPUTime: e.SelfCPUTime(), DeviceTime: e.DeviceTime(), SelfDeviceTime: e.SelfDeviceTime(),
		CPUMemory: e.CPUMemory, SelfCPUMemory: e.SelfCPUMemory(), DeviceMemory: e.DeviceMemory, SelfDeviceMemory: e.SelfDeviceMemory(),
		FLOPs: e.FLOPs,
	})
}

func (a *Average) merge(b *Average) {
	a.Count += b.Count
	a.CPUTime += b.CPUTime
	a.SelfCPUTime += b.SelfCPUTime
	a.DeviceTime += b.DeviceTime
	a.SelfDeviceTime += b.SelfDeviceTime
	a.CPUMemory += b.CPUMemory
	a.SelfCPUMemory += b.SelfCPUMemory
	a.DeviceMemory += b.DeviceMemory
	a.SelfDeviceMemory += b.SelfDeviceMemory
	a.FLOPs += b.FLOPs
}

// Total sums up all rows under the name "Total".
func (l Averages) Total() *Average {
	total := &Average{Name: "Total", Device: torch.CPU}
	for _, a := range l.Rows {
		total.merge(a)
	}
	return total
}

// shapesText writes shapes as Python prints them.
func shapesText(shapes [][]int) string {
	list := make([]string, len(shapes))
	for i, s := range shapes {
		list[i] = pytext.List(s)
	}
	return "[" + strings.Join(list, ", ") + "]"
}
