package dist_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/clitest"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// children are what this binary does as a rank of its own, by the value of DIST_CHILD.
var children = map[string]func(ctx context.Context, g *dist.Group) error{"disagree": disagree, "reduce": reduceForever}

func TestMain(m *testing.M) {
	if job := children[os.Getenv("DIST_CHILD")]; job != nil {
		if err := child(job); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	if err := firstBarrier(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	torchtest.Main(m)
}

// firstBarrier has libtorch make the one tensor that it keeps for all barriers: no test leaks it.
func firstBarrier() error {
	store, err := dist.NewHashStore()
	if err != nil {
		return err
	}
	defer store.Close()
	g, err := dist.InitProcessGroup(context.Background(), "gloo", dist.InitOptions{Store: store, WorldSize: 1})
	if err != nil {
		return err
	}
	defer g.Close()
	return g.Barrier().Wait(context.Background())
}

func child(job func(ctx context.Context, g *dist.Group) error) error {
	ctx := context.Background()
	g, err := dist.InitProcessGroup(ctx, "gloo", dist.InitOptions{Timeout: patience})
	if err != nil {
		return err
	}
	defer g.Close()
	return job(ctx, g)
}

// start runs a child as a rank, with the environment that torchrun sets.
func start(t *testing.T, job string, port, rank, size int) (*exec.Cmd, *bufio.Scanner) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DIST_CHILD="+job, "MASTER_ADDR=127.0.0.1", fmt.Sprint("MASTER_PORT=", port), fmt.Sprint("RANK=", rank),
		fmt.Sprint("WORLD_SIZE=", size))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, bufio.NewScanner(out)
}

const soon = 2 * time.Second // after the timeout

// until waits for the end of another rank's part, or of the test.
func until(ctx context.Context, over <-chan struct{}) {
	select {
	case <-over:
	case <-ctx.Done():
	}
}

func TestTimeout(t *testing.T) {
	torchtest.NoLeaks(t)
	const timeout = 2 * time.Second
	over := make(chan struct{})
	ranks(t, 2, timeout, func(ctx context.Context, g *dist.Group) error {
		if g.Rank() == 1 {
			until(ctx, over)
			return nil
		}
		defer close(over)
		watch := clitest.StartWatch(t)
		err := g.AllReduce(torch.Ones(3)).Wait(ctx)
		assert.Less(t, watch.Elapsed(), timeout+soon)
		assert.ErrorIs(t, err, dist.ErrTimeout)
		assert.ErrorIs(t, err, torch.ErrDist)
		assert.ErrorContains(t, err, "dist: all_reduce on rank 0 of 2: "+dist.ErrTimeout.Error()+": ")
		return nil
	})
}

// What a rank that is late does to the backward pass of another is told from other errors of that pass.
func TestTimeoutInBackward(t *testing.T) {
	torchtest.NoLeaks(t)
	over := make(chan struct{})
	ranks(t, 2, 10*time.Second, func(ctx context.Context, g *dist.Group) error {
		model := nn.NewLinear(2, 1)
		defer nn.Close(model)
		ddp, err := dist.NewDDP(g, model)
		if err != nil {
			return err
		}
		defer ddp.Close()
		if g.Rank() == 1 {
			until(ctx, over)
			return nil
		}
		defer close(over)
		err = torch.Try(func() { torch.Scope(func() { ddp.Forward(torch.Ones(3, 2)).Sum().Backward() }) })
		assert.ErrorIs(t, err, torch.ErrDist)
		return nil
	})
}

func TestPeerGone(t *testing.T) {
	torchtest.NoLeaks(t)
	ranks(t, 3, patience, func(ctx context.Context, g *dist.Group) error {
		if err := g.Barrier().Wait(ctx); err != nil {
			return err
		}
		if g.Rank() == 1 {
			return nil
		}
		for i, w := range []*dist.Work{g.Recv(torch.Ones(3), 1), g.Broadcast(torch.Ones(3), 1)} {
			var failed *dist.Error
			assert.ErrorAs(t, w.Wait(ctx), &failed)
			assert.Equal(t, []int{1, -1}[i], failed.Peer, failed)
			assert.NotErrorIs(t, failed, dist.ErrTimeout)
		}
		return nil
	})
}

