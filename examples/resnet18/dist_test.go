package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// killing, in the environment, names a folder: ranks leave their process numbers there, and rank 0 kills as kills says.
const killing = "RESNET18_TEST_KILLS"

// kills say, for each time that the ranks are started, which of them dies, and when.
var kills = map[string]struct{ at, victim string }{"0": {"Epoch: [1][1/", "1"}, "1": {"Epoch: [2][1/", "0"}}

// program is main, or a rank that kills.
func program() {
	dir := os.Getenv(killing)
	if dir == "" {
		main()
	}
	if err := os.WriteFile(filepath.Join(dir, os.Getenv("RANK")), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := io.Writer(os.Stdout)
	if kill, some := kills[os.Getenv("TORCHELASTIC_RESTART_COUNT")]; some {
		out = io.MultiWriter(out, &clitest.Trigger{Text: kill.at, Fire: func() { // the others cannot go on before rank 0 does
			text, err := os.ReadFile(filepath.Join(dir, kill.victim))
			if err != nil {
				panic(err)
			}
			pid, err := strconv.Atoi(string(text))
			if err != nil {
				panic(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				panic(err)
			}
		}})
	}
	os.Exit(exitCode(command(ctx, os.Args[1:], out)))
}

// Two ranks, of which first one and then the other is killed in the middle of an epoch, end with the file of two that are not.
func TestRanksThatAreKilled(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	torchrun := filepath.Join(dir, "torchrun")
	text, err := exec.Command("go", "build", "-o", torchrun, "../../cmd/torchrun").CombinedOutput()
	require.NoError(t, err, "%s", text)
	launch := func(folder string) (stdout, stderr, file string) {
		path := filepath.Join(dir, "run.pt"+folder)
		program, out, errs := clitest.Program(t, tiny("-dist", "-limit", "16", "-b", "4", "-epochs", "3", "-j", "1", "-save", path)...)
		launcher := exec.Command(torchrun, append([]string{"--standalone", "--nproc-per-node", "2", "--max-restarts", "2"}, program.Args...)...)
		launcher.Env, launcher.Stdout, launcher.Stderr = program.Env, out, errs
		if folder != "" {
			launcher.Env = append(launcher.Env, killing+"="+dir)
		}
		require.NoError(t, launcher.Run(), "%s\n%s", out, errs)
		written, err := os.ReadFile(path)
		require.NoError(t, err)
		return out.String(), errs.String(), string(written)
	}
	out, errs, want := launch("")
	require.NotContains(t, errs, "started anew")
	require.Contains(t, out, "processes: 2, each with its part of the images")
	require.Equal(t, 3, strings.Count(out, "[2/2]"), "rank 0 alone prints, two batches an epoch\n%s", out)
	out, errs, got := launch("killed")
	require.Equal(t, 2, strings.Count(errs, "all ranks are started anew"), errs)
	require.Equal(t, 1, strings.Count(out, "Epoch: [0][1/2]"), "the first epoch is not done again\n%s", out)
	require.True(t, want == got, "the checkpoints differ\n%s\n%s", out, errs)
}
