package jit

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// The calls of the system that a confined process may make, besides those that filter looks into: they compute, wait, take memory, make
// threads, and read and write what is open. Whatever is not here fails with EPERM: files, sockets, other processes, settings of this one.
var harmless = []uint32{
	syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_READV, syscall.SYS_WRITEV, syscall.SYS_PREAD64, syscall.SYS_CLOSE, syscall.SYS_FSTAT,
	syscall.SYS_LSEEK, syscall.SYS_POLL, syscall.SYS_EPOLL_WAIT, syscall.SYS_EPOLL_PWAIT, syscall.SYS_EPOLL_CTL,
	syscall.SYS_MPROTECT, syscall.SYS_MUNMAP, syscall.SYS_MADVISE, syscall.SYS_MINCORE, syscall.SYS_BRK,
	syscall.SYS_RT_SIGACTION, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_RT_SIGRETURN, syscall.SYS_SIGALTSTACK, syscall.SYS_RESTART_SYSCALL,
	syscall.SYS_SCHED_YIELD, syscall.SYS_SCHED_GETAFFINITY, syscall.SYS_NANOSLEEP, syscall.SYS_CLOCK_NANOSLEEP, syscall.SYS_CLOCK_GETTIME,
	syscall.SYS_GETTIMEOFDAY, syscall.SYS_FUTEX, syscall.SYS_GETPID, syscall.SYS_GETTID, syscall.SYS_GETRUSAGE, syscall.SYS_UNAME,
	syscall.SYS_SYSINFO, syscall.SYS_SET_ROBUST_LIST, syscall.SYS_TIMER_CREATE, syscall.SYS_TIMER_SETTIME, syscall.SYS_TIMER_DELETE,
	syscall.SYS_SETITIMER, syscall.SYS_EXIT, syscall.SYS_EXIT_GROUP, getcpu, getrandom, membarrier, rseq,
}

// Numbers that package syscall lacks, and what filters are made of.
const (
	getcpu, seccomp, getrandom, membarrier, rseq, clone3 = 309, 317, 318, 324, 334, 435

	setFilter, allThreads = 1, 1 // of seccomp
	noNewPrivileges       = 38   // of prctl

	machine = 0xc000003e // AUDIT_ARCH_X86_64
	allow   = 0x7fff0000
	refuse  = 0x00050000 // with the number of an error

	loadWord, ifEqual, ifAbove, ifAny, result = 0x20, 0x15, 0x25, 0x45, 0x06

	callAt, machineAt                            = 0, 4 // in what a filter is shown
	firstArg, secondArg, thirdArg, fourthArg int = 16, 24, 32, 40

	growsDown = 0x100 // of mmap
	uncounted = syscall.MAP_SHARED | growsDown
)

// filter is the program that the kernel runs for each call of the system.
func filter() []syscall.SockFilter {
	jump := func(code uint16, k uint32, yes, no int) syscall.SockFilter {
		return syscall.SockFilter{Code: code, Jt: uint8(yes), Jf: uint8(no), K: k}
	}
	load := func(at int) syscall.SockFilter { return syscall.SockFilter{Code: loadWord, K: uint32(at)} }
	end := func(k uint32) syscall.SockFilter { return syscall.SockFilter{Code: result, K: k} }
	p := []syscall.SockFilter{load(machineAt), jump(ifEqual, machine, 1, 0), end(refuse | uint32(syscall.EPERM)), load(callAt)}
	for _, call := range harmless {
		p = append(p, jump(ifEqual, call, 0, 1), end(allow))
	}
	return append(p,
		jump(ifEqual, clone3, 0, 1), end(refuse|uint32(syscall.ENOSYS)), // whose arguments a filter cannot see: the C library takes clone
		jump(ifEqual, syscall.SYS_CLONE, 0, 3), load(firstArg), jump(ifAny, syscall.CLONE_THREAD, 0, 1), end(allow),
		load(callAt), jump(ifEqual, syscall.SYS_TGKILL, 0, 3), load(firstArg), jump(ifEqual, uint32(os.Getpid()), 0, 1), end(allow),
		load(callAt), jump(ifEqual, syscall.SYS_PRLIMIT64, 0, 5), // limits may be asked for, not set
		load(thirdArg), jump(ifEqual, 0, 0, 3), load(thirdArg+4), jump(ifEqual, 0, 0, 1), end(allow),
		load(callAt), jump(ifEqual, syscall.SYS_MMAP, 0, 3), // memory of the kinds that its limit does not count is refused
		load(fourthArg), jump(ifAny, uncounted, 1, 0), end(allow),
		load(callAt), jump(ifEqual, syscall.SYS_FCNTL, 0, 3), // flags alone: what is above has signals sent to any process
		load(secondArg), jump(ifAbove, syscall.F_SETFL, 1, 0), end(allow),
		end(refuse|uint32(syscall.EPERM)),
	)
}

// confine has the kernel refuse this process, all of its threads, whatever does more than compute. There is no way back.
func confine() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0); e != 0 {
		return e
	}
	p := filter()
	program := syscall.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	thread, _, e := syscall.RawSyscall(seccomp, setFilter, allThreads, uintptr(unsafe.Pointer(&program)))
	switch {
	case e != 0:
		return fmt.Errorf("seccomp: %w", e)
	case thread != 0:
		return fmt.Errorf("seccomp: thread %d has a filter of its own", thread)
	}
	return nil
}
