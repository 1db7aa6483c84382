package jit

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/internal/home"
)

// child is a process that has the module loaded.
type child struct {
	o    *ConfineOptions
	info *Info
	cmd  *exec.Cmd
	in   *os.File
	out  *os.File
	said *tail

	answers *bufio.Reader // of out

	once   sync.Once
	done   chan struct{} // closed when the process has ended
	failed error         // how
}

// start starts a child and waits until it has loaded the module.
func (c *Confined) start() (*child, error) {
	work := order{Path: c.path, Memory: c.o.Memory, Seconds: int((c.o.CPU + time.Second - 1) / time.Second), Threads: c.o.Threads,
		SHA256: c.o.SHA256, Serve: true}
	text, err := json.Marshal(work)
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	place, err := home.Find()
	if err != nil {
		return nil, err
	}
	own := &child{o: &c.o, said: &tail{}, done: make(chan struct{})}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("jit: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("jit: %w", errors.Join(err, childIn.Close(), in.Close()))
	}
	own.in, own.out, own.answers = in, out, bufio.NewReader(out)
	own.cmd = exec.Command(c.o.Command[0], c.o.Command[1:]...)
	own.cmd.Env = []string{inspectVariable + "=" + string(text), home.Env + "=" + place.Dir}
	if other := os.Getenv(home.EnvTorch); other != "" {
		own.cmd.Env = append(own.cmd.Env, home.EnvTorch+"="+other)
	}
	own.cmd.Dir = "/"
	own.cmd.Stdout, own.cmd.Stderr, own.cmd.WaitDelay = own.said, own.said, time.Second
	own.cmd.ExtraFiles = []*os.File{childOut, childIn} // answers, as Inspect has them, and questions
	err = own.cmd.Start()
	err = errors.Join(err, childIn.Close(), childOut.Close())
	if err != nil {
		return nil, fmt.Errorf("jit: %w", errors.Join(err, in.Close(), out.Close()))
	}
	go func() {
		own.failed = own.cmd.Wait()
		close(own.done)
	}()
	m, _, err := own.ask(nil, 0)
	if err == nil && m.Info == nil {
		err = &ConfinedError{Err: m.raised(), Reason: cmp.Or(m.Failed, "the child did not load the module")}
	}
	if err != nil {
		own.end()
		return nil, err
	}
	own.info = m.Info
	return own, nil
}

// ended tells whether the process has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// end kills the process and waits for its end.
func (c *child) end() {
	c.once.Do(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		_ = c.in.Close()         // whatever was in it is lost
		_ = c.out.Close()
	})
	<-c.done
}

// ask sends a question and waits for the answer, if there is a question, no longer than the timeout permits. Whatever goes wrong ends the
// child.
func (c *child) ask(question []byte, most int64) (m message, data [][]byte, err error) {
	timeout := c.o.Timeout
	if question == nil { // it loads the module
		timeout = max(timeout, time.Minute)
	}
	late := time.AfterFunc(timeout, c.end)
	if question != nil {
		_, err = c.in.Write(question)
	}
	if err == nil {
		m, data, err = receive(c.answers, most)
	}
	switch inTime := late.Stop(); {
	case err == nil && inTime:
		return m, data, nil
	case !inTime:
		c.end() // it is being ended: this waits
		return m, nil, &ConfinedError{Err: context.DeadlineExceeded, Reason: fmt.Sprintf("the child was killed after %v", timeout)}
	case errors.Is(err, errMessage):
		c.end()
		return m, nil, &ConfinedError{Err: err}
	}
	died := c.wait()
	c.end()
	return m, nil, &ConfinedError{Err: cmp.Or(died, err), Reason: cmp.Or(c.said.String(), "the child has ended")}
}

// wait waits a moment for the process to end by itself, whose words say more than ours.
func (c *child) wait() error {
	select {
	case <-c.done:
		return c.failed
	case <-time.After(time.Second):
		return nil
	}
}
