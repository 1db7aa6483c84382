package dist_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
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
	g, err := dist.InitProcessGroup(ctx, "gloo", dist.InitOptions{Timeout: 5 * time.Second})
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

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

const soon = 5 * time.Second // after the timeout; it is 2 where the machine has nothing else to do

func TestTimeout(t *testing.T) {
	torchtest.NoLeaks(t)
	const timeout = 500 * time.Millisecond
	ranks(t, 2, timeout, func(ctx context.Context, g *dist.Group) error {
		began := time.Now()
		if g.Rank() == 1 {
			time.Sleep(3 * timeout)
			return nil
		}
		err := g.AllReduce(torch.Ones(3)).Wait(ctx)
		assert.ErrorIs(t, err, dist.ErrTimeout)
		assert.ErrorIs(t, err, torch.ErrDist)
		assert.ErrorContains(t, err, "dist: all_reduce on rank 0 of 2")
		assert.Less(t, time.Since(began), timeout+soon)
		return nil
	})
}

func TestPeerGone(t *testing.T) {
	torchtest.NoLeaks(t)
	ranks(t, 3, time.Minute, func(ctx context.Context, g *dist.Group) error {
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
	ranks(t, 2, 2*time.Second, func(ctx context.Context, g *dist.Group) error {
		if g.Rank() == 1 {
			time.Sleep(time.Second)
			return nil
		}
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
	ranks(t, 2, time.Minute, func(ctx context.Context, g *dist.Group) error {
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
			{g.AllGather([]torch.Tensor{x}, x), "out must have a tensor for each of the 2 ranks, got 1"},
			{g.Gather([]torch.Tensor{x}, x, other), "alone: pass nil on the other ranks"},
			{g.Scatter(x, nil, g.Rank()), "the list must have a tensor for each of the 2 ranks, got 0"},
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

func TestSubgroups(t *testing.T) {
	torchtest.NoLeaks(t)
	ranks(t, 3, time.Minute, func(ctx context.Context, g *dist.Group) error {
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	timeout := 300 * time.Millisecond
	short, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	hash, err := dist.NewHashStore()
	require.NoError(t, err)
	defer hash.Close()
	for _, c := range []struct {
		name, text string
		fn         func() error
	}{
		{"port taken", "EADDRINUSE", func() error {
			_, err := dist.NewTCPStore(t.Context(), "127.0.0.1", taken, dist.TCPStoreOptions{Master: true, Timeout: timeout})
			return err
		}},
		{"no such host", "no-such-host.invalid", func() error {
			_, err := dist.NewTCPStore(t.Context(), "no-such-host.invalid", 29500, dist.TCPStoreOptions{Timeout: timeout})
			return err
		}},
		{"nobody serves", "tcp_store at 127.0.0.1:", func() error {
			_, err := dist.NewTCPStore(t.Context(), "127.0.0.1", freePort(t), dist.TCPStoreOptions{Timeout: timeout})
			return err
		}},
		{"context", "deadline", func() error {
			_, err := dist.NewTCPStore(short, "127.0.0.1", freePort(t), dist.TCPStoreOptions{Master: true, WorldSize: 2, Timeout: time.Second})
			return err
		}},
		{"key missing", "are not there after", func() error {
			s, err := dist.NewTCPStore(t.Context(), "127.0.0.1", 0, dist.TCPStoreOptions{Master: true, Timeout: timeout})
			if err != nil {
				return err
			}
			defer s.Close()
			_, err = s.Get(t.Context(), "missing")
			return err
		}},
		{"others missing", "init_process_group on rank 0 of 2", func() error {
			_, err := dist.InitProcessGroup(t.Context(), "gloo", dist.InitOptions{Store: hash, WorldSize: 2, Timeout: timeout})
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			require.ErrorContains(t, c.fn(), c.text)
			assert.Less(t, time.Since(began), timeout+soon)
		})
	}
	time.Sleep(time.Second) // the connection that ctx did not wait for
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
	port := freePort(t)
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
	port := freePort(t)
	victim, victims := start(t, "reduce", port, 0, 2)
	other, out := start(t, "reduce", port, 1, 2)
	require.True(t, victims.Scan())
	require.True(t, out.Scan())
	time.Sleep(100 * time.Millisecond)
	began := time.Now()
	require.NoError(t, victim.Process.Kill())
	require.True(t, out.Scan())
	assert.Contains(t, out.Text(), "dist: all_reduce on rank 1 of 2: ")
	assert.Less(t, time.Since(began), soon)
	assert.Error(t, other.Wait())
	assert.Error(t, victim.Wait())
}