func TestContext(t *testing.T) {
	torchtest.NoLeaks(t)
	over := make(chan struct{})
	ranks(t, 2, 5*time.Second, func(ctx context.Context, g *dist.Group) error {
		if g.Rank() == 1 {
			until(ctx, over)
			return nil
		}
		defer close(over)
		for _, w := range []*dist.Work{g.AllReduce(torch.Ones(3)), g.Recv(torch.Ones(3), 1)} {
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			err := w.Wait(short)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.False(t, errors.Is(err, dist.ErrTimeout))
			cancel()
		}
		return nil
	})
}

func TestRefused(t *testing.T) {
	torchtest.NoLeaks(t)
	ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
		x := torch.Ones(4)
		other := 1 - g.Rank()
		for i, c := range []struct {
			work *dist.Work
			text string
		}{
			{g.Broadcast(x, 2), "the source must be a rank from 0 to 1, got 2"},
			{g.Reduce(x, -1), "the destination must be a rank from 0 to 1, got -1"},
			{g.Send(x, g.Rank()), "must be another rank"},
			{g.Recv(x, 7), "got 7"},
			{g.AllGather([]torch.Tensor{x}, x), "out must have one for each of the 2 ranks, got 1"},
			{g.Gather([]torch.Tensor{x}, x, other), "alone: pass nil on the other ranks"},
			{g.Scatter(x, nil, g.Rank()), "the list must have one for each of the 2 ranks, got 0"},
			{g.AllReduce(x.Expand(3, 4)), "without gaps, overlaps"},
			{g.AllReduce(torch.Ones(4, 4).Narrow(1, 0, 2)), "pass its Contiguous() copy"},
			{g.AllReduce(torch.Tensor{}), "undefined"},
			{g.AllReduceCoalesced(nil), ""},
			{g.AllReduce(torch.Ones(2).To(torch.Complex64), dist.ReduceOptions{Op: dist.Max}), "complex numbers"},
			{g.AllGather([]torch.Tensor{x, x.Narrow(0, 0, 2)}, x), "size"},
			{g.AllGatherIntoTensor(x, x), ""},
			{g.AllToAllSingle(x, x, dist.AllToAllOptions{InputSplits: []int{9, 9}, OutputSplits: []int{2, 2}}), "plit"},
			{g.AllToAll([]torch.Tensor{x, x}, []torch.Tensor{x, x}), "does not support alltoall"},
		} {
			assert.ErrorContains(t, c.work.Wait(ctx), c.text, "case %d", i)
			assert.True(t, c.work.Done())
		}
		return g.Barrier().Wait(ctx)
	})
}

// What all ranks refuse leaves the group as it was: gloo would tell later barriers of what its threads find wrong.
func TestRefusedByAll(t *testing.T) {
	torchtest.NoLeaks(t)
	kinds := []torch.DType{torch.Float32, torch.Float64, torch.Float16, torch.BFloat16, torch.Float8E4M3FN, torch.Float8E5M2, torch.Int8,
		torch.Uint8, torch.Int16, torch.Uint16, torch.Int32, torch.Uint32, torch.Int64, torch.Uint64, torch.Bool, torch.Complex64,
		torch.Complex128, torch.Complex32}
	var refused atomic.Int64
	ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
		for _, what := range []string{"all_reduce", "all_reduce_coalesced", "reduce", "broadcast", "all_gather", "all_gather_into_tensor",
			"gather", "scatter", "reduce_scatter", "reduce_scatter_tensor", "all_to_all_single", "send"} {
			for _, d := range kinds {
				for _, op := range slices.Sorted(maps.Keys(reductions)) {
					if op != "SUM" && !strings.Contains(what, "reduce") {
						continue
					}
					name := fmt.Sprintf("%s|%s|%v", what, op, d)
					var err error
					if wrong := torch.Try(func() { _, err = run(ctx, g, what, op, torch.Ones(4, 3).To(d)) }); wrong != nil {
						continue // there is no such tensor to exchange
					}
					if err != nil {
						refused.Add(1)
						assert.NoError(t, g.Barrier().Wait(ctx), "after %s: %v", name, err)
					}
				}
			}
		}
		return g.Barrier().Wait(ctx)
	})
	t.Logf("%d operations were refused", refused.Load()/2)
	assert.Greater(t, refused.Load(), int64(100))
}

