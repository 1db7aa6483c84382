package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/pace"
	"github.com/libtorch-go/libtorch/internal/proc"
)

// report is what is written as JSON.
type report struct {
	Machine  string     `json:"machine"`
	Date     string     `json:"date"`
	Libtorch string     `json:"libtorch"`
	Against  string     `json:"against"`
	Go       string     `json:"go"`
	Rounds   int        `json:"rounds"`
	Times    []times    `json:"times"`
	Memory   []memories `json:"memory,omitempty"`
	Programs []result   `json:"programs,omitempty"`
}

// figures are what remains of a side's rounds, in nanoseconds.
type figures struct {
	WallMin float64 `json:"wall_min"`
	WallP25 float64 `json:"wall_p25"`
	CPUMin  float64 `json:"cpu_min,omitempty"`
	CPUP25  float64 `json:"cpu_p25,omitempty"`
}

// times compares how long the sides take. Ratios are Python's, or whoever was in its place, over ours.
type times struct {
	Case    string  `json:"case"`
	Group   group   `json:"group"`
	Threads int     `json:"threads,omitempty"`
	Malloc  string  `json:"malloc,omitempty"`
	Ours    figures `json:"ours"`
	Python  figures `json:"python"`
	Ratio   figures `json:"ratio"`
}

// memories compares peak memory in bytes. The ratio is ours over Python's.
type memories struct {
	Case       string  `json:"case"`
	Malloc     string  `json:"malloc"`
	Ours       int64   `json:"ours"`
	Python     int64   `json:"python"`
	Ratio      float64 `json:"ratio"`
	OursStep   int64   `json:"ours_above_idle"`
	PythonStep int64   `json:"python_above_idle"`
	StepRatio  float64 `json:"ratio_above_idle"`
}

func newReport(libtorch, against string, rounds int) *report {
	return &report{
		Machine:  fmt.Sprintf("%s, %d cores", proc.Processor(), runtime.NumCPU()),
		Date:     time.Now().Format(time.DateOnly),
		Libtorch: libtorch,
		Against:  against,
		Go:       runtime.Version(),
		Rounds:   rounds,
	}
}

func summarise(t timing) figures {
	f := figures{WallMin: pace.Lowest(t.wall), WallP25: pace.Quarter(t.wall)}
	if len(t.cpu) > 0 {
		f.CPUMin, f.CPUP25 = pace.Lowest(t.cpu), pace.Quarter(t.cpu)
	}
	return f
}

func (f figures) over(g figures) figures {
	r := figures{WallMin: f.WallMin / g.WallMin, WallP25: f.WallP25 / g.WallP25}
	if g.CPUMin > 0 {
		r.CPUMin, r.CPUP25 = f.CPUMin/g.CPUMin, f.CPUP25/g.CPUP25
	}
	return r
}

func (r *report) addTask(t *task) {
	for _, p := range t.pairs {
		ours, theirs := summarise(*t.taken[p.ours]), summarise(*t.taken[p.theirs])
		r.Times = append(r.Times, times{t.name, t.group, t.threads, p.malloc, ours, theirs, theirs.over(ours)})
	}
}

func (r *report) addStart(ours, theirs []float64) {
	o, t := summarise(timing{wall: ours}), summarise(timing{wall: theirs})
	r.Times = append(r.Times, times{Case: "start to first result", Group: startGroup, Ours: o, Python: t, Ratio: t.over(o)})
}

func (r *report) addMemory(name, malloc string, ours, theirs footprint) {
	m := memories{Case: name, Malloc: malloc, Ours: ours.peak, Python: theirs.peak, OursStep: ours.peak - ours.idle,
		PythonStep: theirs.peak - theirs.idle}
	m.Ratio = float64(m.Ours) / float64(m.Python)
	m.StepRatio = float64(m.OursStep) / float64(m.PythonStep)
	r.Memory = append(r.Memory, m)
}

// headline is the geometric mean of the five operators that the project is held to.
func (r *report) headline() (mean figures, ok bool) {
	named := []string{"add", "add_", "view", "mm 4x4", "empty"}
	var list [4][]float64
	for _, t := range r.Times {
		if slices.Contains(named, t.Case) {
			for i, v := range []float64{t.Ratio.WallMin, t.Ratio.WallP25, t.Ratio.CPUMin, t.Ratio.CPUP25} {
				list[i] = append(list[i], v)
			}
		}
	}
	if len(list[0]) != len(named) {
		return mean, false
	}
	return figures{pace.GeoMean(list[0]), pace.GeoMean(list[1]), pace.GeoMean(list[2]), pace.GeoMean(list[3])}, true
}

// print writes the report as Markdown.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s; libtorch %s, %s; %s; %d rounds.\n", r.Machine, r.Libtorch, r.Go, r.Date, r.Rounds)
	fmt.Fprintf(w, "\n| case | threads | malloc | ours | %s | wall min | wall p25 | CPU min | CPU p25 "+
		"|\n|---|---|---|---|---|---|---|---|---|\n", r.Against)
	for i, t := range r.Times {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", t.Case, blank(t.Threads), t.Malloc, duration(t.Ours.WallMin),
			duration(t.Python.WallMin), t.Ratio)
		last := i+1 == len(r.Times) || r.Times[i+1].Group != tinyGroup
		if mean, ok := r.headline(); ok && t.Group == tinyGroup && last {
			fmt.Fprintf(w, "| **geometric mean of the first five** | | | | | %s |\n", mean)
		}
	}
	if len(r.Memory) == 0 {
		return
	}
	fmt.Fprint(w, "\n| peak memory | malloc | ours | Python | ours / Python | ours, above idle | Python, above idle | ratio "+
		"|\n|---|---|---|---|---|---|---|---|\n")
	for _, m := range r.Memory {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %.2f | %s | %s | %.2f |\n", m.Case, m.Malloc, mebi(m.Ours), mebi(m.Python), m.Ratio,
			mebi(m.OursStep), mebi(m.PythonStep), m.StepRatio)
	}
}

// String is a row of ratios.
func (f figures) String() string {
	cells := make([]string, 4)
	for i, v := range []float64{f.WallMin, f.WallP25, f.CPUMin, f.CPUP25} {
		if v > 0 {
			cells[i] = fmt.Sprintf("%.2fx", v)
		}
	}
	return strings.Join(cells, " | ")
}

func blank(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func duration(ns float64) string {
	switch {
	case ns < 1e4:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.1f us", ns/1e3)
	default:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	}
}

func mebi(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// save writes the report to dir, one file for a machine and a day, and one for programs.
func (r *report) save(dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	name := strings.ToLower(strings.NewReplacer("(R)", "", "(TM)", "", "CPU", "", "@", "").Replace(r.Machine))
	name = strings.Trim(regexp.MustCompile(`[^a-z0-9.]+`).ReplaceAllString(name, "-"), "-")
	kind := ""
	if len(r.Programs) > 0 {
		kind = "-programs"
		if slices.ContainsFunc(otherNetworks, func(n network) bool { return n.name == r.Programs[0].Network }) {
			kind = "-others"
		}
	}
	path = filepath.Join(dir, name+"-"+r.Date+kind+".json")
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, append(text, '\n'), 0o644)
}
