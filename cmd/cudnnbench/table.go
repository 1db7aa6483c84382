package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// header says what will be measured, on what.
func (r *result) header(out io.Writer, tasks, settings int, p plan) {
	fmt.Fprintf(out, "cudnnbench: %s: %s\n", r.Machine.Device, r.Machine)
	span := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	fmt.Fprintf(out, "plan: %s of %s by turns, %d rounds: %v, and more where an iteration takes longer than %v\n",
		plural(tasks, "workload"), plural(settings, "setting"), p.rounds,
		span(float64(tasks*settings*p.rounds)*p.round).Round(time.Second), span(p.round).Round(time.Microsecond))
	var fixed []string
	for _, c := range r.choices {
		if !c.varied() {
			fixed = append(fixed, c.name+" "+c.values[0])
		}
	}
	if len(fixed) > 0 {
		fmt.Fprintf(out, "the same in all: %s\n", strings.Join(fixed, ", "))
	}
	if r.LeftOut != "" {
		fmt.Fprintln(out, r.LeftOut)
	}
}

func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// show prints a task. The convolutions of a network are printed together, after the last
// of them.
func (r *result) show(out io.Writer, t *task, last bool) {
	switch {
	case t.Of != "" && last:
		newFamily(r, t.Of).show(out, r)
	case t.Of == "" && t.begun():
		fmt.Fprintf(out, "\n%s%s\n", t.Work, r.mark(t))
		align(out, t.table(r.choices))
		fmt.Fprintf(out, "advice: %s: %s\n", t.Work, t.Advice.line(r.choices))
	}
}

// mark is what a title says if the task was interrupted.
func (r *result) mark(t *task) string {
	if r.whole(t) {
		return ""
	}
	return fmt.Sprintf(" (incomplete: %d of %d rounds)", t.Rounds, r.Rounds)
}

// closing says where the figures were written.
func (r *result) closing(out io.Writer, c *config) {
	if files := c.files(); files != "" {
		fmt.Fprintf(out, "\nwritten to %s\n", files)
	}
}

// table has a row for each cell: settings, the time of an iteration, and the speed relative
// to the baseline's.
func (t *task) table(choices []choice) (rows [][]string) {
	head := []string{}
	for _, c := range choices {
		if c.varied() {
			head = append(head, c.heading)
		}
	}
	rows = append(rows, append(head, "ms", "95 %", "img/s", "MB", "speed", "95 %"))
	for _, cell := range t.Cells {
		row := []string{}
		for _, c := range choices {
			if c.varied() {
				row = append(row, cell.Setting[c.name])
			}
		}
		if !cell.ok() {
			rows = append(rows, append(row, cell.why()))
			continue
		}
		rows = append(rows, append(row, figure(1e3*cell.Time.Median), between(cell.Time, 1e3), figure(cell.Rate),
			megabytes(cell.Peak), times(cell.Speed), between(cell.Speed, 1)))
	}
	return rows
}

// why says why a cell has no times.
func (c *cell) why() string {
	if c.Failed == "" {
		return "not measured"
	}
	first, _, _ := strings.Cut(c.Failed, "\n")
	return first
}

// figure writes a number with three or four digits that count.
func figure(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	case v >= 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func megabytes(n int64) string {
	v := float64(n) / (1 << 20)
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func times(e estimate) string {
	if e.Median == 0 {
		return ""
	}
	return fmt.Sprintf("%.2fx", e.Median)
}

// between writes an interval, or "" where there is none.
func between(e estimate, unit float64) string {
	switch {
	case !e.known():
		return ""
	case unit == 1:
		return fmt.Sprintf("%.2f..%.2f", e.Low, e.High)
	}
	return figure(unit*e.Low) + ".." + figure(unit*e.High)
}

// align prints rows in columns: words to the left, numbers and the last to the right. A last cell that
// stands for several columns, as why does, has no width.
func align(out io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			if len(row) == len(widths) || i < len(row)-1 {
				widths[i] = max(widths[i], utf8.RuneCountInString(text))
			}
		}
	}
	numeric := func(i int) bool {
		return slices.ContainsFunc(rows[1:], func(row []string) bool {
			return len(row) == len(widths) && row[i] != "" && strings.Trim(row[i], "0123456789.x%") == ""
		})
	}
	for _, row := range rows {
		var line strings.Builder
		for i, text := range row {
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text)))
			if numeric(i) && len(row) == len(widths) {
				pad, text = "", pad+text
			}
			line.WriteString("  " + text + pad)
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
}

