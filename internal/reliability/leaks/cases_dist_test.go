package leaks

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
)

// alone runs fn on the one rank of a group.
func alone(fn func(g *dist.Group)) {
	store := must(dist.NewHashStore())
	defer store.Close()
	g := must(dist.InitProcessGroup(context.Background(), "gloo", dist.InitOptions{Store: store, WorldSize: 1, Timeout: time.Minute}))
	defer g.Close()
	torch.Scope(func() { fn(g) })
}

// twoRanks are two ranks of this process, made once.
var twoRanks = sync.OnceValue(func() (list [2]*dist.Group) {
	store := must(dist.NewHashStore())
	defer store.Close()
	var all sync.WaitGroup
	for rank := range list {
		all.Go(func() {
			list[rank] = must(dist.InitProcessGroup(context.Background(), "gloo",
				dist.InitOptions{Store: store, Rank: rank, WorldSize: 2, Timeout: time.Minute}))
		})
	}
	all.Wait()
	return list
})

var distCases = cases{
	"collectives": func() {
		ctx := context.Background()
		alone(func(g *dist.Group) {
			x, list := random(2, 3), []torch.Tensor{random(2, 3)}
			check(dist.WaitAll(ctx, g.AllReduce(x), g.AllReduceCoalesced(list), g.Reduce(x, 0), g.Broadcast(x, 0), g.AllGather(list, x),
				g.AllGatherIntoTensor(random(2, 3), x), g.Gather(list, x, 0), g.Scatter(x, list, 0), g.ReduceScatter(x, list),
				g.ReduceScatterTensor(random(2, 3), x), g.AllToAllSingle(random(2, 3), x), g.Barrier()))
			err := g.AllToAll(list, list).Wait(ctx) // gloo has none
			var failed *dist.Error
			if !errors.As(err, &failed) || !failed.Is(torch.ErrDist) || failed.Error() == "" || failed.Unwrap() == nil {
				panic(err)
			}
			check(g.MonitoredBarrier(ctx, true))
			_ = must(dist.BroadcastObject(ctx, g, g.Rank(), 0))
			_ = must(dist.AllGatherObject(ctx, g, g.String()))
			part := must(g.NewGroup(ctx, 0))
			defer part.Close()
			_, _, _, _, _, _ = g.Size(), g.Ranks(), g.Backend(), g.Timeout(), part.Rank(), dist.Max.String()
			g.Abort()
		})
	},
	"from one rank to another": func() {
		ctx, g := context.Background(), twoRanks()
		x := random(2)
		received, any := g[1].Recv(random(2), 0), g[0].RecvAny(random(2))
		check(dist.WaitAll(ctx, g[0].Send(x, 1), received, g[1].Send(x, 0), any))
		_, _ = must(any.Source()), received.Done()
	},
	"stores": func() {
		ctx := context.Background()
		dir := must(os.MkdirTemp("", "store"))
		defer os.RemoveAll(dir)
		tcp := must(dist.NewTCPStore(ctx, "127.0.0.1", 0, dist.TCPStoreOptions{Master: true}))
		other := must(dist.NewTCPStore(ctx, "127.0.0.1", tcp.Port()))
		defer other.Close()
		part := must(dist.NewPrefixStore("part", tcp))
		for _, s := range []*dist.Store{tcp, must(dist.NewFileStore(filepath.Join(dir, "store"), 1)), part} {
			check(s.Set("a", []byte("b")))
			_, _ = must(s.Get(ctx, "a")), must(s.Add("n", 1))
			_, _, _ = must(s.CompareSet("c", nil, []byte("d"))), must(s.Check("a")), must(s.NumKeys())
			_ = must(s.DeleteKey("a"))
			check(s.Wait(ctx, "c"))
			s.Close()
		}
	},
	"an environment": func() {
		l := must(net.Listen("tcp", "127.0.0.1:0"))
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		for name, value := range map[string]string{"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": strconv.Itoa(port)} {
			check(os.Setenv(name, value))
			defer os.Unsetenv(name)
		}
		_ = must(dist.Env())
		must(dist.InitProcessGroup(context.Background(), "gloo")).Close()
	},
	"a model of all ranks": func() {
		alone(func(g *dist.Group) {
			m := nn.NewLinear(3, 2)
			defer nn.Close(m)
			for i := range 3 {
				d := must(dist.NewDDP(g, m, dist.DDPOptions{StaticGraph: i == 1}))
				switch i {
				case 1:
					d.Compress(torch.BFloat16)
				case 2:
					d.RegisterCommHook(func(b dist.GradBucket) torch.Tensor { return b.Buffer })
				}
				d.NoSync(func() { d.Forward(random(2, 3)).Sum().Backward() })
				d.Call(func(m *nn.Linear) []torch.Tensor { return []torch.Tensor{m.Forward(random(2, 3))} })[0].Sum().Backward()
				_ = d.Stats()
				d.Close()
				nn.ZeroGrad(m)
			}
		})
	},
}
