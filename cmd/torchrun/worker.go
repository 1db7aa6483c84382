package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// worker is a rank on this machine.
type worker struct {
	rank, local int
	cmd         *exec.Cmd
	copies      sync.WaitGroup // of its output
	files       []io.Closer
	over        chan struct{}
	err         error
	at          time.Time // when it ended
}

// start starts all ranks of this machine. Those that it has started are returned with an error, too.
func (a *agent) start(r round) (list []*worker, err error) {
	for local := range a.perNode {
		w := &worker{rank: r.rank*a.perNode + local, local: local, over: make(chan struct{})}
		w.cmd = exec.Command(a.program[0], a.program[1:]...)
		w.cmd.Env = append(os.Environ(), a.environment(r, w)...)
		w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
		if err := a.connect(r, w); err != nil {
			return list, err
		}
		if err := w.cmd.Start(); err != nil {
			w.closeFiles()
			return list, fmt.Errorf("the program does not start: %w", err)
		}
		list = append(list, w)
		go w.wait()
	}
	return list, nil
}

// environment is what a rank is told, as PyTorch's torchrun does.
func (a *agent) environment(r round, w *worker) []string {
	world := strconv.Itoa(r.size * a.perNode)
	vars := map[string]string{
		"RANK": strconv.Itoa(w.rank), "WORLD_SIZE": world, "LOCAL_RANK": strconv.Itoa(w.local), "LOCAL_WORLD_SIZE": strconv.Itoa(a.perNode),
		"GROUP_RANK": strconv.Itoa(r.rank), "GROUP_WORLD_SIZE": strconv.Itoa(r.size),
		"ROLE_NAME": a.role, "ROLE_RANK": strconv.Itoa(w.rank), "ROLE_WORLD_SIZE": world,
		"MASTER_ADDR": a.host, "MASTER_PORT": strconv.Itoa(r.port),
		"TORCHELASTIC_RESTART_COUNT": strconv.Itoa(a.restarts), "TORCHELASTIC_MAX_RESTARTS": strconv.Itoa(a.maxRestarts),
		"TORCHELASTIC_RUN_ID": a.id, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
	}
	if os.Getenv("OMP_NUM_THREADS") == "" && a.perNode > 1 {
		vars["OMP_NUM_THREADS"] = "1" // or the ranks of a machine would stand in each other's way
	}
	var list []string
	for name, value := range vars {
		list = append(list, name+"="+value)
	}
	return list
}

// connect leads a rank's output to the console, to files, or both.
func (a *agent) connect(r round, w *worker) error {
	for _, s := range []struct {
		bit     int
		name    string
		console io.Writer
		at      *io.Writer
	}{{1, "stdout", a.out, &w.cmd.Stdout}, {2, "stderr", a.errs, &w.cmd.Stderr}} {
		tee, shown := a.tee.of(w.local, s.bit), a.shown == nil || slices.Contains(a.shown, w.local)
		if !tee && !a.redirects.of(w.local, s.bit) {
			if shown {
				*s.at = s.console
			}
			continue
		}
		if a.logDir == "" {
			var err error
			if a.logDir, err = os.MkdirTemp("", "torchrun-"); err != nil {
				return fmt.Errorf("no folder for logs: %w", err)
			}
		}
		dir := filepath.Join(a.logDir, a.id, fmt.Sprint("attempt_", r.n), strconv.Itoa(w.local))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		file, err := os.Create(filepath.Join(dir, s.name+".log"))
		if err != nil {
			return err
		}
		w.files = append(w.files, file)
		*s.at = file
		if tee && shown {
			*s.at = io.MultiWriter(file, w.prefixed(s.console, fmt.Sprintf("[%s%d]:", a.role, w.local)))
		}
	}
	return nil
}

// prefixed writes whole lines, each behind a prefix.
func (w *worker) prefixed(to io.Writer, prefix string) io.Writer {
	from, into := io.Pipe()
	w.files = append(w.files, into)
	w.copies.Add(1)
	go func() {
		defer w.copies.Done()
		lines := bufio.NewReader(from)
		for {
			line, err := lines.ReadString('\n')
			if line != "" {
				fmt.Fprint(to, prefix+line)
			}
			if err != nil {
				return
			}
		}
	}()
	return into
}

func (w *worker) wait() {
	w.err, w.at = w.cmd.Wait(), time.Now()
	w.closeFiles()
	w.copies.Wait()
	close(w.over)
}

func (w *worker) closeFiles() {
	for _, f := range w.files {
		f.Close()
	}
}

// runs tells whether the rank has not ended.
func (w *worker) runs() bool {
	select {
	case <-w.over:
		return false
	default:
		return true
	}
}

func (w *worker) failed() bool { return !w.runs() && w.err != nil }

// failures says which ranks have failed with what, the first to fail first: what others tell is mostly that it is gone.
func failures(list []*worker) string {
	list = slices.DeleteFunc(slices.Clone(list), func(w *worker) bool { return !w.failed() })
	slices.SortStableFunc(list, func(v, w *worker) int { return v.at.Compare(w.at) })
	var says []string
	for _, w := range list {
		says = append(says, fmt.Sprintf("rank %d (local rank %d, pid %d) failed: %v", w.rank, w.local, w.cmd.Process.Pid, w.err))
	}
	return strings.Join(says, ", then ")
}

// stop ends the ranks that still run: with SIGTERM, and after a while with SIGKILL, each with what it has started itself.
func stop(list []*worker, grace time.Duration) {
	kill := func(s syscall.Signal) {
		for _, w := range list {
			if w.runs() {
				if err := syscall.Kill(-w.cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
					w.cmd.Process.Kill()
				}
			}
		}
	}
	kill(syscall.SIGTERM)
	late := time.AfterFunc(grace, func() { kill(syscall.SIGKILL) })
	defer late.Stop()
	for _, w := range list {
		<-w.over
	}
}
