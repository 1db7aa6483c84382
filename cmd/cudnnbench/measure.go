package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"

	"github.com/libtorch-go/libtorch/internal/pace"
	"github.com/libtorch-go/libtorch/internal/talk"
	"github.com/libtorch-go/libtorch/torch/meter"
)

// A cell is a workload under one setting, and what was measured.
type cell struct {
	Setting setting   `json:"setting"`
	N       int       `json:"iterations"`       // in a round
	Seconds []float64 `json:"seconds"`          // of an iteration, round by round
	Peak    int64     `json:"peak_bytes"`       // the warm-up included
	Failed  string    `json:"failed,omitempty"` // why there are no times
	Time    estimate  `json:"time"`             // in seconds
	Speed   estimate  `json:"speed,omitzero"`   // of the baseline's
	Rate    float64   `json:"images_per_second"`
}

func (c *cell) ok() bool { return c.Failed == "" && len(c.Seconds) > 0 }

// outOfMemory is the Failed of a cell that ran out of memory.
const outOfMemory = "out of memory"

// A task is a workload under all settings.
type task struct {
	Work   workload `json:"work"`
	Of     string   `json:"of,omitempty"`    // the network that a convolution was found in
	Count  int      `json:"count,omitempty"` // how often the network has it
	Rounds int      `json:"rounds"`          // whole ones
	Cells  []*cell  `json:"cells"`
	Advice advice   `json:"advice,omitzero"`
}

// A crew is the processes that measure, by their value of -benchmark: "" if there is no
// such axis.
type crew struct {
	device string
	sides  pace.Crew[*talk.Partner]
	self   []string // the command line of a side
}

// side is the process that measures a setting. It is started when it is first needed.
func (c *crew) side(s setting) (*talk.Partner, error) {
	value := s["benchmark"]
	return c.sides.Get(value, func() (*talk.Partner, error) {
		name := "the process that measures"
		if value != "" {
			name += " with benchmark " + value
		}
		return talk.Start(name, exec.Command(c.self[0], c.self[1:]...))
	})
}

// ask sends a question to the process of a setting.
func (c *crew) ask(s setting, q question) (a answer, err error) {
	p, err := c.side(s)
	if err != nil {
		return a, err
	}
	q.Device = c.device
	if err := p.Ask(q, &a); err != nil {
		return a, fmt.Errorf("%s: %w", q.Work, err)
	}
	return a, nil
}

// close ends the processes. Their warnings are printed.
func (c *crew) close() error {
	var ended []*talk.Partner
	for _, p := range c.sides.All() {
		ended = append(ended, p)
	}
	err := c.sides.Close()
	for _, p := range ended {
		if text := p.Stderr(); text != "" {
			fmt.Fprintln(os.Stderr, text)
		}
	}
	return err
}

// A plan is how a task is measured.
type plan struct {
	rounds int
	warmup int     // iterations before
	round  float64 // seconds that one is to last
}

