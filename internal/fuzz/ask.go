package fuzz

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// asked is a Python that makes the calls it is told of, until one ends it.
type asked struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan answer // closed when it is gone
}

// answer is a line of ask.py.
type answer struct {
	Call, Outcome string
	Done          bool
}

func (e *Explainer) startPython() (*asked, error) {
	python, err := e.Python()
	if err != nil {
		return nil, err
	}
	a := &asked{cmd: exec.Command(python.Path, append(python.Args[1:], e.Script)...), lines: make(chan answer, 8)}
	a.cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", "TORCH_CPP_LOG_LEVEL=ERROR")
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(a.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			var line answer
			if json.Unmarshal(scan.Bytes(), &line) == nil {
				a.lines <- line
			}
		}
	}()
	return a, nil
}

// ask makes the call in Python and says how it ended.
func (e *Explainer) ask(c Case) string {
	if e.python == nil {
		var err error
		if e.python, err = e.startPython(); err != nil {
			return err.Error()
		}
	}
	a := e.python
	_, _ = io.WriteString(a.in, c.String()+"\n") // where that fails, lines ends
	var said []string
	limit := time.After(time.Minute)
	for {
		select {
		case line, ok := <-a.lines:
			if ok && !line.Done {
				said = append(said, line.Call+line.Outcome)
				continue
			}
			if !ok {
				e.python = nil
				said = append(said, "dies: "+a.end())
			}
		case <-limit:
			_ = a.cmd.Process.Kill()
			a.end()
			e.python = nil
			said = append(said, "not back within a minute")
		}
		return strings.Join(said, "\n            ")
	}
}

// end is how Python ended.
func (a *asked) end() string {
	for range a.lines {
	}
	_ = a.cmd.Wait()
	return a.cmd.ProcessState.String()
}

// Close ends the Python that was asked.
func (e *Explainer) Close() {
	if e.python != nil {
		_ = e.python.in.Close()
		e.python.end()
		e.python = nil
	}
}
