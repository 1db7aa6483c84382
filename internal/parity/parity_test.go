package parity

import (
	"errors"
	"flag"
	"sort"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

var (
	full  = flag.Bool("full", false, "all samples of each entry")
	names = flag.String("names", "", "only entries whose names match this regular expression")
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

func TestCalls(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.OnWarning(func(string) {})
	t.Cleanup(func() { torch.OnWarning(nil) })
	o := Options{Mode: "calls", Names: *names, Samples: 2, Inner: 2}
	if *full {
		o.Samples, o.Inner = 0, 8
	}
	var s summary
	for e, c := range Record(t, o) {
		s.entry(t, e, c)
	}
	s.report(t)
}

// summary counts what became of the cases.
type summary struct {
	entries, samples, cases, equal, skipped int
	checked                                 map[string]bool // operators
	noForm                                  map[string]string
}

func (s *summary) entry(t *testing.T, e Entry, c *chunk) {
	if s.checked == nil {
		s.checked, s.noForm = map[string]bool{}, map[string]string{}
	}
	s.entries++
	s.samples += e.Samples
	if e.Failed != "" {
		t.Logf("%s: %s", e.Name, e.Failed)
	}
	for op, why := range e.Skipped {
		t.Logf("%s: %s: %s", e.Name, op, why)
	}
	for i := range c.cases {
		torch.Scope(func() { s.one(t, e, c, &c.cases[i]) })
	}
}

func (s *summary) one(t *testing.T, e Entry, c *chunk, k *Case) {
	s.cases++
	diff, err := c.run(k)
	switch {
	case errors.Is(err, errNoForm):
		s.noForm[k.Op] = err.Error()
	case err != nil:
		t.Errorf("%s: %s: %v", e.Name, k.Op, err)
	case diff != "":
		t.Errorf("%s: %s: %s", e.Name, k.Op, diff)
	default:
		s.equal++
		s.checked[k.Op] = true
	}
}

func (s *summary) report(t *testing.T) {
	t.Logf("%d entries, %d samples, %d calls of %d operators: %d equal, %d skipped", s.entries, s.samples, s.cases, len(s.checked), s.equal, s.skipped)
	var list []string
	for op, why := range s.noForm {
		list = append(list, op+": "+why)
	}
	sort.Strings(list)
	for _, line := range list {
		t.Log(line)
	}
}

func TestErrors(t *testing.T) {
	torchtest.NoLeaks(t)
	total, equal, python := 0, 0, 0
	for e, c := range Record(t, Options{Mode: "errors", Names: *names}) {
		total += e.Samples
		if e.Failed != "" {
			t.Errorf("%s: %s", e.Name, e.Failed)
		}
		for i := range c.cases {
			k := &c.cases[i]
			torch.Scope(func() {
				diff, err := c.run(k)
				switch {
				case err != nil:
					t.Errorf("%s: %s: %v", e.Name, k.Op, err)
				case diff != "":
					t.Errorf("%s: %s: %s", e.Name, k.Op, diff)
				default:
					equal++
				}
			})
		}
		for _, f := range e.Python {
			python++
			t.Logf("%s: python: %s: %s: %s", e.Name, f.Type, f.Text, f.Input)
		}
	}
	t.Logf("%d wrong inputs: %d equal, %d refused by Python", total, equal, python)
}
