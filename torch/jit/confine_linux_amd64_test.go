package jit_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/library"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// hostileChild registers an operator in a child that makes calls of the system once the child is confined, as machine code would that took
// it over.
func hostileChild() {
	if _, child := os.LookupEnv("LIBTORCH_GO_INSPECT"); child {
		library.New("hostile").Define("call(Tensor x, int n) -> Tensor").Impl(library.CPU, func(x torch.Tensor, n int) torch.Tensor {
			if n < 0 {
				return x.Add(torch.FromSlice(make([]float32, 1<<31))) // 8 GB of Go's own
			}
			c := hostileCalls[n]
			_, _, e := syscall.RawSyscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
			return torch.FromSlice([]float32{float32(e)})
		})
	}
}

// hostileCall is a call that a confined process may not make.
type hostileCall struct {
	name   string
	number uintptr
	args   [6]uintptr
	err    syscall.Errno // default: EPERM
}

// text is a path for the kernel. The process that makes the call is the one that has made the list.
func text(s string) uintptr {
	b, _ := syscall.BytePtrFromString(s) // it has no zeros
	held = append(held, b)
	return uintptr(unsafe.Pointer(b))
}

var held []*byte

const (
	hostileFile = "/dev/shm/libtorch-go-hostile"
	here        = ^uintptr(99) // AT_FDCWD, -100
	private     = syscall.MAP_PRIVATE | syscall.MAP_ANON
	shared      = syscall.MAP_SHARED | syscall.MAP_ANON
	writable    = syscall.PROT_READ | syscall.PROT_WRITE
	huge        = 1 << 33
	none        = ^uintptr(0) // no file
	x32         = 0x40000000
)

var hostileCalls = []hostileCall{
	{name: "socket of the internet", number: syscall.SYS_SOCKET, args: [6]uintptr{syscall.AF_INET, syscall.SOCK_STREAM}},
	{name: "socket of this machine", number: syscall.SYS_SOCKET, args: [6]uintptr{syscall.AF_UNIX, syscall.SOCK_STREAM}},
	{name: "netlink", number: syscall.SYS_SOCKET, args: [6]uintptr{syscall.AF_NETLINK, syscall.SOCK_RAW}},
	{name: "socketpair", number: syscall.SYS_SOCKETPAIR, args: [6]uintptr{syscall.AF_UNIX, syscall.SOCK_STREAM}},
	{name: "connect", number: syscall.SYS_CONNECT},
	{name: "bind", number: syscall.SYS_BIND},
	{name: "listen", number: syscall.SYS_LISTEN},
	{name: "accept", number: syscall.SYS_ACCEPT4},
	{name: "sendto", number: syscall.SYS_SENDTO},
	{name: "sendmsg", number: syscall.SYS_SENDMSG},
	{name: "recvmsg", number: syscall.SYS_RECVMSG},

	{name: "open to read", number: syscall.SYS_OPEN, args: [6]uintptr{text("/etc/passwd")}},
	{name: "openat to read", number: syscall.SYS_OPENAT, args: [6]uintptr{here, text("/etc/passwd")}},
	{name: "openat to write", number: syscall.SYS_OPENAT, args: [6]uintptr{here, text(hostileFile), syscall.O_CREAT | 1, 0o600}},
	{name: "openat2", number: 437, args: [6]uintptr{here, text("/etc/passwd")}},
	{name: "creat", number: syscall.SYS_CREAT, args: [6]uintptr{text(hostileFile), 0o600}},
	{name: "mknod", number: syscall.SYS_MKNOD, args: [6]uintptr{text(hostileFile), syscall.S_IFREG | 0o600}},
	{name: "mkdir", number: syscall.SYS_MKDIR, args: [6]uintptr{text(hostileFile), 0o700}},
	{name: "symlink", number: syscall.SYS_SYMLINK, args: [6]uintptr{text("/"), text(hostileFile)}},
	{name: "stat", number: syscall.SYS_STAT, args: [6]uintptr{text("/"), text(strings.Repeat(" ", 200))}},
	{name: "unlink", number: syscall.SYS_UNLINK, args: [6]uintptr{text(hostileFile)}},
	{name: "rename", number: syscall.SYS_RENAME, args: [6]uintptr{text(hostileFile), text(hostileFile + "2")}},
	{name: "truncate", number: syscall.SYS_TRUNCATE, args: [6]uintptr{text(hostileFile)}},
	{name: "chmod", number: syscall.SYS_CHMOD, args: [6]uintptr{text(hostileFile)}},
	{name: "getdents64", number: syscall.SYS_GETDENTS64},
	{name: "ioctl", number: syscall.SYS_IOCTL},
	{name: "sendfile", number: syscall.SYS_SENDFILE},
	{name: "chdir", number: syscall.SYS_CHDIR, args: [6]uintptr{text("/")}},
	{name: "chroot", number: syscall.SYS_CHROOT, args: [6]uintptr{text("/")}},
	{name: "mount", number: syscall.SYS_MOUNT},
	{name: "io_uring_setup", number: 425, args: [6]uintptr{1, text(strings.Repeat(" ", 200))}},
	{name: "memfd_create", number: 319, args: [6]uintptr{text("x")}},
	{name: "shmget", number: syscall.SYS_SHMGET, args: [6]uintptr{0, 4096, 0o1600}},
	{name: "inotify_init", number: syscall.SYS_INOTIFY_INIT1},
	{name: "pipe", number: syscall.SYS_PIPE2, args: [6]uintptr{text("        ")}},

	{name: "execve", number: syscall.SYS_EXECVE, args: [6]uintptr{text("/bin/true")}},
	{name: "execveat", number: 322, args: [6]uintptr{here, text("/bin/true")}},
	{name: "fork", number: syscall.SYS_FORK},
	{name: "vfork", number: syscall.SYS_VFORK},
	{name: "clone of a process", number: syscall.SYS_CLONE, args: [6]uintptr{uintptr(syscall.SIGCHLD)}},
	{name: "clone3", number: 435, err: syscall.ENOSYS},
	{name: "kill", number: syscall.SYS_KILL, args: [6]uintptr{uintptr(os.Getppid())}},
	{name: "tgkill of another", number: syscall.SYS_TGKILL, args: [6]uintptr{uintptr(os.Getppid()), uintptr(os.Getppid())}},
	{name: "tkill", number: syscall.SYS_TKILL, args: [6]uintptr{uintptr(os.Getppid())}},
	{name: "rt_sigqueueinfo", number: syscall.SYS_RT_SIGQUEUEINFO},
	{name: "pidfd_open", number: 434, args: [6]uintptr{uintptr(os.Getppid())}},
	{name: "fcntl F_SETOWN", number: syscall.SYS_FCNTL, args: [6]uintptr{3, syscall.F_SETOWN, uintptr(os.Getppid())}},
	{name: "fcntl F_SETSIG", number: syscall.SYS_FCNTL, args: [6]uintptr{3, 10, uintptr(syscall.SIGKILL)}},
	{name: "fcntl F_SETLEASE", number: syscall.SYS_FCNTL, args: [6]uintptr{3, 1024}},
	{name: "ptrace", number: syscall.SYS_PTRACE, args: [6]uintptr{0}},
	{name: "process_vm_readv", number: 310},
	{name: "process_vm_writev", number: 311},
	{name: "perf_event_open", number: 298},
	{name: "bpf", number: 321},
	{name: "userfaultfd", number: 323},
	{name: "keyctl", number: syscall.SYS_KEYCTL},
	{name: "unshare", number: syscall.SYS_UNSHARE, args: [6]uintptr{syscall.CLONE_NEWUSER}},
	{name: "setns", number: 308},
	{name: "prctl", number: syscall.SYS_PRCTL},
	{name: "seccomp", number: 317},
	{name: "setuid", number: syscall.SYS_SETUID},
	{name: "setrlimit", number: syscall.SYS_SETRLIMIT},
	{name: "prlimit64", number: syscall.SYS_PRLIMIT64, args: [6]uintptr{0, 2, text("        ")}},
	{name: "reboot", number: syscall.SYS_REBOOT},
	{name: "init_module", number: syscall.SYS_INIT_MODULE},
	{name: "read by another table", number: x32 | syscall.SYS_READ},
	{name: "execve by another table", number: x32 | 520},

	{name: "mremap", number: syscall.SYS_MREMAP, args: [6]uintptr{0, 4096, huge, 1}},
	{name: "memory beyond the limit", number: syscall.SYS_MMAP, args: [6]uintptr{0, huge, writable, private, none}, err: syscall.ENOMEM},
	{name: "shared memory", number: syscall.SYS_MMAP, args: [6]uintptr{0, huge, writable, shared, none}},
	{name: "a stack", number: syscall.SYS_MMAP, args: [6]uintptr{0, huge, writable, private | syscall.MAP_GROWSDOWN, none}},
}

