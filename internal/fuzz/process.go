package fuzz

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/internal/proc"
)

// EnvChild tells a program that it is to [Serve]: its log is file 3.
const EnvChild = "LIBTORCH_GO_FUZZ_CHILD"

// process is a child seen from the parent.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies chan reply // closed when the child is gone
	log     *log
	dir     string // where the child is: some operators write files
	stderr  head
	counted [logWords]uint64
}

// head keeps the beginning of what a child says as it dies.
type head struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	const enough = 16 << 10
	if room := enough - h.text.Len(); room > 0 {
		h.text.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// start starts a child.
func start(command []string, seed uint64) (*process, error) {
	f, err := os.CreateTemp("", "fuzz-log-*")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	defer os.Remove(f.Name())
	p := &process{cmd: exec.Command(command[0], command[1:]...), replies: make(chan reply, 16)}
	if p.log, err = newLog(f); err != nil {
		return nil, err
	}
	p.cmd.Env = append(os.Environ(), EnvChild+"=1", "LIBTORCH_GO_GUARD=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1",
		"GOTRACEBACK=single", "TORCH_SHOW_CPP_STACKTRACES=0")
	p.cmd.ExtraFiles = []*os.File{f}
	p.cmd.Stderr = &p.stderr
	if p.dir, err = os.MkdirTemp("", "fuzz"); err != nil {
		return nil, err
	}
	p.cmd.Dir = p.dir
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	return p, p.send(fmt.Sprintf("seed %d", seed))
}

func (p *process) listen(out io.Reader) {
	defer close(p.replies)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r reply
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			p.replies <- r
		}
	}
}

// send hands a line over and waits until it is carried out.
func (p *process) send(line string) error {
	_, _, err := p.do(line, time.Minute)
	return err
}

// died is the error for a child that did not live to answer.
type died struct {
	hang   bool
	status string
	stderr string
	index  uint64
	stage  string
}

func (d *died) Error() string { return "fuzz: a child died: " + d.status + ": " + d.stderr }

// do hands a line over and returns what the child said to it. A child that is at the same
// call for longer than patience is killed: patience of processor time, because a machine with other work does not make a
// call hang, or ten times as long by the clock, because a call that waits for ever takes none.
func (p *process) do(line string, patience time.Duration) (findings []Finding, last reply, err error) {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		return nil, last, p.gone(false)
	}
	tick := time.NewTicker(patience / 40)
	defer tick.Stop()
	at, since, busy := p.progress(), time.Now(), proc.Busy(p.cmd.Process.Pid)
	for {
		select {
		case r, ok := <-p.replies:
			switch {
			case !ok:
				return findings, last, p.gone(false)
			case r.Done:
				return findings, last, nil
			case r.Finding != nil:
				findings = append(findings, *r.Finding)
			default:
				last = r
			}
			since, busy = time.Now(), proc.Busy(p.cmd.Process.Pid)
		case <-tick.C:
			now, spent := p.progress(), proc.Busy(p.cmd.Process.Pid)
			if now != at {
				at, since, busy = now, time.Now(), spent
			} else if spent-busy > patience || time.Since(since) > 10*patience {
				return findings, last, p.gone(true)
			}
		}
	}
}

// progress changes whenever the child goes on.
func (p *process) progress() [2]uint64 {
	return [2]uint64{p.log.get(logCall), p.log.get(logDone) + p.log.get(logSkipped)}
}

// gone buries the child.
func (p *process) gone(hang bool) *died {
	_ = p.cmd.Process.Kill()
	for range p.replies {
	}
	_ = p.cmd.Wait()
	p.clear()
	p.stderr.mu.Lock()
	defer p.stderr.mu.Unlock()
	return &died{
		hang: hang, status: p.cmd.ProcessState.String(), stderr: gist(p.stderr.text.String()),
		index: p.log.get(logCall) - 1, stage: stageNames[p.log.get(logStage)],
	}
}

// gist is what matters of the last words of a Go program.
func gist(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "goroutine ") && len(kept) > 0 && len(kept) < 3 {
			continue
		}
		kept = append(kept, line)
		if len(kept) == 12 {
			break
		}
	}
	return strings.Join(kept, "\n")
}

// take is how much a counter of the log has grown since it was last asked.
func (p *process) take(word int) uint64 {
	now := p.log.get(word)
	n := now - p.counted[word]
	p.counted[word] = now
	return n
}

func (p *process) stop() {
	_ = p.in.Close()
	for range p.replies {
	}
	_ = p.cmd.Wait()
	p.clear()
	p.log.close()
}

func (p *process) clear() { _ = os.RemoveAll(p.dir) }