// A family are the convolutions of a network.
type family struct {
	of     string
	tasks  []*task
	shares []float64
	whole  *task   // all of them one after the other
	each   float64 // seconds of all, with the fastest setting for each
}

// newFamily finds the convolutions of a network, the longest first by the baseline, each as often as it occurs.
func newFamily(r *result, of string) *family {
	f := &family{of: of}
	for _, t := range r.Tasks {
		if t.Of == of {
			f.tasks = append(f.tasks, t)
		}
	}
	if len(f.tasks) == 0 {
		return f
	}
	weight := func(t *task) float64 { return float64(t.Count) * t.Cells[0].Time.Median }
	slices.SortStableFunc(f.tasks, func(a, b *task) int { return cmp.Compare(weight(b), weight(a)) })
	total := 0.0
	for _, t := range f.tasks {
		total += weight(t)
	}
	for _, t := range f.tasks {
		f.shares = append(f.shares, weight(t)/max(total, 1e-12))
	}
	f.whole = &task{Work: f.tasks[0].Work}
	for i := range f.tasks[0].Cells {
		f.whole.Cells = append(f.whole.Cells, f.sum(func(t *task) *cell { return t.Cells[i] }))
	}
	f.each = median(f.sum((*task).fastest).Seconds, usual).Median
	f.whole.sum(r.choices)
	return f
}

// sum is a cell whose rounds are those of all convolutions together, each under the setting that
// of picks.
func (f *family) sum(of func(*task) *cell) *cell {
	first := of(f.tasks[0])
	sum := &cell{Setting: first.Setting, Seconds: make([]float64, len(first.Seconds))}
	for _, t := range f.tasks {
		one := of(t)
		if !one.ok() {
			sum.Failed = fmt.Sprintf("%s: %s", t.Work.Conv, one.why())
		}
		sum.Seconds = sum.Seconds[:min(len(sum.Seconds), len(one.Seconds))]
		for round := range sum.Seconds {
			sum.Seconds[round] += float64(t.Count) * one.Seconds[round]
		}
	}
	return sum
}

// best is the cell that the advice is for, or the baseline.
func (t *task) best() *cell {
	if t.Advice.Best == nil {
		return t.Cells[0]
	}
	return t.Cells[find(t.Cells, t.Advice.Best)]
}

// fastest is the cell with the lowest median, even if that is by chance.
func (t *task) fastest() *cell {
	best := t.Cells[0]
	for _, c := range t.Cells {
		if c.ok() && (!best.ok() || c.Time.Median < best.Time.Median) {
			best = c
		}
	}
	return best
}

func (f *family) show(out io.Writer, r *result) {
	if len(f.tasks) == 0 {
		return
	}
	last := f.tasks[len(f.tasks)-1]
	for _, t := range f.tasks {
		if !r.whole(t) {
			last = t
		}
	}
	fmt.Fprintf(out, "\n%s, its convolutions by their share of the time%s\n", f.of, r.mark(last))
	rows := [][]string{{"input,weight", "times", "share", "ms", "best", "ms", "speed", "95 %"}}
	for i, t := range f.tasks {
		base, best := t.Cells[0], t.best()
		row := []string{t.Work.Conv, fmt.Sprint(t.Count)}
		if !base.ok() {
			rows = append(rows, append(row, base.why()))
			continue
		}
		rows = append(rows, append(row, fmt.Sprintf("%.1f%%", 100*f.shares[i]), figure(1e3*base.Time.Median), short(t.Advice, r.choices),
			figure(1e3*best.Time.Median), times(t.Advice.Speed), between(t.Advice.Speed, 1)))
	}
	align(out, rows)
	if a := f.whole.Advice; a.Best != nil {
		fmt.Fprintf(out, "all: %s ms at the baseline, %s ms with one setting for all, %s ms with the fastest for each\n",
			figure(1e3*f.whole.Cells[0].Time.Median), figure(1e3*f.whole.best().Time.Median), figure(1e3*f.each))
	}
	fmt.Fprintf(out, "advice: convolutions of %s: %s\n", f.of, f.whole.Advice.line(r.choices))
}

// short names an advice's changes by the headings of their columns: "bench, amp fp16".
func short(a advice, choices []choice) string {
	var words []string
	for _, c := range choices {
		switch v := a.Best[c.name]; {
		case a.Best == nil || v == c.values[0]:
		case v == "on":
			words = append(words, c.heading)
		default:
			words = append(words, c.heading+" "+v)
		}
	}
	if words == nil {
		return "as it is"
	}
	return strings.Join(words, ", ")
}
