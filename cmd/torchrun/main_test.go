package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// TestMain is also the program that the tests launch: a rank that adds up with the others.
func TestMain(m *testing.M) {
	if os.Getenv("TORCHRUN_TEST_RANK") == "" {
		torchtest.Main(m)
		return
	}
	run := rank
	if os.Getenv("TORCHRUN_TEST_RANK") != "1" {
		run = trains
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func rank() error {
	ctx := context.Background()
	g, err := dist.InitProcessGroup(ctx, "gloo")
	if err != nil {
		return err
	}
	defer g.Close()
	sum := torch.Full([]int{2}, float64(g.Rank()+1))
	if err := g.AllReduce(sum).Wait(ctx); err != nil {
		return err
	}
	fmt.Printf("sum %v on a rank of %d\n", torch.Values[float32](sum), g.Size())
	return nil
}

// patience is how long tests wait for what a busy machine may take long for.
const patience = 5 * time.Minute

// launched runs the command to its end.
func launched(t *testing.T, args ...string) ([]string, error) {
	t.Helper()
	var out clitest.Console
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := command(ctx, args, &out)
	return slices.Sorted(strings.Lines(out.String())), err // ranks are not in order
}

func TestEnvironmentEqualsPythons(t *testing.T) {
	torchtest.NoLeaks(t)
	const show = `echo $(env | grep -E '^(RANK|WORLD_SIZE|LOCAL_|GROUP_|ROLE_|OMP_NUM|TORCHELASTIC_(RESTART|MAX|USE)|TORCH_NCCL)' | sort)`
	args := []string{"--standalone", "--nproc_per_node=2", "--max-restarts=2", "--role", "trainer", "sh", "-c", show}
	t.Setenv("OMP_NUM_THREADS", "")
	got, err := launched(t, args...)
	require.NoError(t, err)
	python := peer.Command(t, slices.Concat([]string{"-m", "torch.distributed.run", "--no-python"}, args)...)
	text, err := python.Output()
	require.NoError(t, err)
	require.Equal(t, slices.Sorted(strings.Lines(string(text))), got)
}

func TestRanksMeet(t *testing.T) {
	torchtest.NoLeaks(t)
	t.Setenv("TORCHRUN_TEST_RANK", "1")
	args := []string{"--standalone", "--nproc-per-node", "2", os.Args[0]}
	want := slices.Repeat([]string{"sum [3 3] on a rank of 2\n"}, 2)
	got, err := launched(t, args...)
	require.NoError(t, err)
	require.Equal(t, want, got)
	text, err := peer.Command(t, slices.Concat([]string{"-m", "torch.distributed.run", "--no-python"}, args)...).Output()
	require.NoError(t, err, "the same program under Python's torchrun")
	require.Equal(t, want, slices.Sorted(strings.Lines(string(text))))
}

func TestEnds(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, c := range map[string]struct {
		script string
		flags  []string
		fails  string
		prints []string
	}{
		"all well":      {script: "echo $RANK", prints: []string{"0\n", "1\n"}},
		"one fails":     {script: "[ $RANK = 0 ] || exit 3; sleep 600", fails: `rank 1 \(local rank 1, pid \d+\) failed: exit status 3`},
		"one is killed": {script: "[ $RANK = 1 ] || kill -9 $$; sleep 600", fails: `rank 0 .* failed: signal: killed`},
		// Rank 0, which is looked at first, fails as soon as rank 1 is gone.
		"one fails of the other": {script: "if [ $RANK = 1 ]; then echo $$ > $0/1; sleep 0.3; kill -9 $$; fi; " +
			"until [ -s $0/1 ]; do :; done; while kill -0 $(cat $0/1) 2> /dev/null; do :; done; exit 1",
			fails: `rank 1 .* failed: signal: killed`},
		"fails at first": {script: "[ $TORCHELASTIC_RESTART_COUNT = 1 ] && echo $RANK", // the first to fail ends the other
			flags: []string{"--max-restarts", "1"}, prints: []string{"0\n", "1\n"}},
		"fails again":        {script: "exit 1", flags: []string{"--max-restarts", "2"}, fails: "no restarts left of 2"},
		"prefixes":           {script: "echo out", flags: []string{"--tee", "1"}, prints: []string{"[default0]:out\n", "[default1]:out\n"}},
		"one rank shown":     {script: "echo $RANK", flags: []string{"--local-ranks-filter", "1"}, prints: []string{"1\n"}},
		"no such program":    {script: "-", fails: "does not start"},
		"redirects are mute": {script: "echo out", flags: []string{"--redirects", "0:1"}, prints: []string{"out\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			logs := t.TempDir()
			program := []string{"sh", "-c", c.script, logs} // which is $0
			if c.script == "-" {
				program = []string{filepath.Join(logs, "nothing")}
			}
			watch := clitest.StartWatch(t)
			got, err := launched(t, slices.Concat([]string{"--standalone", "--nproc-per-node", "2", "--log-dir", logs}, c.flags, program)...)
			require.Less(t, watch.Elapsed(), 20*time.Second)
			if c.fails != "" {
				require.Error(t, err)
				require.Regexp(t, regexp.MustCompile(c.fails), err.Error())
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.prints, got)
		})
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"", "which program"},
		{"--nnodes 3:2 x", "MIN:MAX"},
		{"--nproc-per-node many x", "number"},
		{"--nproc-per-node gpu x", "no GPU"},
		{"--nnodes 1:2 x", "fixed number"},
		{"--node-rank 1 x", "--node-rank"},
		{"--rdzv-backend etcd x", "static or c10d"},
		{"--rdzv-backend c10d --nnodes 2 x", "needs --rdzv-endpoint"},
		{"--rdzv-conf speed=1 x", "join_timeout"},
		{"--tee 4 x", "streams"},
		{"--signals-to-handle SIGNAL x", "SIGTERM"},
	} {
		_, err := launched(t, strings.Fields(c.args)...)
		require.ErrorContains(t, err, c.says, c.args)
	}
}

// machine is an agent of a job of one or two.
type machine struct {
	clitest.Console
	stop  context.CancelFunc
	ended chan error
}

// starts starts an agent at a port. Each has three seconds to come to a round after the first.
func starts(t *testing.T, port, nodes string, program ...string) *machine {
	ctx, stop := context.WithCancel(t.Context())
	m := &machine{stop: stop, ended: make(chan error, 1)}
	flags := []string{
		"--nnodes", nodes, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:" + port, "--rdzv-conf", "last_call_timeout=3",
	}
	go func() { m.ended <- command(ctx, append(flags, program...), m) }()
	return m
}

func (m *machine) prints(t *testing.T, want string, times int) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Count(m.String(), want) >= times }, patience,
		20*time.Millisecond, want)
}

func TestMachinesComeAndGo(t *testing.T) {
	torchtest.NoLeaks(t)
	port, file := strconv.Itoa(clitest.FreePort(t)), filepath.Join(t.TempDir(), "done")
	// The ranks write the size of their world and wait for the file.
	waits := []string{"sh", "-c", "echo world $WORLD_SIZE; until [ -e " + file + " ]; do sleep 0.1; done"}
	first := starts(t, port, "1:2", waits...)
	first.prints(t, "world 1", 1)
	second := starts(t, port, "1:2", waits...)
	first.prints(t, "world 2", 1)
	second.prints(t, "world 2", 1)
	second.stop()
	require.ErrorIs(t, <-second.ended, context.Canceled)
	first.prints(t, "world 1", 2)
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	require.NoError(t, <-first.ended)
	first.stop()
}
