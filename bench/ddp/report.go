package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/libtorch-go/libtorch/internal/proc"
)

func newMeasured(at time.Time) *measured {
	return &measured{
		Machine: proc.Processor(), Cores: runtime.NumCPU(), Load: "before " + load(), Date: at.UTC().Format(time.DateOnly), Batch: *batch,
		Size: *size, Steps: *steps,
	}
}

// load is what else the machine does.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// keep writes the results to a folder.
func (m *measured) keep(dir string) error {
	if dir == "" {
		return nil
	}
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, fmt.Sprintf("ddp-%d-cores-%s.json", m.Cores, m.Date))
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Println("the results are in", path)
	return nil
}

func reportFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var m measured
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	report(&m)
	return nil
}

// scaling is how many times as fast as one rank the two are.
func (r row) scaling() float64 { return ranks * r.Solo / r.Step }

// hidden is the share of the exchange that a step does not wait for.
func (r row) hidden() float64 { return 1 - (r.Step-r.Alone)/r.Exchange }

// payload is what frames of 1,500 bytes leave of a rate.
const payload = 1448.0 / 1514

// ring is what docs/scaling.md's model has for the exchange of so many bytes at a rate in Mbit a second.
func ring(bytes int, rate float64) float64 {
	const bits, mega = 8, 1e6
	return 2 * float64(ranks-1) / ranks * float64(bytes) * bits / (rate * mega * payload)
}

// model is the step that docs/scaling.md's model expects: the exchange begins when the first bucket is full, and the last one cannot be
// sent before the backward pass is over.
func (r row) model(exchange, share float64) float64 {
	others := r.Alone - r.Backward // the forward pass and the optimizer
	return others + max(r.Backward+share*exchange, r.First+exchange)
}

// predicted are the exchange and the step that the model expects of a row. Without a limit it has the bandwidth that was measured.
func (m *measured) predicted(r row) (exchange, step float64) {
	exchange = r.Exchange
	if r.Rate > 0 {
		exchange = ring(m.Bytes, r.Rate)
	}
	return exchange, r.model(exchange, float64(r.Last)/float64(m.Bytes))
}

// report prints the medians of the rounds for each side, rate and size of buckets.
func report(m *measured) {
	fmt.Printf("%s, %d cores; load averages %s; ResNet-18, %d images of %dx%d each step and rank; %d bytes of gradients\n\n", m.Machine,
		m.Cores, m.Load, m.Batch, m.Size, m.Size, m.Bytes)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	line := func(cells ...string) { fmt.Fprintf(out, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	titles := []string{"Mbit/s", "buckets MB", "side", "rounds", "images/s, one", "two", "scaling", "exchange ms", "model", "error",
		"alone ms", "step ms", "model", "error", "hidden"}
	line(titles...)
	line(slices.Repeat([]string{"---"}, len(titles))...)
	for _, group := range m.groups() {
		line(m.cells(group)...)
	}
	out.Flush() //nolint:errcheck // of standard output
}

// cells are the line of some rounds of one side.
func (m *measured) cells(group []row) []string {
	of := func(what func(r row) float64) float64 { return median(group, what) }
	exchange, step := of(func(r row) float64 { return r.Exchange }), of(func(r row) float64 { return r.Step })
	exchangeModel := of(func(r row) float64 { e, _ := m.predicted(r); return e })
	stepModel := of(func(r row) float64 { _, s := m.predicted(r); return s })
	limit, expected, off := fmt.Sprint(group[0].Rate), ms(exchangeModel), percent(exchangeModel/exchange-1)
	if group[0].Rate == 0 {
		limit, expected, off = "-", "-", "-"
	}
	return []string{
		limit, fmt.Sprint(group[0].Bucket), group[0].Side, fmt.Sprint(len(group)),
		number(of(func(r row) float64 { return float64(m.Batch) / r.Solo })), number(ranks * float64(m.Batch) / step), number(of(row.scaling)),
		ms(exchange), expected, off, ms(of(func(r row) float64 { return r.Alone })), ms(step), ms(stepModel), percent(stepModel/step - 1),
		percent(of(row.hidden)),
	}
}

// groups are the rounds of each rate, size of buckets and side.
func (m *measured) groups() (list [][]row) {
	rows := slices.Clone(m.Rows)
	key := func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Rate, b.Rate), cmp.Compare(b.Bucket, a.Bucket), strings.Compare(a.Side, b.Side))
	}
	slices.SortStableFunc(rows, key)
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && key(rows[0], rows[n]) == 0 {
			n++
		}
		list, rows = append(list, rows[:n]), rows[n:]
	}
	return list
}

// median is the middle one of the rounds' figures, or the mean of the two in the middle.
func median(rows []row, of func(r row) float64) float64 {
	var list []float64
	for _, r := range rows {
		list = append(list, of(r))
	}
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

func number(n float64) string { return fmt.Sprintf("%.2f", n) }

func ms(seconds float64) string { return fmt.Sprintf("%.0f", 1000*seconds) }

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
