package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Two ranks train together, and are stopped and started again: the checkpoint is that of two that were left alone, byte for byte.
func TestRanksGoOn(t *testing.T) {
	torchtest.NoLeaks(t)
	dir, photographs := t.TempDir(), photos(t, 4)
	torchrun := filepath.Join(dir, "torchrun")
	text, err := exec.Command("go", "build", "-o", torchrun, "../../cmd/torchrun").CombinedOutput()
	require.NoError(t, err, "%s", text)
	launcher := func(name string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
		program, stdout, stderr := clitest.Program(t, tiny(photographs, "-dist", "-b", "2", "-j", "1", "-model-ema", "-model-ema-steps", "1",
			"-save-every", "2", "-output-dir", filepath.Join(dir, name))...)
		cmd = exec.Command(torchrun, append([]string{"--standalone", "--nproc-per-node", "2"}, program.Args...)...)
		cmd.Env, cmd.Stdout, cmd.Stderr = program.Env, stdout, stderr
		return cmd, stdout, stderr
	}
	straight, out, errs := launcher("straight")
	require.NoError(t, straight.Run(), "%s\n%s", out, errs)
	require.Contains(t, out.String(), "processes: 2, each with its part of the images")
	require.Equal(t, 2, strings.Count(out.String(), "[3/3]"), "rank 0 alone prints, three batches an epoch\n%s", out)

	stopped, _, _ := launcher("stopped")
	stopped.Stdout = &clitest.Trigger{Text: "Epoch: [1][1/", Fire: func() { _ = stopped.Process.Signal(syscall.SIGTERM) }}
	require.Error(t, stopped.Run())
	again, out, errs := launcher("stopped")
	require.NoError(t, again.Run(), "%s\n%s", out, errs)
	require.Contains(t, out.String(), "going on in epoch ")
	want, got := checkpointOf(t, filepath.Join(dir, "straight")), checkpointOf(t, filepath.Join(dir, "stopped"))
	require.True(t, bytes.Equal(want, got), "the checkpoints differ\n%s", out)
}