// measure warms a task's cells up and runs them in turns, so that whatever else the machine
// does affects all of them, and compares them round by round. If ctx ends, it ends after the
// running cell with the error of ctx.
func (c *crew) measure(ctx context.Context, t *task, p plan, bar *meter.Progress) error {
	opened := map[string]bool{}
	for _, cell := range t.Cells {
		if side := cell.Setting["benchmark"]; !opened[side] {
			opened[side] = true
			if a, err := c.ask(cell.Setting, question{Cmd: "open", Work: t.Work}); err != nil || a.Error != "" {
				return errors.Join(err, told(a))
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.prepare(t, cell, p); err != nil {
			return err
		}
		bar.Step(0)
	}
	return pace.Rounds(0, p.rounds, func(round int) error {
		for _, cell := range pace.Turn(t.Cells, round) {
			if err := ctx.Err(); err != nil {
				return err
			}
			images, err := c.time(t, cell)
			if err != nil {
				return err
			}
			bar.Step(images)
		}
		t.Rounds++
		return nil
	})
}

func told(a answer) error {
	if a.Error == "" {
		return nil
	}
	return errors.New(a.Error)
}

// run lets a cell make n iterations and returns the seconds. A failure is recorded in the
// cell.
func (c *crew) run(t *task, cell *cell, n int) (float64, error) {
	q := question{Cmd: "run", Work: t.Work, Setting: cell.Setting, N: n}
	a, err := c.ask(cell.Setting, q)
	if err == nil && a.Memory && c.sides.Len() > 1 {
		if err = c.makeRoom(t); err == nil {
			a, err = c.ask(cell.Setting, q)
		}
	}
	switch {
	case err != nil:
		return 0, err
	case a.Memory:
		cell.Failed = outOfMemory
	case a.Error != "":
		cell.Failed = a.Error
	}
	cell.Peak = max(cell.Peak, a.Peak)
	return a.Seconds, nil
}

// makeRoom lets all processes give back the card memory that they keep for later tensors,
// because one process does not see that another needs it.
func (c *crew) makeRoom(t *task) error {
	for value := range c.sides.All() {
		if _, err := c.ask(setting{"benchmark": value}, question{Cmd: "trim", Work: t.Work}); err != nil {
			return err
		}
	}
	return nil
}

// prepare warms a cell up, and finds how many iterations fill a round.
func (c *crew) prepare(t *task, cell *cell, p plan) error {
	const captured = 5 // runs; after that a graph is certainly being replayed
	warmup := p.warmup
	if cell.Setting.on("graph") {
		warmup = max(warmup, captured)
	}
	if _, err := c.run(t, cell, warmup); err != nil {
		return err
	}
	const most, faster = 1 << 20, 10
	for cell.N = 1; cell.Failed == ""; {
		took, err := c.run(t, cell, cell.N)
		if err != nil || cell.Failed != "" || cell.N == most {
			return err
		}
		n := float64(cell.N) * p.round / max(took, 1e-9)
		if took > p.round/2 {
			cell.N = max(1, int(math.Round(n)))
			return nil
		}
		cell.N = int(min(n, faster*float64(cell.N), most)) // by steps: short times say little
	}
	return nil
}

// time runs one round of a cell and returns the number of its images.
func (c *crew) time(t *task, cell *cell) (images int, err error) {
	if cell.Failed != "" {
		return 0, nil
	}
	took, err := c.run(t, cell, cell.N)
	if err != nil || cell.Failed != "" {
		return 0, err
	}
	cell.Seconds = append(cell.Seconds, took/float64(cell.N))
	return cell.N * t.Work.Batch, nil
}

// sum computes what the samples say.
func (t *task) sum(choices []choice) {
	base := t.Cells[0]
	for _, c := range t.Cells {
		if !c.ok() {
			continue
		}
		c.Time = median(c.Seconds, usual)
		c.Rate = float64(t.Work.Batch) / c.Time.Median
		switch {
		case c == base:
			c.Speed = estimate{Median: 1}
		case base.ok():
			c.Speed = speedup(base.Seconds, c.Seconds, usual)
		}
	}
	t.Advice = advise(t.Cells, choices)
}

// shapes replaces a network by the convolutions in it.
func (c *crew) shapes(w workload, s setting) (list []workload, counts []int, err error) {
	a, err := c.ask(s, question{Cmd: "shapes", Work: w})
	if err = errors.Join(err, told(a)); err != nil {
		return nil, nil, err
	}
	for _, s := range a.Shapes {
		one := w
		one.Model, one.Conv, one.Size = "", s.Shape, 0
		list, counts = append(list, one), append(counts, s.Count)
	}
	return list, counts, nil
}

// newCells are the cells of all settings.
func newCells(settings []setting) (cells []*cell) {
	for _, s := range settings {
		cells = append(cells, &cell{Setting: s})
	}
	return cells
}

// tasks lists what is to be measured.
func (c *crew) tasks(works []workload, settings []setting, byShape bool) (list []*task, err error) {
	for _, w := range works {
		if !byShape || w.Conv != "" {
			list = append(list, &task{Work: w, Cells: newCells(settings)})
			continue
		}
		shapes, counts, err := c.shapes(w, settings[0])
		if err != nil {
			return nil, err
		}
		for i, one := range shapes {
			list = append(list, &task{Work: one, Of: w.String(), Count: counts[i], Cells: newCells(settings)})
		}
	}
	return list, nil
}

// newBar shows the progress of a task; it counts all images that run.
func newBar(out io.Writer, i, n int, t *task, p plan) *meter.Progress {
	bar := meter.NewProgress(out, fmt.Sprintf("[%d/%d] %s", i+1, n, t.Work), len(t.Cells)*(1+p.rounds))
	bar.Every = -1
	return bar
}

// begun tells whether there is anything to report of a task.
func (t *task) begun() bool {
	return slices.ContainsFunc(t.Cells, func(c *cell) bool { return c.ok() || c.Failed != "" })
}