func TestSubgroups(t *testing.T) {
	torchtest.NoLeaks(t)
	ranks(t, 3, patience, func(ctx context.Context, g *dist.Group) error {
		some, err := g.NewGroup(ctx, 2, 0)
		if err != nil {
			return err
		}
		defer some.Close()
		x := torch.FromValue(float64(g.Rank()) + 1)
		err = some.AllReduce(x).Wait(ctx)
		if g.Rank() == 1 {
			assert.Equal(t, -1, some.Rank())
			assert.ErrorContains(t, err, "not among the group's members, which are the ranks [0 2]")
			return nil
		}
		assert.NoError(t, err)
		assert.Equal(t, 4.0, x.Float64())
		assert.Equal(t, g.Rank()/2, some.Rank())
		_, err = g.NewGroup(ctx, 0, 0)
		assert.ErrorContains(t, err, "different numbers from 0 to 2")
		return nil
	})
}

func TestRendezvousFails(t *testing.T) {
	torchtest.NoLeaks(t)
	running := runtime.NumGoroutine()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	hash, err := dist.NewHashStore()
	require.NoError(t, err)
	defer hash.Close()
	const brief = 300 * time.Millisecond
	tcp := func(ctx context.Context, host string, port int, opts dist.TCPStoreOptions) error {
		s, err := dist.NewTCPStore(ctx, host, port, opts)
		if err != nil {
			return err
		}
		defer s.Close()
		_, err = s.Get(ctx, "missing")
		return err
	}
	for _, c := range []struct {
		name, text string
		timeout    time.Duration
		fn         func(ctx context.Context, timeout time.Duration) error
	}{
		{"port taken", "EADDRINUSE", brief, func(ctx context.Context, timeout time.Duration) error {
			return tcp(ctx, "127.0.0.1", taken, dist.TCPStoreOptions{Master: true, Timeout: timeout})
		}},
		{"no such host", "no-such-host.invalid", brief, func(ctx context.Context, timeout time.Duration) error {
			return tcp(ctx, "no-such-host.invalid", 29500, dist.TCPStoreOptions{Timeout: timeout})
		}},
		{"nobody serves", "tcp_store at 127.0.0.1:", brief, func(ctx context.Context, timeout time.Duration) error {
			return tcp(ctx, "127.0.0.1", clitest.FreePort(t), dist.TCPStoreOptions{Timeout: timeout})
		}},
		{"context", "deadline", brief, func(ctx context.Context, timeout time.Duration) error {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			return tcp(ctx, "127.0.0.1", clitest.FreePort(t), dist.TCPStoreOptions{Master: true, WorldSize: 2, Timeout: 3 * time.Second})
		}},
		{"key missing", "are not there after", 2 * time.Second, func(ctx context.Context, timeout time.Duration) error {
			return tcp(ctx, "127.0.0.1", 0, dist.TCPStoreOptions{Master: true, Timeout: timeout})
		}},
		{"others missing", "init_process_group on rank 0 of 2", brief, func(ctx context.Context, timeout time.Duration) error {
			_, err := dist.InitProcessGroup(ctx, "gloo", dist.InitOptions{Store: hash, WorldSize: 2, Timeout: timeout})
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			watch := clitest.StartWatch(t)
			require.ErrorContains(t, c.fn(t.Context(), c.timeout), c.text)
			assert.Less(t, watch.Elapsed(), c.timeout+soon)
		})
	}
	for began := time.Now(); runtime.NumGoroutine() > running; time.Sleep(10 * time.Millisecond) {
		require.Less(t, time.Since(began), patience, "the connection that ctx did not wait for")
	}
}

func TestMisused(t *testing.T) {
	torchtest.NoLeaks(t)
	hash, err := dist.NewHashStore()
	require.NoError(t, err)
	defer hash.Close()
	for text, o := range map[string]dist.InitOptions{
		"RANK is not set":           {},
		"got rank 2 of 2":           {Store: hash, Rank: 2, WorldSize: 2},
		"needs Rank and WorldSize":  {Store: hash},
		"has no port":               {InitMethod: "tcp://localhost", WorldSize: 1},
		"is none of env://, tcp://": {InitMethod: "http://localhost", WorldSize: 1},
	} {
		_, err := dist.InitProcessGroup(t.Context(), "gloo", o)
		require.ErrorContains(t, err, text)
	}
	_, err = dist.InitProcessGroup(t.Context(), "mpi")
	require.ErrorContains(t, err, `no backend "mpi"`)
	_, err = dist.NewTCPStore(t.Context(), "localhost", 1<<16)
	require.ErrorContains(t, err, "from 0 to 65535")
}

