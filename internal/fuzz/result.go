package fuzz

import (
	"fmt"
	"io"
	"strings"

	"github.com/libtorch-go/libtorch/internal/reliability"
)

// kindsOf are the faults that are counted, in the order of a report.
var kindsOf = []fault{
	{"crash", "calls that ended the process"},
	{"hang", "calls that did not come back within 20 s"},
	{"panic", "panics with anything but a *torch.Error"},
	{"handles", "calls that left handles"},
	{"bytes", "calls that left bytes of host memory"},
	{"modes", "calls that left a mode changed"},
	{"differs", "calls whose results differ without guard pages"},
	{"varies", "calls whose results differ from one time to the next"},
}

type fault struct{ kind, text string }

func (r Result) count(kind string) (n int) {
	for _, f := range r.Findings {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

// String is the report of a run.
func (r Result) String() string {
	var b strings.Builder
	row := func(name string, cells ...any) {
		fmt.Fprintf(&b, "%-12s %8d %12d %12d %10d\n", append([]any{name}, cells...)...)
	}
	fmt.Fprintf(&b, "%-12s %8s %12s %12s %10s\n", "part", "targets", "calls", "returned", "skipped")
	var sum Tally
	for _, t := range r.Tallies {
		row(t.Part, t.Targets, t.Done, t.OK, t.Skipped)
		sum.Targets, sum.Done, sum.OK, sum.Skipped = sum.Targets+t.Targets, sum.Done+t.Done, sum.OK+t.OK, sum.Skipped+t.Skipped
	}
	row("all", sum.Targets, sum.Done, sum.OK, sum.Skipped)
	for _, k := range kindsOf {
		fmt.Fprintf(&b, "%d %s\n", r.count(k.kind), k.text)
	}
	fmt.Fprintf(&b, "seed %d, %.0f s\n", r.Seed, r.Took.Seconds())
	return b.String()
}

// Figures are those of the reliability card.
func (r Result) Figures() (list []reliability.Figure) {
	var typed, named uint64
	for _, t := range r.Tallies {
		if t.Part == "call" {
			named = t.Done
		} else {
			typed += t.Done
		}
	}
	note := func(name string, got any) { list = append(list, reliability.Figure{Name: name, Got: fmt.Sprint(got)}) }
	note("seed", r.Seed)
	note("calls of typed functions, between guard pages and again without", typed)
	note("calls by name", named)
	for _, k := range kindsOf {
		n := r.count(k.kind)
		list = append(list, reliability.Figure{Name: k.text, Got: fmt.Sprint(n), Bar: "0", Missed: n > 0})
	}
	return list
}

// CaseOf is a numbered call.
func CaseOf(name string, seed, index uint64) Case {
	for _, p := range everything() {
		if p.name == name {
			_, c := p.caseAt(seed, index)
			return c
		}
	}
	return Case{}
}

// Again makes one call and writes what comes of it.
func (e *Explainer) Again(f Finding, out io.Writer) error {
	c, err := Parse(f.Case)
	if err != nil {
		return err
	}
	m := &minimiser{command: e.Command}
	defer m.stop()
	kind, text, err := m.try(c, f.Index)
	if err != nil {
		return err
	}
	f.Kind, f.Text = kind, text
	if IsFault(kind) {
		_, err = e.Explain(f, out)
		return err
	}
	fmt.Fprintf(out, "%s\n    %s %s\n", c, kind, text)
	if t := find(c.Target); t != nil && t.operator {
		fmt.Fprintf(out, "    Python  %s\n", e.ask(c))
	}
	return nil
}
