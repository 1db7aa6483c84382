package profiler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/libtorch-go/libtorch/torch"
)

// SortKey is a column by which a table is sorted, the largest first. The names are PyTorch's.
type SortKey string

// The columns.
const (
	ByCPUTime             SortKey = "cpu_time" // of one call
	ByCPUTimeTotal        SortKey = "cpu_time_total"
	BySelfCPUTimeTotal    SortKey = "self_cpu_time_total"
	ByDeviceTime          SortKey = "device_time" // of one call
	ByDeviceTimeTotal     SortKey = "device_time_total"
	BySelfDeviceTimeTotal SortKey = "self_device_time_total"
	ByCPUMemory           SortKey = "cpu_memory_usage"
	BySelfCPUMemory       SortKey = "self_cpu_memory_usage"
	ByDeviceMemory        SortKey = "device_memory_usage"
	BySelfDeviceMemory    SortKey = "self_device_memory_usage"
	ByCount               SortKey = "count"
)

var sortKeys = map[SortKey]func(*Average) float64{
	ByCPUTime:             func(a *Average) float64 { return float64(a.CPUTime) / float64(a.Count) },
	ByCPUTimeTotal:        func(a *Average) float64 { return float64(a.CPUTime) },
	BySelfCPUTimeTotal:    func(a *Average) float64 { return float64(a.SelfCPUTime) },
	ByDeviceTime:          func(a *Average) float64 { return float64(a.DeviceTime) / float64(a.Count) },
	ByDeviceTimeTotal:     func(a *Average) float64 { return float64(a.DeviceTime) },
	BySelfDeviceTimeTotal: func(a *Average) float64 { return float64(a.SelfDeviceTime) },
	ByCPUMemory:           func(a *Average) float64 { return float64(a.CPUMemory) },
	BySelfCPUMemory:       func(a *Average) float64 { return float64(a.SelfCPUMemory) },
	ByDeviceMemory:        func(a *Average) float64 { return float64(a.DeviceMemory) },
	BySelfDeviceMemory:    func(a *Average) float64 { return float64(a.SelfDeviceMemory) },
	ByCount:               func(a *Average) float64 { return float64(a.Count) },
}

// TableOptions say what a table shows. The zero value is PyTorch's default.
type TableOptions struct {
	SortBy         SortKey       // default: the order of the first events
	RowLimit       int           // default: 100; negative: all
	MaxNameWidth   int           // of the name's column; default: 55; negative: what is needed
	MaxShapesWidth int           // of the shapes' column; default: 80; negative: what is needed
	Header         string        // a line above the table
	TopLevelOnly   bool          // only what is not inside of anything else
	TimeUnit       time.Duration // time.Second, time.Millisecond or time.Microsecond; default: what suits each
}

// Table is [Averages.Table] of [Result.KeyAverages].
func (r *Result) Table(opts ...TableOptions) string { return r.KeyAverages().Table(opts...) }

// Table lays the rows out as PyTorch does: times on the host, on the card where there are any,
// memory if it was recorded, the number of calls, shapes if the rows are grouped by them, FLOPs if
// they were asked for. Self is what the events' children have no part in; the percentages are of
// the totals below. Without rows it is empty. An unknown SortBy or TimeUnit panics with a
// *torch.Error.
func (l Averages) Table(opts ...TableOptions) string {
	if len(l.Rows) == 0 {
		return ""
	}
	t := newTable(l, opts)
	var b strings.Builder
	line := func(s string) { b.WriteString(s + "\n") }
	width := -gap
	for _, c := range t.columns {
		width += c.width + gap
	}
	if t.Header != "" {
		line(strings.Repeat("=", width))
		line(t.Header)
	}
	if t.TopLevelOnly {
		line(strings.Repeat("=", width))
		line("This report only display top-level ops statistics")
	}
	rule := t.line(func(c column) string { return strings.Repeat("-", c.width) })
	line(rule)
	line(t.line(func(c column) string { return c.title }))
	line(rule)
	for _, a := range t.rows {
		line(t.line(func(c column) string { return c.text(a) }))
	}
	line(rule)
	line("Self CPU time total: " + t.time(t.cpu))
	if t.device != "" {
		line("Self " + t.device + " time total: " + t.time(t.onDevice))
	}
	return b.String()
}

