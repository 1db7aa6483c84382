package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/libtorch-go/libtorch/internal/pace"
)

// keptMalloc makes glibc keep large blocks in Python's process as our shim does in ours.
var keptMalloc = []string{"MALLOC_MMAP_THRESHOLD_=1073741824", "MALLOC_TRIM_THRESHOLD_=1073741824"}

// pairing is what two sides run with glibc's malloc.
type pairing struct {
	name         string
	ours, theirs []string // environment
}

var pairings = []pairing{
	{name: "as shipped"},
	{name: "both default", ours: []string{"LIBTORCH_GO_MALLOC=default"}},
	{name: "both kept", theirs: keptMalloc},
}

// task is a case with its settings, and what was measured.
type task struct {
	benchmark
	threads int
	pairs   []pair
	taken   map[*side]*timing
}

type pair struct {
	malloc       string
	ours, theirs *side
}

// timing holds the times of one side, in nanoseconds for one iteration of each round.
type timing struct{ wall, cpu []float64 }

// crew are the running processes, by kind and environment.
type crew struct {
	*maker
	file  string
	sides pace.Crew[*side]
}

func (c *crew) get(begin func(...string) (*side, error), kind string, env []string) (*side, error) {
	return c.sides.Get(fmt.Sprint(kind, env), func() (*side, error) {
		s, err := begin(env...)
		if err != nil {
			return nil, err
		}
		if _, err := s.ask(request{Cmd: "load", File: c.file}); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	})
}

// newTask starts the sides that a case needs: training is measured with every setting of
// malloc, which matters for large blocks only.
func (c *crew) newTask(b benchmark, threads int) (*task, error) {
	t := &task{benchmark: b, threads: threads, taken: map[*side]*timing{}}
	list := pairings
	if b.group != trainingGroup {
		list = pairings[:1]
	}
	for _, p := range list {
		ours, err := c.get(c.ours, "ours", p.ours)
		if err != nil {
			return nil, err
		}
		theirs, err := c.get(c.theirs, c.rival(), p.theirs)
		if err != nil {
			return nil, err
		}
		t.pairs = append(t.pairs, pair{p.name, ours, theirs})
		t.taken[ours], t.taken[theirs] = &timing{}, &timing{}
	}
	return t, nil
}

// sides are the processes of t, ours and Python's in turn.
func (t *task) sides() (list []*side) {
	for _, p := range t.pairs {
		for _, s := range []*side{p.ours, p.theirs} {
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// check fails unless all sides compute the same, bit for bit.
func (t *task) check() error {
	var first string
	for i, s := range t.sides() {
		r, err := s.ask(request{Cmd: "check", Case: t.name})
		switch {
		case err != nil:
			return err
		case i == 0:
			first = r.Result
		case r.Result != first:
			return fmt.Errorf("bench: %s: the results differ: ours %s, theirs %s", t.name, first, r.Result)
		}
	}
	return nil
}

// round lets every side run once.
func (t *task) round(i int) error {
	for _, s := range pace.Turn(t.sides(), i) {
		r, err := s.ask(request{Cmd: "run", Case: t.name, Threads: t.threads, N: t.n})
		if err != nil {
			return err
		}
		if i >= 0 {
			took := t.taken[s]
			took.wall = append(took.wall, r.Wall/float64(t.n))
			took.cpu = append(took.cpu, r.CPU/float64(t.n))
		}
	}
	return nil
}

// measure runs all tasks, round by round, so that whatever else the machine does affects
// all alike. It reports its progress to progress.
func measure(tasks []*task, rounds int, progress func(string)) error {
	for _, t := range tasks {
		progress("comparing the results of " + t.name)
		if err := t.check(); err != nil {
			return err
		}
	}
	const warmup = 1
	return pace.Rounds(warmup, rounds, func(i int) error {
		for _, t := range tasks {
			progress(fmt.Sprintf("%s, round %d of %d", t.name, max(0, i+1), rounds))
			if err := t.round(i); err != nil {
				return err
			}
		}
		return nil
	})
}
