package fuzz

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say what a run does.
type Options struct {
	Seed    uint64
	Time    time.Duration // until then; 0 is without an end
	Calls   int           // of operators by their typed functions, of other parts in proportion; 0 is without an end
	Only    *regexp.Regexp
	Workers int
	Command []string // starts a child
	Out     io.Writer
	Each    int // findings of one kind and target that are kept; a target with more that end children is left alone
}

// Tally counts the calls of a part.
type Tally struct {
	Part              string
	Targets           int
	Done, OK, Skipped uint64
	next              uint64
	over              bool // all of its targets are left alone
}

// Result is what came of a run.
type Result struct {
	Seed     uint64
	Tallies  []*Tally
	Findings []Finding
	Took     time.Duration
}

const patience = 20 * time.Second // with one call

// driver hands out the calls.
type driver struct {
	Options
	mu      sync.Mutex
	parts   []*part
	tallies []*Tally
	found   []Finding
	seen    map[string]int // findings by kind and target
	skipped []string       // targets that are not called any more
	ends    time.Time
	failure error
}

// Run makes calls until the time is up, or there were enough.
func Run(o Options) (Result, error) {
	d := &driver{Options: o, parts: everything(), seen: map[string]int{}}
	for _, p := range d.parts {
		t := &Tally{Part: p.name}
		for _, target := range p.targets {
			if o.Only == nil || o.Only.MatchString(target.name) {
				t.Targets++
			}
		}
		d.tallies = append(d.tallies, t)
	}
	began := time.Now()
	if o.Time > 0 {
		d.ends = began.Add(o.Time)
	}
	var all sync.WaitGroup
	for range max(1, o.Workers) {
		all.Go(d.work)
	}
	all.Wait()
	return Result{o.Seed, d.tallies, d.found, time.Since(began)}, d.failure
}

// job is a run of calls of one part.
type job struct {
	part     int
	from, to uint64
}

const jobSize = 4000

// next is the job of the part that lags behind most.
func (d *driver) next() (j job, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failure != nil || !d.ends.IsZero() && time.Now().After(d.ends) {
		return j, false
	}
	least := -1.0
	for i, p := range d.parts {
		t := d.tallies[i]
		if t.Targets == 0 || t.over || d.Calls > 0 && float64(t.Done) >= d.goal(p) {
			continue
		}
		if done := float64(t.next) / p.share; least < 0 || done < least {
			least, j.part, ok = done, i, true
		}
	}
	if !ok {
		return j, false
	}
	t := d.tallies[j.part]
	n := jobSize
	if d.Calls > 0 {
		n = min(n, max(100, d.Calls))
	}
	size := uint64(n * max(1, len(d.parts[j.part].targets)/max(1, t.Targets)))
	j.from, j.to = t.next, t.next+size
	t.next = j.to
	return j, true
}

// goal is how many calls of a part there are to be.
func (d *driver) goal(p *part) float64 { return float64(d.Calls) * p.share / d.parts[0].share }

// work is a worker: it has one child at a time.
func (d *driver) work() {
	var p *process
	told := 0
	defer func() {
		if p != nil {
			p.stop()
		}
	}()
	for j, ok := d.next(); ok; j, ok = d.next() {
		for j.from < j.to {
			if p == nil {
				var err error
				if p, err = d.start(); err != nil {
					d.fail(err)
					return
				}
				told = 0
			}
			told = d.tell(p, told)
			findings, _, err := p.do(fmt.Sprintf("run %s %d %d", d.parts[j.part].name, j.from, j.to), patience)
			d.count(j.part, p, err == nil)
			d.keep(findings)
			if err == nil {
				break
			}
			var end *died
			if !errors.As(err, &end) {
				d.fail(err)
				return
			}
			p = nil
			j.from = d.buried(j, end)
		}
	}
}

func (d *driver) start() (*process, error) {
	p, err := start(d.Command, d.Seed)
	if err == nil && d.Only != nil {
		err = p.send("only " + d.Only.String())
	}
	return p, err
}

func (d *driver) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failure = cmp.Or(d.failure, err)
}

// tell says which targets not to call any more.
func (d *driver) tell(p *process, told int) int {
	d.mu.Lock()
	list := d.skipped[told:]
	d.mu.Unlock()
	for _, name := range list {
		_ = p.send("skip " + name)
	}
	return told + len(list)
}

func (d *driver) count(part int, p *process, whole bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tallies[part]
	done, skipped := p.take(logDone), p.take(logSkipped)
	t.over = whole && done+skipped == 0
	t.Done, t.Skipped, t.OK = t.Done+done, t.Skipped+skipped, t.OK+p.take(logOK)
}

// buried notes of which call a child died, and says with which to go on.
func (d *driver) buried(j job, end *died) (next uint64) {
	if end.index < j.from || end.index >= j.to {
		d.fail(fmt.Errorf("fuzz: a child died outside of a call: %w", end))
		return j.to
	}
	if strings.Contains(end.status, fmt.Sprint("exit status ", modesChanged)) {
		return end.index + 1
	}
	_, c := d.parts[j.part].caseAt(d.Seed, end.index)
	f := Finding{Kind: "crash", Part: d.parts[j.part].name, Index: end.index, Case: c.String(), Text: end.status + "\n" + end.stderr,
		Stage: end.stage}
	if end.hang {
		f.Kind, f.Text = "hang", fmt.Sprintf("not back within %v", patience)
	}
	d.keep([]Finding{f})
	return end.index + 1
}

// keep takes findings in. A target that ends children again and again is left alone from
// then on.
func (d *driver) keep(list []Finding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range list {
		target, _, _ := strings.Cut(f.Case, " ")
		key := f.Kind + " " + target
		d.seen[key]++
		n := d.seen[key]
		if n <= max(1, d.Each) {
			d.found = append(d.found, f)
			fmt.Fprintf(d.Out, "%s in %s: %s\n    -part %s %s\n", f.Kind, cmp.Or(f.Stage, "the call"), f.Case, f.Part, describe(d.Seed, f.Index))
		}
		if (f.Kind == "hang" || n > d.Each) && !slices.Contains(d.skipped, target) {
			d.skipped = append(d.skipped, target)
		}
	}
}
