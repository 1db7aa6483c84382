package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// waiting, in the environment, has a folder. With two ranks rank 0 stops at the beginning of epoch 1 until a machine joins, with three at
// that of epoch 2 until one leaves: the ranks are started anew then, and the folder says that it has happened.
const waiting = "RESNET18_TEST_WAITING"

// waits is what a rank prints to that waits.
func waits(ctx context.Context) io.Writer {
	dir, event, epoch := os.Getenv(waiting), "joins", 1
	if os.Getenv("WORLD_SIZE") == "3" {
		event, epoch = "leaves", 2
	}
	if _, err := os.Stat(filepath.Join(dir, event)); err == nil {
		return os.Stdout
	}
	return io.MultiWriter(os.Stdout, &clitest.Trigger{Text: fmt.Sprintf("Epoch: [%d][1/", epoch), Fire: func() { <-ctx.Done() }})
}

// Two machines train, a third joins and leaves: each time the ranks that there are go on from the checkpoint.
func TestTrainingGoesOnWithOtherRanks(t *testing.T) {
	torchtest.NoLeaks(t)
	const patience = 5 * time.Minute
	dir, torchrun, port := t.TempDir(), launcher(t), clitest.FreePort(t)
	flags := tiny("-dist", "-limit", "24", "-b", "4", "-epochs", "4", "-j", "1", "-save", filepath.Join(dir, "run.pt"))
	program, _, _ := clitest.Program(t, flags...)
	var out, errs clitest.Console
	machine := func() *exec.Cmd {
		cmd := exec.Command(torchrun, append([]string{"--nnodes", "2:3", "--rdzv-backend", "c10d", "--rdzv-endpoint",
			"localhost:" + strconv.Itoa(port), "--rdzv-conf", "last_call_timeout=3"}, program.Args...)...)
		cmd.Env = append(program.Env, waiting+"="+dir)
		cmd.Stdout, cmd.Stderr = &out, &errs
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd
	}
	prints := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(out.String(), want) }, patience, 20*time.Millisecond, "%s: %s", want, &errs)
	}
	happened := func(event string) { require.NoError(t, os.WriteFile(filepath.Join(dir, event), nil, 0o600)) }
	machines := []*exec.Cmd{machine(), machine()}
	prints("Epoch: [1][1/")
	happened("joins")
	third := machine()
	prints("Epoch: [2][1/")
	happened("leaves")
	require.NoError(t, third.Process.Signal(syscall.SIGTERM))
	require.Error(t, third.Wait())
	for _, m := range machines {
		require.NoError(t, m.Wait(), errs.String())
	}
	text := out.String()
	var worlds []string
	for _, found := range regexp.MustCompile(`processes: (\d)`).FindAllStringSubmatch(text, -1) {
		worlds = append(worlds, found[1])
	}
	require.Equal(t, []string{"2", "3", "2"}, worlds, text)
	require.Equal(t, 1, strings.Count(text, "Epoch: [0][1/3]"), "what was saved is not done again\n%s", text)
	require.Contains(t, text, "Epoch: [1][1/3]")
	require.Contains(t, text, "Epoch: [2][1/2]", "three ranks have fewer batches each\n%s", text)
	require.Contains(t, text, "Epoch: [3][3/3]")
	require.Contains(t, text, "done: Acc@1")
}