const gap = 2 // spaces after each column

type column struct {
	title string
	width int
	text  func(*Average) string
}

type table struct {
	TableOptions
	rows          []*Average
	columns       []column
	device        string        // the title of the columns of times on the card, if there are any
	cpu, onDevice time.Duration // the sums of all rows
}

func newTable(l Averages, opts []TableOptions) *table {
	t := &table{rows: slices.Clone(l.Rows)}
	if len(opts) > 0 {
		t.TableOptions = opts[0]
	}
	t.check()
	for _, a := range t.rows {
		t.cpu += a.SelfCPUTime
		if !a.Device.IsCPU() && !a.Range {
			t.onDevice += a.SelfDeviceTime
		}
		if a.SelfDeviceTime > 0 {
			t.device = "CUDA"
		}
	}
	if key := sortKeys[t.SortBy]; key != nil {
		slices.SortStableFunc(t.rows, func(a, b *Average) int { return cmp.Compare(key(b), key(a)) })
	}
	t.layOut(l.plan)
	if t.TopLevelOnly {
		t.rows = slices.DeleteFunc(t.rows, func(a *Average) bool { return a.nested })
	}
	if t.RowLimit >= 0 {
		t.rows = t.rows[:min(len(t.rows), t.RowLimit)]
	}
	return t
}

func (t *table) check() {
	const rows, name, shapes = 100, 55, 80
	t.RowLimit = cmp.Or(t.RowLimit, rows)
	t.MaxNameWidth = cmp.Or(t.MaxNameWidth, name)
	t.MaxShapesWidth = cmp.Or(t.MaxShapesWidth, shapes)
	if t.SortBy != "" && sortKeys[t.SortBy] == nil {
		torch.Throw("table", torch.KindValue, "there is no column %q to sort by; expected one of %v", t.SortBy, sortedKeys())
	}
	if t.TimeUnit != 0 && units[t.TimeUnit] == "" {
		torch.Throw("table", torch.KindValue, "expected a time unit of 1s, 1ms or 1µs, got %v", t.TimeUnit)
	}
}