func TestStore(t *testing.T) {
	torchtest.NoLeaks(t)
	ctx := t.Context()
	tcp, err := dist.NewTCPStore(ctx, "127.0.0.1", 0, dist.TCPStoreOptions{Master: true})
	require.NoError(t, err)
	file, err := dist.NewFileStore(t.TempDir()+"/store", 1)
	require.NoError(t, err)
	hash, err := dist.NewHashStore()
	require.NoError(t, err)
	part, err := dist.NewPrefixStore("part", tcp)
	require.NoError(t, err)
	assert.Positive(t, tcp.Port())
	for _, s := range []*dist.Store{tcp, file, hash, part} {
		require.NoError(t, s.Set("a", []byte("\x00b")))
		value, err := s.Get(ctx, "a")
		require.NoError(t, err)
		assert.Equal(t, "\x00b", string(value))
		n, err := s.Add("n", 5)
		require.NoError(t, err)
		assert.Equal(t, 5, n)
		there, err := s.Check("a", "n")
		require.NoError(t, err)
		assert.True(t, there)
		value, err = s.CompareSet("c", nil, []byte("new"))
		require.NoError(t, err)
		assert.Equal(t, "new", string(value))
		gone, err := s.DeleteKey("a")
		require.NoError(t, err)
		assert.True(t, gone)
		_, err = s.NumKeys()
		require.NoError(t, err)
	}
	for _, s := range []*dist.Store{tcp, file, hash, part} {
		s.Close()
		assert.ErrorIs(t, s.Set("a", nil), torch.ErrDist)
	}
}

// disagree is a rank whose tensor has another size than the other's.
func disagree(ctx context.Context, g *dist.Group) error {
	err := g.AllReduce(torch.Ones(3 + 3000*g.Rank())).Wait(ctx)
	if err == nil {
		return errors.New("nothing noticed that the ranks have tensors of different sizes")
	}
	fmt.Println(err)
	fmt.Println(g.AllReduce(torch.Ones(3)).Wait(ctx))
	return nil
}

// reduceForever says ready and reduces until something fails.
func reduceForever(ctx context.Context, g *dist.Group) error {
	fmt.Println("ready")
	for {
		if err := g.AllReduce(torch.Ones(1 << 16)).Wait(ctx); err != nil {
			return err
		}
	}
}

func TestRanksDisagree(t *testing.T) {
	port := clitest.FreePort(t)
	var texts []string
	for rank := range 2 {
		cmd, out := start(t, "disagree", port, rank, 2)
		defer func() { assert.NoError(t, cmd.Wait(), texts) }()
		defer func() {
			for out.Scan() {
				texts = append(texts, out.Text())
			}
		}()
	}
	t.Cleanup(func() {
		assert.Contains(t, strings.Join(texts, "\n"), "ranks disagree about the size of what they exchange")
	})
}

func TestKilled(t *testing.T) {
	port := clitest.FreePort(t)
	victim, victims := start(t, "reduce", port, 0, 2)
	other, out := start(t, "reduce", port, 1, 2)
	require.True(t, victims.Scan())
	require.True(t, out.Scan())
	time.Sleep(100 * time.Millisecond)
	watch := clitest.StartWatch(t)
	require.NoError(t, victim.Process.Kill())
	require.True(t, out.Scan())
	assert.Less(t, watch.Elapsed(), soon)
	assert.Contains(t, out.Text(), "dist: all_reduce on rank 1 of 2: ")
	assert.Error(t, other.Wait())
	assert.Error(t, victim.Wait())
}

// A rank that has nothing to do does not break those that are not yet connected.
func TestLeavesAtOnce(t *testing.T) {
	torchtest.NoLeaks(t)
	for range 20 {
		ranks(t, 6, patience, func(context.Context, *dist.Group) error { return nil })
	}
}
