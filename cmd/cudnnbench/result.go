package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/atomicfile"
	"github.com/libtorch-go/libtorch/internal/proc"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// A result is everything that a run measured, as -json writes it.
type result struct {
	Complete bool     `json:"complete"` // false until the end
	Rounds   int      `json:"rounds"`   // that a workload is measured for
	Machine  machine  `json:"machine"`
	Flags    []string `json:"flags"`
	LeftOut  string   `json:"left_out,omitempty"`
	Tasks    []*task  `json:"workloads"`

	choices []choice
}

// A machine describes where a result was measured.
type machine struct {
	Date      string `json:"date"`
	Device    string `json:"device"`
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
	Kernel    string `json:"kernel"`
	Card      string `json:"card,omitempty"`
	Libtorch  string `json:"libtorch"`
	CUDNN     string `json:"cudnn,omitempty"`
	CUDA      string `json:"cuda,omitempty"`
	Driver    string `json:"driver,omitempty"` // the newest CUDA that it can run
	Go        string `json:"go"`
}

func newResult(c *config, args []string, leftOut string) (*result, error) {
	m := machine{
		Date: time.Now().Format(time.DateOnly), Device: c.device.String(), Processor: proc.Processor(), Cores: runtime.NumCPU(),
		Kernel: proc.Kernel(), Libtorch: torch.Version(), Go: runtime.Version(),
	}
	if c.device.IsCUDA() {
		versions, err := cuda.LibraryVersions()
		if err != nil {
			return nil, err
		}
		m.Card = cuda.DeviceName(max(0, c.device.Index()))
		m.CUDNN = dotted(versions.CUDNN, 10000, 100)
		m.CUDA, m.Driver = dotted(versions.Runtime, 1000, 10), dotted(versions.Driver, 1000, 10)
	}
	return &result{Rounds: c.plan.rounds, Machine: m, Flags: args, LeftOut: leftOut, Tasks: []*task{}, choices: c.choices}, nil
}

// dotted writes 91900 as 9.19.0, given the factors of its parts; the factor of the last
// is one.
func dotted(version int, parts ...int) (text string) {
	for _, part := range parts {
		text += strconv.Itoa(version/part) + "."
		version %= part
	}
	if parts[len(parts)-1] == 10 {
		return strings.TrimSuffix(text, ".") // CUDA's last digit is none of a version
	}
	return text + strconv.Itoa(version)
}

func (m machine) String() string {
	if m.Card != "" {
		return fmt.Sprintf("%s, cuDNN %s, CUDA %s; libtorch %s", m.Card, m.CUDNN, m.CUDA, m.Libtorch)
	}
	return fmt.Sprintf("%s, %d cores; libtorch %s", m.Processor, m.Cores, m.Libtorch)
}

// whole tells whether a task was not interrupted.
func (r *result) whole(t *task) bool { return t.Rounds == r.Rounds }

// add adds a task as far as it was measured.
func (r *result) add(t *task) {
	if t.begun() {
		t.sum(r.choices)
		r.Tasks = append(r.Tasks, t)
	}
}

// failed is the error of a run in which no setting of a workload could be measured.
func (r *result) failed() error {
	for _, t := range r.Tasks {
		if !slices.ContainsFunc(t.Cells, (*cell).ok) {
			return fmt.Errorf("%s: no setting could be measured: %s", t.Work, t.Cells[0].Failed)
		}
	}
	return nil
}

// files names what is written.
func (c *config) files() string {
	list := slices.DeleteFunc([]string{c.json, c.csv, c.svg}, func(path string) bool { return path == "" })
	return strings.Join(list, ", ")
}

// write writes the files that the flags name, each whole or not at all.
func (r *result) write(c *config) error {
	var failed []error
	for _, f := range []struct {
		path  string
		write func(io.Writer) error
	}{{c.json, r.writeJSON}, {c.csv, r.writeCSV}, {c.svg, r.writeSVG}} {
		if f.path != "" {
			failed = append(failed, atomicfile.Write(f.path, f.write))
		}
	}
	return errors.Join(failed...)
}

func (r *result) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	return e.Encode(r)
}

// writeCSV writes a row for each cell. A missing value is an empty field.
func (r *result) writeCSV(w io.Writer) error {
	head := []string{"workload", "model", "conv", "batch", "mode", "of", "count"}
	for _, c := range r.choices {
		head = append(head, c.name)
	}
	head = append(head, "rounds", "seconds", "seconds_low", "seconds_high", "images_per_second", "peak_bytes",
		"speed", "speed_low", "speed_high", "failed", "complete")
	table := csv.NewWriter(w)
	rows := [][]string{head}
	for _, t := range r.Tasks {
		for _, c := range t.Cells {
			rows = append(rows, r.row(t, c))
		}
	}
	return table.WriteAll(rows)
}

func (r *result) row(t *task, c *cell) []string {
	row := []string{t.Work.String(), t.Work.Model, t.Work.Conv, strconv.Itoa(t.Work.Batch), t.Work.Mode, t.Of, filled(float64(t.Count))}
	for _, axis := range r.choices {
		row = append(row, c.Setting[axis.name])
	}
	row = append(row, strconv.Itoa(len(c.Seconds)))
	for _, v := range []float64{c.Time.Median, c.Time.Low, c.Time.High, c.Rate, float64(c.Peak), c.Speed.Median, c.Speed.Low, c.Speed.High} {
		row = append(row, filled(v))
	}
	return append(row, c.Failed, strconv.FormatBool(r.whole(t)))
}

// filled is a number, or nothing.
func filled(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 9, 64)
}