func sortedKeys() (keys []SortKey) {
	for k := range sortKeys {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// layOut decides on the columns.
func (t *table) layOut(p plan) {
	t.columns = []column{{"Name", t.width(t.MaxNameWidth, func(a *Average) string { return a.Name }), t.name}}
	add := func(title string, text func(*Average) string) {
		const width = 12
		t.columns = append(t.columns, column{title, width, text})
	}
	add("Self CPU %", func(a *Average) string { return share(a.SelfCPUTime, t.cpu) })
	add("Self CPU", func(a *Average) string { return t.time(a.SelfCPUTime) })
	add("CPU total %", func(a *Average) string {
		if a.async {
			return "0"
		}
		return share(a.CPUTime, t.cpu)
	})
	add("CPU total", func(a *Average) string { return t.time(a.CPUTime) })
	add("CPU time avg", func(a *Average) string { return t.average(a.CPUTime, a.Count) })
	if t.device != "" {
		add("Self "+t.device, func(a *Average) string { return t.time(a.SelfDeviceTime) })
		add("Self "+t.device+" %", func(a *Average) string { return share(a.SelfDeviceTime, t.onDevice) })
		add(t.device+" total", func(a *Average) string { return t.time(a.DeviceTime) })
		add(t.device+" time avg", func(a *Average) string { return t.average(a.DeviceTime, a.Count) })
	}
	if p.memory {
		add("CPU Mem", func(a *Average) string { return bytesText(a.CPUMemory) })
		add("Self CPU Mem", func(a *Average) string { return bytesText(a.SelfCPUMemory) })
		if p.cuda && slices.ContainsFunc(t.rows, func(a *Average) bool { return a.SelfDeviceMemory > 0 }) {
			add("CUDA Mem", func(a *Average) string { return bytesText(a.DeviceMemory) })
			add("Self CUDA Mem", func(a *Average) string { return bytesText(a.SelfDeviceMemory) })
		}
	}
	add("# of Calls", func(a *Average) string { return strconv.Itoa(a.Count) })
	if slices.ContainsFunc(t.rows, func(a *Average) bool { return len(a.Shapes) > 0 }) {
		shapes := func(a *Average) string { return shapesText(a.Shapes) }
		width := t.width(t.MaxShapesWidth, shapes)
		t.columns = append(t.columns, column{"Input Shapes", width, func(a *Average) string { return shapes(a)[:min(width, len(shapes(a)))] }})
	}
	if scale, title := t.flops(); p.flops && scale != 0 {
		add("Total "+title, func(a *Average) string {
			if a.FLOPs <= 0 {
				return "--"
			}
			return fmt.Sprintf("%8.3f", float64(a.FLOPs)*scale)
		})
	}
}

// width is what the longest text of a column needs, up to a limit.
func (t *table) width(limit int, text func(*Average) string) (width int) {
	const margin = 4
	for _, a := range t.rows {
		width = max(width, utf8.RuneCountInString(text(a))+margin)
	}
	if limit > 0 {
		width = min(width, limit)
	}
	return width
}

func (t *table) name(a *Average) string {
	const dots = "..."
	runes := []rune(a.Name)
	if room := t.MaxNameWidth - len(dots); t.MaxNameWidth > 0 && len(runes) >= room {
		return string(runes[:max(0, room)]) + dots
	}
	return a.Name
}

func (t *table) line(text func(column) string) string {
	var b strings.Builder
	for _, c := range t.columns {
		fmt.Fprintf(&b, "%*s%*s", c.width, text(c), gap, "")
	}
	return b.String()
}

// flops chooses a unit by the smallest number of operations: what to multiply by, and its name.
// The factor is 0 where there are none.
func (t *table) flops() (scale float64, title string) {
	least := int64(math.MaxInt64)
	for _, a := range t.rows {
		if a.FLOPs > 0 {
			least = min(least, a.FLOPs)
		}
	}
	if least == math.MaxInt64 {
		return 0, ""
	}
	titles := []string{"FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"}
	i := min(int(math.Log10(float64(least))/3), len(titles)-1)
	return math.Pow(10, -3*float64(i)), titles[i]
}

var units = map[time.Duration]string{time.Second: "s", time.Millisecond: "ms", time.Microsecond: "us"}

func (t *table) time(d time.Duration) string { return t.micros(micros(d)) }

func (t *table) average(d time.Duration, count int) string {
	return t.micros(micros(d) / float64(max(1, count)))
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// micros writes a time in the unit that was asked for, or in the largest of which it is one.
func (t *table) micros(v float64) string {
	unit := t.TimeUnit
	if unit == 0 {
		unit = time.Microsecond
		for _, larger := range []time.Duration{time.Millisecond, time.Second} {
			if v >= micros(larger) {
				unit = larger
			}
		}
	}
	return fmt.Sprintf("%.3f%s", v/micros(unit), units[unit])
}

func share(part, whole time.Duration) string {
	if whole == 0 {
		return "NaN"
	}
	return fmt.Sprintf("%.2f%%", micros(part)*100/micros(whole))
}

func bytesText(n int64) string {
	for i, unit := range []string{"GB", "MB", "KB"} {
		if size := int64(1) << (10 * (3 - i)); max(n, -n) >= size {
			return fmt.Sprintf("%.2f %s", float64(n)/float64(size), unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}
