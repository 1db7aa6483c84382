package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Kind is a way to fail: an errno, or [Short].
type Kind syscall.Errno

// Short has half of what a write is asked to write reach the file, as on a disk that becomes full: all later writes
// of the round fail with ENOSPC.
const Short Kind = 0

// The program says with calls that nobody else makes when a round begins and when it ends.
const (
	beginCall = syscall.SYS_GETPPID
	endCall   = syscall.SYS_GETPGRP
)

// Begin begins a round in the program under test.
func Begin() { _, _, _ = syscall.RawSyscall(beginCall, 0, 0, 0) }

// End ends it, and tells whether a call was made to fail.
func End() bool {
	failed, _, _ := syscall.RawSyscall(endCall, 0, 0, 0)
	return failed == 1
}

// Run runs a program to its end. In its round number n, counted from 1, the n-th system call that has to do with the
// folder fails: by its path or by an open file, whichever thread makes it. It returns the number of rounds in which one did.
func Run(cmd *exec.Cmd, dir string, kind Kind) (rounds int, err error) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	t := &tracer{pid: cmd.Process.Pid, dir: dir, kind: kind, inside: map[int]bool{}, answers: map[int]uint64{}}
	status, err := t.trace()
	if err != nil {
		return t.rounds, errors.Join(err, cmd.Process.Kill())
	}
	if status.ExitStatus() != 0 {
		return t.rounds, fmt.Errorf("the program ended with status %d, signal %v", status.ExitStatus(), status.Signal())
	}
	return t.rounds, nil
}

// tracer follows all threads of one process.
type tracer struct {
	pid    int
	dir    string
	kind   Kind
	rounds int

	round, count int // the round that is on, and the calls in it that had to do with the folder
	active       bool
	given        bool           // the fault, in this round
	inside       map[int]bool   // threads that are in a call
	answers      map[int]uint64 // what these calls are to return
}

// trace lets the process run from call to call until it ends.
func (t *tracer) trace() (status syscall.WaitStatus, err error) {
	const (
		exitKill = 0x100000   // PTRACE_O_EXITKILL
		noThread = 0x20000000 // __WNOTHREAD: children of this thread alone
	)
	if _, err := syscall.Wait4(t.pid, &status, 0, nil); err != nil {
		return status, err
	}
	if err := syscall.PtraceSetOptions(t.pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|exitKill); err != nil {
		return status, err
	}
	for thread, signal := t.pid, 0; ; {
		if err := syscall.PtraceSyscall(thread, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return status, err
		}
		for {
			thread, err = syscall.Wait4(-1, &status, syscall.WALL|noThread, nil)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil {
				return status, err
			}
			if status.Stopped() {
				break
			}
			if thread == t.pid {
				return status, nil
			}
		}
		if signal, err = t.stopped(thread, status); err != nil && !errors.Is(err, syscall.ESRCH) {
			return status, err
		}
	}
}

// stopped handles a thread that has stopped, and returns the signal that it goes on with.
func (t *tracer) stopped(thread int, status syscall.WaitStatus) (signal int, err error) {
	const inCall = syscall.SIGTRAP | 0x80
	switch s := status.StopSignal(); s {
	case inCall:
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(thread, &regs); err != nil {
			return 0, err
		}
		t.inside[thread] = !t.inside[thread]
		if t.inside[thread] {
			return 0, t.enter(thread, &regs)
		}
		if answer, ok := t.answers[thread]; ok {
			delete(t.answers, thread)
			regs.Rax = answer
			return 0, syscall.PtraceSetRegs(thread, &regs)
		}
		return 0, nil
	case syscall.SIGTRAP, syscall.SIGSTOP: // a new thread, which its maker and itself tell of
		return 0, nil
	default:
		return int(s), nil
	}
}

// enter looks at a call that is about to be made.
func (t *tracer) enter(thread int, regs *syscall.PtraceRegs) error {
	switch regs.Orig_rax {
	case beginCall:
		t.active, t.given, t.count = true, false, 0
		t.round++
		return nil
	case endCall:
		t.active = false
		t.answers[thread] = 0
		if t.given {
			t.answers[thread] = 1
			t.rounds++
		}
		return nil
	}
	if !t.active || !t.concerns(thread, regs) {
		return nil
	}
	writes := regs.Orig_rax == syscall.SYS_WRITE || regs.Orig_rax == syscall.SYS_PWRITE64
	if t.kind != Short {
		if t.count++; t.count != t.round {
			return nil
		}
		return t.fail(thread, regs, syscall.Errno(t.kind))
	}
	if !writes {
		return nil
	}
	if t.given {
		return t.fail(thread, regs, syscall.ENOSPC)
	}
	if t.count++; t.count != t.round {
		return nil
	}
	t.given = true
	regs.Rdx /= 2
	return syscall.PtraceSetRegs(thread, regs)
}

// fail has the call return an error without being made.
func (t *tracer) fail(thread int, regs *syscall.PtraceRegs, e syscall.Errno) error {
	t.given = true
	t.answers[thread] = -uint64(e)
	regs.Orig_rax = ^uint64(0) // no call
	return syscall.PtraceSetRegs(thread, regs)
}

// What calls have for their first argument.
var (
	files = []uint64{
		syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_CLOSE, syscall.SYS_FSTAT, syscall.SYS_LSEEK, syscall.SYS_PREAD64, syscall.SYS_PWRITE64,
		syscall.SYS_FLOCK, syscall.SYS_FSYNC, syscall.SYS_FDATASYNC, syscall.SYS_FTRUNCATE, syscall.SYS_FCHMOD, syscall.SYS_GETDENTS64,
	}
	paths = []uint64{
		syscall.SYS_OPEN, syscall.SYS_STAT, syscall.SYS_LSTAT, syscall.SYS_RENAME, syscall.SYS_MKDIR, syscall.SYS_RMDIR, syscall.SYS_UNLINK,
		syscall.SYS_CHMOD,
	}
	folders = []uint64{ // and a path for their second
		syscall.SYS_OPENAT, syscall.SYS_NEWFSTATAT, syscall.SYS_UNLINKAT, syscall.SYS_RENAMEAT, syscall.SYS_MKDIRAT, syscall.SYS_FCHMODAT,
		316 /* renameat2 */, 332, /* statx */
	}
)

// concerns says whether a call has to do with the folder.
func (t *tracer) concerns(thread int, regs *syscall.PtraceRegs) bool {
	is := func(list []uint64) bool {
		for _, n := range list {
			if n == regs.Orig_rax {
				return true
			}
		}
		return false
	}
	switch {
	case is(files):
		return t.within(t.file(regs.Rdi))
	case is(paths):
		return t.within(text(thread, regs.Rdi))
	case is(folders):
		path := text(thread, regs.Rsi)
		if !filepath.IsAbs(path) {
			path = filepath.Join(t.file(regs.Rdi), path)
		}
		return t.within(path)
	}
	return false
}

func (t *tracer) within(path string) bool { return path == t.dir || strings.HasPrefix(path, t.dir+"/") }

// file is the path of an open file, empty for what is none.
func (t *tracer) file(descriptor uint64) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.pid, int32(descriptor)))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}

// text is the text at an address of the thread's.
func text(thread int, at uint64) string {
	const longest = 512
	b := make([]byte, longest)
	n, err := syscall.PtracePeekData(thread, uintptr(at), b)
	if err != nil && n == 0 {
		return ""
	}
	s, _, _ := bytes.Cut(b[:n], []byte{0})
	return string(s)
}
