package reliability

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// action is the kernel's struct sigaction.
type action struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// SignalsOnStack fails the test for each signal whose handler runs on the stack of a goroutine, which is small: Go's handlers have
// stacks of their own (SA_ONSTACK), and a library that set one without would have the next signal end the process.
func SignalsOnStack(t testing.TB) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the layout of struct sigaction is that of amd64")
	}
	const onStack, ignore, signals = 0x08000000, 1, 64
	handled, off := 0, 0
	for n := 1; n <= signals; n++ {
		var a action
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n), 0, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a.mask), 0, 0)
		if errno != 0 {
			t.Fatalf("signal %d: %v", n, errno)
		}
		if a.handler <= ignore {
			continue
		}
		handled++
		if a.flags&onStack == 0 {
			off++
			t.Logf("the handler of signal %d is not on a stack of its own", n)
		}
	}
	AtLeast(t, "signals with a handler", handled, 20)
	Exactly(t, "of these on the stack of a goroutine", off, 0)
}
