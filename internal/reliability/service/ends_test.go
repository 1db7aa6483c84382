package service

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/library"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// program compiles testdata/ends: only a real main can return.
func program(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go to compile the program with: ", err)
	}
	if _, err := os.Stat(filepath.Join("..", "..", "..", "go.mod")); err != nil {
		t.Skip("the sources are not here: ", err)
	}
	path := filepath.Join(t.TempDir(), "ends")
	out, err := exec.Command("go", "build", "-o", path, "./testdata/ends").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func TestEnds(t *testing.T) {
	path, checkpoint := program(t), filepath.Join(t.TempDir(), "model.safetensors")
	cases := []struct {
		name string
		args []string
		send syscall.Signal // when it is ready; 0 for none
		want string
	}{
		{"return", []string{"return"}, 0, "exit status 0"},
		{"os.Exit", []string{"exit"}, 0, "exit status 3"},
		{"panic", []string{"panic"}, 0, "exit status 2"},
		{"SIGINT", []string{"wait"}, syscall.SIGINT, "signal: interrupt"},
		{"SIGTERM", []string{"wait"}, syscall.SIGTERM, "signal: terminated"},
		{"SIGTERM caught, and a checkpoint", []string{"checkpoint", checkpoint}, syscall.SIGTERM, "exit status 0"},
	}
	times := reliability.Size(20, 2)
	for _, c := range cases {
		wrong, slowest := 0, time.Duration(0)
		for range times {
			got, text, took := end(t, path, c.args, c.send)
			if got != c.want || strings.Contains(text, "SIG") {
				wrong++
				t.Logf("%s: %s, want %s\n%s", c.name, got, c.want, text)
			}
			slowest = max(slowest, took)
		}
		reliability.Exactly(t, "wrong ends by "+c.name, wrong, 0)
		reliability.AtMost(t, "slowest end by "+c.name, slowest.Seconds(), 5, "s")
	}
	file, err := safetensors.Load(checkpoint)
	require.NoError(t, err)
	defer file.Close()
	assert.Len(t, file.Tensors, 2)
}

// end runs the program until it has ended: how, what it wrote to its standard error, and
// how long that took from when it was ready.
func end(t *testing.T, path string, args []string, send syscall.Signal) (how, text string, took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.NoError(t, err)
	assert.Equal(t, "ready\n", line)
	ready := time.Now()
	if send != 0 {
		require.NoError(t, cmd.Process.Signal(send))
	}
	_ = cmd.Wait() // the state says it better
	return cmd.ProcessState.String(), complaints.String(), time.Since(ready)
}

// training keeps goroutines busy with small steps until it is stopped.
type training struct {
	steps   atomic.Int64
	stopped atomic.Bool
	all     sync.WaitGroup
}

func startTraining(goroutines int) *training {
	var tr training
	for range goroutines {
		tr.all.Go(func() {
			model := nn.NewLinear(32, 32)
			opt := optim.NewSGD(nn.Parameters(model), 1e-3)
			for !tr.stopped.Load() {
				torch.Scope(func() {
					F.MSELoss(model.Forward(torch.RandN(16, 32)), torch.RandN(16, 32)).Backward()
					opt.Step()
					opt.ZeroGrad()
				})
				tr.steps.Add(1)
			}
			opt.Close()
			nn.Close(model)
		})
	}
	return &tr
}

func (tr *training) stop() int64 {
	tr.stopped.Store(true)
	tr.all.Wait()
	return tr.steps.Load()
}

// Go forks for an instant to start a program, from a process whose other threads are in
// the middle of libtorch.
func TestProgramsStartedWhileTraining(t *testing.T) {
	torchtest.NoLeaks(t)
	times, failed := reliability.Size(500, 100), 0
	tr := startTraining(2)
	for range times {
		out, err := exec.Command("echo", "fine").Output()
		if err != nil || string(out) != "fine\n" {
			failed++
		}
	}
	steps := tr.stop()
	reliability.Exactly(t, "programs that failed of those started while training", failed, 0)
	reliability.AtLeast(t, "training steps meanwhile", steps, int64(times))
}

// A profile interrupts threads wherever they are: 500 times a second, in libtorch too.
func TestProfileWhileTraining(t *testing.T) {
	torchtest.NoLeaks(t)
	var profile bytes.Buffer
	runtime.SetCPUProfileRate(500) // pprof then complains that it cannot have its 100, and goes on
	require.NoError(t, pprof.StartCPUProfile(&profile))
	tr := startTraining(2)
	time.Sleep(time.Duration(reliability.Size(10, 2)) * time.Second)
	steps := tr.stop()
	pprof.StopCPUProfile()
	reliability.AtLeast(t, "training steps under a profile at 500 Hz", steps, 100)

	unpacked, err := gzip.NewReader(&profile)
	require.NoError(t, err)
	text, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	assert.Contains(t, string(text), "runtime.cgocall", "no sample is from within libtorch")
}

// borrower sets a handler and the one before again, as CUDA's compilers do, with a function that cannot say on which stack.
const borrower = `
#include <signal.h>
__attribute__((constructor)) static void borrow(void) {
	int list[] = {SIGINT, SIGTERM, SIGHUP, SIGURG};
	for (int i = 0; i < 4; i++) signal(list[i], signal(list[i], SIG_IGN));
}`

// borrow loads such a library.
func borrow(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	path := filepath.Join(t.TempDir(), "borrower.so")
	cmd := exec.Command(compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", path)
	cmd.Stdin = strings.NewReader(borrower)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, library.Load(path))
}

// A library that sets handlers for a while leaves Go's on their stacks, and the process as it was.
func TestSignalHandlersRemain(t *testing.T) {
	torchtest.NoLeaks(t)
	borrow(t)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGTERM)
	defer signal.Stop(interrupted)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	require.Equal(t, syscall.SIGTERM, <-interrupted)
	torch.Scope(func() { torch.RandN(256, 256).MM(torch.RandN(256, 256)) }) // libtorch and its helpers have begun
	reliability.SignalsOnStack(t)
}
