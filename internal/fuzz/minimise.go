package fuzz

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// minimiser takes away from a case what the fault does not need.
type minimiser struct {
	command []string
	p       *process
	until   time.Time
}

// Minimise is the smallest case found that ends as the finding does. Where the case alone does
// not, it is returned as it is, and repeats is false.
func Minimise(command []string, f Finding, limit time.Duration) (least Case, repeats bool, err error) {
	least, err = Parse(f.Case)
	if err != nil {
		return least, false, err
	}
	m := &minimiser{command: command, until: time.Now().Add(limit)}
	defer m.stop()
	if !m.fails(least, f) {
		return least, false, nil
	}
	for smaller := true; smaller; {
		smaller = false
		for c := range simpler(least) {
			if time.Now().After(m.until) {
				return least, true, nil
			}
			if m.fails(c, f) {
				least, smaller = c, true
				break
			}
		}
	}
	return least, true, nil
}

func (m *minimiser) stop() {
	if m.p != nil {
		m.p.stop()
	}
}

// fails tells whether a case ends as the finding does.
func (m *minimiser) fails(c Case, f Finding) bool {
	kind, _, _ := m.try(c, f.Index)
	return kind == f.Kind || kind == "varies" && f.Kind == "differs"
}

const shortPatience = 4 * time.Second

// try makes the call of a case in a child. The kind is that of the finding, or else the
// outcome.
func (m *minimiser) try(c Case, index uint64) (kind, text string, err error) {
	if m.p == nil {
		if m.p, err = start(m.command, 0); err != nil {
			return "", "", err
		}
	}
	findings, last, err := m.p.do(fmt.Sprintf("case %d %s", index, c), shortPatience)
	var end *died
	switch {
	case errors.As(err, &end):
		m.p = nil
		if end.hang {
			return "hang", "not back within " + shortPatience.String(), nil
		}
		if len(findings) > 0 {
			return findings[0].Kind, findings[0].Text, nil
		}
		return "crash", end.status + " in " + end.stage + "\n" + end.stderr, nil
	case err != nil:
		return "", "", err
	case len(findings) > 0:
		return findings[0].Kind, findings[0].Text, nil
	}
	return last.Outcome, last.Text, nil
}

// simpler are the cases with one thing less, the larger things first.
func simpler(c Case) func(yield func(Case) bool) {
	return func(yield func(Case) bool) {
		t := find(c.Target)
		for i, a := range c.Args {
			if t != nil && t.operator && t.needs(a.Name) {
				continue // Python would not make the call
			}
			d := c.clone()
			d.Args = slices.Delete(d.Args, i, i+1)
			if !yield(d) {
				return
			}
		}
		for i, a := range c.Args {
			for v := range simplerValue(a.Value) {
				d := c.clone()
				d.Args[i].Value = v
				if !yield(d) {
					return
				}
			}
		}
	}
}

func (t *target) needs(name string) bool {
	return slices.ContainsFunc(t.params, func(h hint) bool { return h.name == name && h.needed })
}

func simplerValue(v any) func(yield func(any) bool) {
	return func(yield func(any) bool) {
		var list []any
		switch v := v.(type) {
		case *Tensor:
			list = v.simpler()
		case List:
			list = v.simpler()
		case Ref:
			list = append(list, &Tensor{DType: "float32", Shape: []int{2, 2}})
			for i := range v.Forms {
				list = append(list, Ref{v.Number, without(v.Forms, i)})
			}
		case int64:
			for _, n := range []int64{0, 1, 2, 1 << 32} {
				if n < abs(v) {
					list = append(list, n)
				}
			}
		case float64:
			if v != 0 && v != 1 {
				list = append(list, 0.0, 1.0)
			}
		}
		for _, x := range list {
			if !yield(x) {
				return
			}
		}
	}
}

func abs(v int64) int64 { return max(v, -v) }

func without[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }

func (t *Tensor) simpler() (list []any) {
	change := func(fn func(*Tensor)) {
		u := copied(t).(*Tensor)
		fn(u)
		list = append(list, u)
	}
	for i := range t.Forms {
		change(func(u *Tensor) { u.Forms = without(u.Forms, i) })
	}
	if t.Data != nil || t.Fill != "" {
		change(func(u *Tensor) { u.Data, u.Fill = nil, "" })
	}
	if t.Data != nil && t.Fill == "" {
		change(func(u *Tensor) { u.Data, u.Fill = nil, "i2" })
	}
	if t.DType != "float32" {
		change(func(u *Tensor) { u.DType = "float32" })
	}
	for i := range t.Shape {
		change(func(u *Tensor) { u.Shape = without(u.Shape, i) })
	}
	for i, s := range t.Shape {
		for _, n := range []int{1, 2} {
			if s > n {
				change(func(u *Tensor) { u.Shape[i] = n })
			}
		}
	}
	return list
}

func (v List) simpler() (list []any) {
	for i := range v {
		list = append(list, List(without([]any(copied(v).(List)), i)))
	}
	for i, x := range v {
		for y := range simplerValue(x) {
			u := copied(v).(List)
			u[i] = y
			list = append(list, u)
		}
	}
	return list
}

// Check makes the calls of cases, each as if it stood alone, and tells of every one how it
// ended: a Finding's kind and text, or the outcome.
func Check(command []string, cases []Case, tell func(c Case, kind, text string)) error {
	m := &minimiser{command: command}
	defer m.stop()
	for _, c := range cases {
		if find(c.Target) == nil {
			return fmt.Errorf("fuzz: there is no function %s", c.Target)
		}
		var kind, text string
		for _, index := range []uint64{0, 24} { // blocks at the end of pages, and at their beginning
			var err error
			if kind, text, err = m.try(c, index); err != nil {
				return err
			}
			if IsFault(kind) {
				break
			}
		}
		tell(c, kind, text)
	}
	return nil
}

// IsFault tells whether a call that ended so is a finding.
func IsFault(kind string) bool {
	return slices.ContainsFunc(kindsOf, func(k fault) bool { return k.kind == kind })
}
