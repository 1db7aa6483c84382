package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/reliability"
)

// result is what came of a suite.
type result struct {
	suite
	figures        []reliability.Figure
	passed, missed int // tests
	skipped        []string
	took           time.Duration
	exit           error
	complaint      string // what failed tests and builds wrote
}

// failed reports also a suite that had nothing to run.
func (r *result) failed() bool {
	return r.exit != nil || r.command == nil && r.passed == 0 || slices.ContainsFunc(r.figures, missed)
}

func missed(f reliability.Figure) bool { return f.Missed }

func kept(f reliability.Figure) bool { return !f.Missed }

func (r *result) verdict() string {
	text := fmt.Sprintf("%d tests passed", r.passed)
	if r.command != nil {
		text = "passed"
	}
	if r.failed() {
		text = fmt.Sprintf("FAILED: %d tests of %d (%v)", r.missed, r.missed+r.passed, r.exit)
	}
	if len(r.skipped) > 0 {
		text += fmt.Sprintf(", %d skipped", len(r.skipped))
	}
	return text
}

// run runs the suite's command and collects what it tells. The error is for a command
// that could not be run at all.
func (s suite) run(o options) (r result, err error) {
	r.suite = s
	words := s.command
	if words == nil {
		words = slices.Concat([]string{"go", "test", "-json", "-count=1", "-timeout=60m"}, s.arguments())
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = slices.Concat(os.Environ(), o.environment())
	for _, v := range s.env {
		cmd.Env = append(cmd.Env, here(v))
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return r, err
	}
	l := listener{result: &r, outputs: map[string]*strings.Builder{}}
	err = l.listen(out)
	r.exit = errors.Join(err, cmd.Wait())
	r.took = time.Since(began)
	if s.reports != nil {
		r.figures = append(r.figures, reports(l.reported))
	}
	return r, nil
}

// reports is the figure of a tool that complains in the output.
func reports(n int) reliability.Figure {
	return reliability.Figure{Name: "reports", Got: fmt.Sprint(n), Bar: "0", Missed: n > 0}
}

// here puts the current folder in the place of $PWD: tests run in folders of their own.
func here(variable string) string {
	folder, err := filepath.Abs(".")
	if err != nil {
		return variable
	}
	return strings.ReplaceAll(variable, "$PWD", folder)
}

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output, Key, Value string
}

// listener reads events.
type listener struct {
	*result
	outputs  map[string]*strings.Builder // of tests and packages
	reported int
}

func (l *listener) listen(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			e = event{Action: "output", Output: lines.Text() + "\n"} // of the tool around
			if l.suite.command != nil {                              // which may take an hour: what it finds is seen as it comes
				fmt.Print(e.Output)
			}
		}
		if err := l.hear(e); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (l *listener) hear(e event) error {
	name := strings.TrimSpace(e.Package + e.ImportPath + " " + e.Test)
	switch e.Action {
	case "attr":
		if e.Key == reliability.Attribute {
			var f reliability.Figure
			if err := json.Unmarshal([]byte(e.Value), &f); err != nil {
				return err
			}
			l.figures = append(l.figures, f)
		}
	case "output", "build-output":
		if l.outputs[name] == nil {
			l.outputs[name] = &strings.Builder{}
		}
		l.outputs[name].WriteString(e.Output)
		if l.suite.reports != nil {
			l.reported += len(l.suite.reports.FindAllString(strings.TrimRight(e.Output, "\n"), -1))
		}
	case "pass", "fail", "build-fail":
		l.ended(e, name)
	case "skip":
		if e.Test != "" {
			l.skipped = append(l.skipped, name)
		}
	}
	return nil
}

// longest is how much of what failed tests wrote is shown: one mistake may fail them all.
const longest = 20_000

// ended keeps what a failed test or package wrote.
func (l *listener) ended(e event, name string) {
	if e.Action == "pass" {
		if e.Test != "" {
			l.passed++
		}
		delete(l.outputs, name)
		return
	}
	if e.Test != "" {
		l.missed++
	}
	if text := l.outputs[name]; text != nil && len(l.complaint) < longest {
		l.complaint += text.String()
	}
}
