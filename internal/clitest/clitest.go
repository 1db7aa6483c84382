package clitest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// asProgram in the environment makes a test binary the program itself.
const asProgram = "LIBTORCH_GO_EXAMPLE_AS_PROGRAM"

// Main runs the tests with one thread, or the program if the environment says so.
func Main(m *testing.M, program func()) {
	if os.Getenv(asProgram) != "" {
		program()
		os.Exit(0)
	}
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// Program is the program as a separate process with one thread, not yet started.
func Program(t testing.TB, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "OMP_NUM_THREADS=1")
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// A Command is the function that a program's main runs.
type Command func(ctx context.Context, args []string, out io.Writer) error

// Run runs the program within this process, and returns what it prints.
func Run(t testing.TB, command Command, args ...string) string {
	t.Helper()
	out := new(bytes.Buffer)
	if err := command(t.Context(), args, out); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out.String()
}

// Helps checks that -h explains the flags with these names.
func Helps(t testing.TB, command Command, names string) {
	t.Helper()
	out := new(bytes.Buffer)
	if err := command(t.Context(), []string{"-h"}, out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
	for name := range strings.FieldsSeq(names) {
		if !strings.Contains(out.String(), "  -"+name) {
			t.Errorf("-h does not explain -%s:\n%s", name, out)
		}
	}
}

// Fails runs the program, which is called name, and checks its exit code and that stderr
// has one line, with text in it.
func Fails(t testing.TB, name string, code int, text string, args ...string) {
	t.Helper()
	cmd, stdout, stderr := Program(t, args...)
	err := cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("%v: exit code %d (%v), expected %d\n%s%s", args, got, err, code, stdout, stderr)
	}
	line := stderr.String()
	if strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, name+": ") || !strings.Contains(line, text) {
		t.Errorf("%v: expected one line, %s: … %s …, got\n%s", args, name, text, line)
	}
}

// Signal runs the program and sends it the signal once it has printed text. It checks that
// the program ends as after an interrupt, and returns its stderr.
func Signal(t testing.TB, signal syscall.Signal, text string, args ...string) string {
	t.Helper()
	cmd, _, stderr := Program(t, args...)
	out := &Trigger{Text: text, Fire: func() { _ = cmd.Process.Signal(signal) }}
	cmd.Stdout = out
	err := cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("%v: exit code %d (%v) after %v, expected 130\n%s%s", args, got, err, signal, &out.Seen, stderr)
	}
	return stderr.String()
}

// A Trigger is a writer that calls Fire once, when the text is written.
type Trigger struct {
	Text string
	Fire func()
	Seen bytes.Buffer // everything that was written

	fired bool
}

func (w *Trigger) Write(p []byte) (int, error) {
	if !w.fired && strings.Contains(string(p), w.Text) {
		w.fired = true
		w.Fire()
	}
	return w.Seen.Write(p)
}

// Ports that systems give to connections begin at 32768 or above, those of well-known services lie below 10000.
const firstPort, lastPort = 12_000, 32_000

// FreePort is a port of this machine that nobody listens at. No connection gets it before the caller listens, and another caller
// hardly ever.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if l, err := net.Listen("tcp", ":"+strconv.Itoa(port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
