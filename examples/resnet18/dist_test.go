package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// disturbing, in the environment, has a folder, where ranks leave their process numbers, a signal, how often it is sent and a seed. Rank 0
// sends it each time that the ranks are started: in the first epoch that is new, after a random one of its two batches, to a random
// rank. The others cannot go on before rank 0 does.
const disturbing = "RESNET18_TEST_DISTURBED"

// full is a flag, because it takes minutes.
var full = flag.Bool("full", false, "disturb ranks as often as a release has to bear: 30 times by SIGKILL, 5 times by SIGSTOP")

// program is main, or a rank that disturbs others, or one that waits for others.
func program() {
	var out io.Writer
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	switch {
	case os.Getenv(disturbing) != "":
		out = disturbs()
	case os.Getenv(waiting) != "":
		out = waits(ctx)
	default:
		stop()
		main()
	}
	err := command(ctx, os.Args[1:], out)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(exitCode(err))
}

// disturbs is what a rank prints to that disturbs others.
func disturbs() io.Writer {
	var dir string
	var number syscall.Signal
	var times, restart int
	var seed uint64
	if _, err := fmt.Sscan(os.Getenv(disturbing), &dir, &number, &times, &seed); err != nil {
		panic(err)
	}
	if _, err := fmt.Sscan(os.Getenv("TORCHELASTIC_RESTART_COUNT"), &restart); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, os.Getenv("RANK")), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		panic(err)
	}
	if restart == times {
		return os.Stdout
	}
	random := rand.New(rand.NewPCG(seed, uint64(restart)))
	victim, batch := random.IntN(2), 1+random.IntN(2)
	return io.MultiWriter(os.Stdout, &clitest.Trigger{Text: fmt.Sprintf("Epoch: [%d][%d/", restart+1, batch), Fire: func() {
		text, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(victim)))
		if err != nil {
			panic(err)
		}
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			panic(err)
		}
		if err := syscall.Kill(pid, number); err != nil {
			panic(err)
		}
	}})
}

// launcher builds cmd/torchrun.
func launcher(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "torchrun")
	text, err := exec.Command("go", "build", "-o", path, "../../cmd/torchrun").CombinedOutput()
	require.NoError(t, err, "%s", text)
	return path
}

// Two ranks, of which now and then one is killed in the middle of an epoch, or stops answering, end with the file of two that are left
// alone.
func TestRanksThatAreDisturbed(t *testing.T) {
	torchtest.NoLeaks(t)
	dir := t.TempDir()
	torchrun := launcher(t)
	kills, stops := 2, 1
	if *full {
		kills, stops = 30, 5
	}
	epochs := kills + 2 // with one after the last in which a rank is disturbed: in its last batch the rank may have ended already
	launch := func(name string, number syscall.Signal, times int, flags ...string) (stdout, stderr, file string) {
		path := filepath.Join(dir, name+".pt")
		flags = append(flags, "-dist", "-limit", "16", "-b", "4", "-epochs", strconv.Itoa(epochs), "-j", "1", "-save", path)
		program, out, errs := clitest.Program(t, tiny(flags...)...)
		args := []string{"--standalone", "--nproc-per-node", "2", "--max-restarts", strconv.Itoa(times)}
		command := exec.Command(torchrun, append(args, program.Args...)...)
		command.Env, command.Stdout, command.Stderr = program.Env, out, errs
		if times > 0 {
			seed := time.Now().UnixNano()
			t.Logf("%s: the seed is %d", name, seed)
			command.Env = append(command.Env, fmt.Sprintf("%s=%s %d %d %d", disturbing, dir, number, times, seed))
		}
		require.NoError(t, command.Run(), "%s\n%s", out, errs)
		written, err := os.ReadFile(path)
		require.NoError(t, err)
		return out.String(), errs.String(), string(written)
	}
	out, errs, want := launch("alone", 0, 0)
	require.NotContains(t, errs, "started anew")
	require.Contains(t, out, "processes: 2, each with its part of the images")
	require.Equal(t, epochs, strings.Count(out, "[2/2]"), "rank 0 alone prints, two batches an epoch\n%s", out)
	for _, c := range []struct {
		name   string
		number syscall.Signal
		times  int
		says   string
		flags  []string
	}{
		{"killed", syscall.SIGKILL, kills, "signal: killed", nil},
		{"stopped", syscall.SIGSTOP, stops, "(?i)timed out|timeout", []string{"-dist-timeout", "30s"}}, // in the backward pass or elsewhere
	} {
		out, errs, got := launch(c.name, c.number, c.times, c.flags...)
		require.Equal(t, c.times, strings.Count(errs, "all ranks are started anew"), errs)
		require.Regexp(t, c.says, errs)
		require.Equal(t, 1, strings.Count(out, "Epoch: [0][1/2]"), "the first epoch is not done again\n%s", out)
		require.True(t, want == got, "the checkpoints differ\n%s\n%s", out, errs)
	}
}
