package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// console is what ranks write to, several at once.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

// lines are what was written, sorted: ranks are not in order.
func (c *console) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(strings.Lines(c.text.String()))
}

// launched runs the command to its end.
func launched(t *testing.T, args ...string) ([]string, error) {
	t.Helper()
	var out console
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := command(ctx, args, &out)
	return out.lines(), err
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
		"one fails":     {script: "[ $RANK = 0 ] || exit 3; sleep 30", fails: `rank 1 \(local rank 1, pid \d+\) failed: exit status 3`},
		"one is killed": {script: "[ $RANK = 1 ] || kill -9 $$; sleep 30", fails: `rank 0 .* failed: signal: killed`},
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
			program := []string{"sh", "-c", c.script}
			if c.script == "-" {
				program = []string{filepath.Join(logs, "nothing")}
			}
			began := time.Now()
			got, err := launched(t, slices.Concat([]string{"--standalone", "--nproc-per-node", "2", "--log-dir", logs}, c.flags, program)...)
			require.Less(t, time.Since(began), 20*time.Second)
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
	console
	stop  context.CancelFunc
	ended chan error
}

// starts starts an agent at a port.
func starts(t *testing.T, port, nodes string, program ...string) *machine {
	ctx, stop := context.WithCancel(t.Context())
	m := &machine{stop: stop, ended: make(chan error, 1)}
	flags := []string{
		"--nnodes", nodes, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:" + port, "--rdzv-conf", "last_call_timeout=0.5",
	}
	go func() { m.ended <- command(ctx, append(flags, program...), m) }()
	return m
}

// freePort is one that nobody listens at.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

func (m *machine) prints(t *testing.T, want string, times int) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Count(strings.Join(m.lines(), ""), want) >= times }, 30*time.Second,
		20*time.Millisecond, want)
}

func TestMachinesComeAndGo(t *testing.T) {
	torchtest.NoLeaks(t)
	port, file := freePort(t), filepath.Join(t.TempDir(), "done")
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