// Whatever a child tries that is no computing is refused by the kernel, call by call: child and parent go on.
func TestConfineRefusesCalls(t *testing.T) {
	torchtest.NoLeaks(t)
	path := filepath.Join(t.TempDir(), "model.pt")
	own := define(t, "def forward(self, x, n: Tensor):\n    if int(n) > 1000:\n        return x + 1\n    return torch.atan2(x, n)")
	require.NoError(t, own.Save(path))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b = repacked(t, b, func(_ string, content []byte) []byte {
		return bytes.ReplaceAll(content, []byte("torch.atan2(x, n)"), []byte("ops.hostile.call(x, int(n))"))
	})
	require.NoError(t, os.WriteFile(path, b, 0o600))
	c, err := jit.Confine(path, jit.ConfineOptions{Memory: 1 << 30})
	require.NoError(t, err)
	defer c.Close()
	ask := func(n int) (got []float32, err error) {
		torch.Scope(func() {
			var v any
			if v, err = c.Forward(t.Context(), torch.Zeros(2), torch.FromValue(n)); err == nil {
				got = torch.Values[float32](v.(torch.Tensor))
			}
		})
		return got, err
	}
	well := func(what string) {
		got, err := ask(1001)
		require.NoError(t, err, what)
		require.Equal(t, []float32{1, 1}, got, what)
	}
	require.NoError(t, os.RemoveAll(hostileFile))
	for n, call := range hostileCalls {
		want := call.err
		if want == 0 {
			want = syscall.EPERM
		}
		got, err := ask(n)
		require.NoError(t, err, call.name)
		require.Equal(t, want, syscall.Errno(got[0]), call.name)
		well(call.name)
	}
	for _, path := range []string{hostileFile, hostileFile + "2"} {
		require.NoFileExists(t, path)
		require.NoDirExists(t, path)
	}

	_, err = ask(-1)
	var failed *jit.ConfinedError
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, "memory", "Go ends a process that has none")
	well("another child takes its place")

	// The parent may do all of it as before.
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("x"), 0o600))
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
}
