package talk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A Partner is a process that answers. It may be asked from one goroutine at a time.
type Partner struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	stderr  last

	ended   bool
	failure error // of the end
}

// Start starts a process, which errors call by the name. Where cmd has no Stderr, what the
// process prints there is told by [Partner.Stderr] and by the errors about its end.
func Start(name string, cmd *exec.Cmd) (*Partner, error) {
	p := &Partner{name: name, cmd: cmd}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.stderr
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s does not start: %w", name, err)
	}
	p.in, p.answers = in, json.NewDecoder(out)
	return p, nil
}

// Over is a partner at the other end of two pipes, whoever that is.
func Over(name string, in io.WriteCloser, out io.Reader) *Partner {
	return &Partner{name: name, in: in, answers: json.NewDecoder(out)}
}

// Ask sends a question and waits for the answer. A process that has ended, or answers
// something else than JSON, is an error with the last that it said; it is not asked again.
func (p *Partner) Ask(question, answer any) error {
	if p.ended {
		return fmt.Errorf("%s has ended", p.name)
	}
	err := json.NewEncoder(p.in).Encode(question)
	if err == nil {
		err = p.answers.Decode(answer)
	}
	if err == nil {
		return nil
	}
	p.end()
	how := "gave no answer: " + err.Error()
	if p.failure != nil {
		how = fmt.Sprintf("has ended: %v", p.failure)
	}
	if text := p.Stderr(); text != "" {
		how += ": " + strings.ReplaceAll(text, "\n", "; ")
		p.stderr.clear()
	}
	return fmt.Errorf("%s %s", p.name, how)
}

// Stderr is the last that the process printed there, but for what an error has told.
func (p *Partner) Stderr() string { return strings.TrimSpace(p.stderr.String()) }

// Close ends the process, and waits for that.
func (p *Partner) Close() error {
	if p.ended {
		return nil // whoever asked it last was told
	}
	p.end()
	return p.failure
}

// Kill ends the process at once, from any goroutine: the answer that somebody waits for becomes an error.
func (p *Partner) Kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended
	}
}

// patience is how long a process may take to end once nobody asks it any more.
const patience = 10 * time.Second

func (p *Partner) end() {
	if p.ended {
		return
	}
	p.ended = true
	if p.failure = p.in.Close(); p.cmd == nil {
		return
	}
	late := time.AfterFunc(patience, p.Kill)
	defer late.Stop()
	p.failure = errors.Join(p.failure, p.cmd.Wait())
}

// last keeps the end of what is written to it.
type last struct {
	mu   sync.Mutex
	text []byte
}

func (l *last) Write(b []byte) (int, error) {
	const enough = 4096
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	if len(l.text) > enough {
		l.text = bytes.Clone(l.text[len(l.text)-enough:])
	}
	return len(b), nil
}

func (l *last) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = nil
}

func (l *last) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// Answer answers questions until their reader ends.
func Answer[Q, A any](in io.Reader, out io.Writer, answer func(Q) A) error {
	questions, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var q Q
		if err := questions.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := answers.Encode(answer(q)); err != nil {
			return err
		}
	}
}
