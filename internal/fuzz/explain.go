package fuzz

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Explainer says of findings what a reader wants to know.
type Explainer struct {
	Command []string                  // starts a child
	Python  func() (*exec.Cmd, error) // Python with torch on the same libtorch
	Script  string                    // ask.py
	Limit   time.Duration             // for making one finding small

	python *asked
}

// Explain makes a finding small and writes the case, the call in Go and in Python, and what
// comes of them.
func (e *Explainer) Explain(f Finding, out io.Writer) (Case, error) {
	c, repeats, err := Minimise(e.Command, f, e.Limit)
	if err != nil {
		return c, err
	}
	fmt.Fprintf(out, "%s in %s: %s\n", f.Kind, strings.TrimPrefix(f.Stage, "the "), c)
	if !repeats {
		fmt.Fprintf(out, "    alone it does not repeat: -part %s -seed N -call %d\n", f.Part, f.Index)
	}
	fmt.Fprintf(out, "    says    %s\n", strings.ReplaceAll(short(f.Text), "\n", "\n            "))
	if t := find(c.Target); t != nil {
		fmt.Fprintf(out, "    Go      %s\n", t.Go(c))
		if t.operator {
			fmt.Fprintf(out, "    Python  %s\n", e.ask(c))
		}
	}
	return c, nil
}

func short(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(len(lines), 9)], "\n")
}

// find is the target of that name.
func find(name string) *target {
	for _, p := range everything() {
		for _, t := range p.targets {
			if t.name == name {
				return t
			}
		}
	}
	return nil
}
