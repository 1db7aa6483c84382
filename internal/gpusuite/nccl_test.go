package gpusuite

import (
	"context"
	"errors"
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// ncclCases are what each rank does on its card, on however many ranks.
var ncclCases = []struct {
	name string
	fn   func(ctx context.Context, g *dist.Group) error
}{
	{"collectives", collectives},
	{"both kinds of devices", bothDevices},
	{"refused", refusedOnCards},
	{"streams", streams},
	{"sends", sends},
	{"objects", objects},
	{"sub-groups", subGroups},
	{"DDP", ddpOnCards},
	{"ZeRO", zeroOnCards},
	{"join", joinOnCards},
}

// same says where a tensor is not what was expected, to the bit.
func same(what string, got, want torch.Tensor) error {
	if got.Equal(want) {
		return nil
	}
	return fmt.Errorf("%s: got %v, expected %v", what, got, want)
}

func cardOf(g *dist.Group) torch.TensorOptions {
	return torch.TensorOptions{Device: torch.CUDA(g.Rank())}
}

// numbers are 0, 1, … plus the rank, in a dtype that can hold the sums of all ranks.
func numbers(g *dist.Group, rank int, d torch.DType) torch.Tensor {
	return torch.Arange(4 * g.Size()).AddScalar(rank).To(d).To(torch.CUDA(g.Rank()))
}

func collectives(ctx context.Context, g *dist.Group) error {
	var failed []error
	for _, d := range []torch.DType{torch.Float32, torch.Float64, torch.Float16, torch.BFloat16, torch.Int32, torch.Int64, torch.Uint8,
		torch.Complex64} {
		x := func() torch.Tensor { return numbers(g, g.Rank(), d) }
		var all []torch.Tensor
		sum := torch.ZerosLike(x())
		for rank := range g.Size() {
			all = append(all, numbers(g, rank, d))
			sum.AddInPlace(all[rank])
		}
		last := g.Size() - 1
		var out, parts []torch.Tensor
		for i := range g.Size() {
			out, parts = append(out, torch.ZerosLike(x())), append(parts, x().Narrow(0, 4*i, 4))
		}
		own := sum.Narrow(0, 4*g.Rank(), 4)
		check := func(what string, work *dist.Work, got, want torch.Tensor) {
			err := work.Wait(ctx)
			failed = append(failed, err)
			if err == nil {
				failed = append(failed, same(fmt.Sprintf("%s of %v", what, d), got, want))
			}
		}
		t := x()
		check("all_reduce", g.AllReduce(t), t, sum)
		b := x()
		check("broadcast", g.Broadcast(b, last), b, all[last])
		check("all_gather", g.AllGather(out, x()), torch.Cat(out, 0), torch.Cat(all, 0))
		whole := torch.Cat(out, 0).ZeroInPlace()
		check("all_gather_into_tensor", g.AllGatherIntoTensor(whole, x()), whole, torch.Cat(all, 0))
		part := torch.ZerosLike(own)
		check("reduce_scatter_tensor", g.ReduceScatterTensor(part, x()), part, own)
		part = torch.ZerosLike(own)
		check("reduce_scatter", g.ReduceScatter(part, parts), part, own)
		turned, want := torch.ZerosLike(x()), []torch.Tensor{}
		for _, a := range all {
			want = append(want, a.Narrow(0, 4*g.Rank(), 4))
		}
		if d != torch.Complex64 {
			check("all_to_all_single", g.AllToAllSingle(turned, x()), turned, torch.Cat(want, 0))
		}
		if g.Rank() == last {
			r := x()
			check("reduce", g.Reduce(r, last), r, sum)
			check("gather", g.Gather(out, x(), last), torch.Cat(out, 0), torch.Cat(all, 0))
		} else {
			failed = append(failed, g.Reduce(x(), last).Wait(ctx), g.Gather(nil, x(), last).Wait(ctx))
		}
	}
	return errors.Join(append(failed, g.Barrier().Wait(ctx))...)
}

func bothDevices(ctx context.Context, g *dist.Group) error {
	here, there := torch.Ones(3), cardOf(g).Ones(3)
	err := errors.Join(g.AllReduce(here).Wait(ctx), g.AllReduce(there).Wait(ctx), g.MonitoredBarrier(ctx, true))
	return errors.Join(err, same("on the card", there.To(torch.CPU), here))
}

func refusedOnCards(ctx context.Context, g *dist.Group) error {
	x := cardOf(g).Ones(4)
	for what, work := range map[string]*dist.Work{
		"bits":         g.AllReduce(x, dist.ReduceOptions{Op: dist.BAnd}),
		"any source":   g.RecvAny(x),
		"sizes":        g.AllGatherIntoTensor(x, cardOf(g).Ones(5)),
		"nothing sent": g.Batch(),
	} {
		if err := work.Wait(ctx); !errors.Is(err, torch.ErrDist) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return g.Barrier().Wait(ctx)
}

// streams: what a stream computes after Wait sees the result, and what was computed on it before is in it. A barrier's Wait waits.
func streams(ctx context.Context, g *dist.Group) (err error) {
	side := cuda.NewStream(g.Rank())
	cuda.WithStream(side, func() {
		slow := cardOf(g).Ones(2048, 2048)
		for range 20 {
			slow = slow.MatMul(slow).MulScalar(1. / 2048)
		}
		work := g.AllReduce(slow)
		err = work.Wait(ctx)
		total := slow.Sum()
		if b := g.Barrier().Wait(ctx); err == nil {
			err = b
		}
		if err == nil && !work.Done() {
			err = errors.New("the barrier did not wait")
		}
		if want := float64(g.Size()) * 2048 * 2048; err == nil && total.Float64() != want {
			err = fmt.Errorf("the stream did not wait: %v, expected %v", total, want)
		}
	})
	return err
}

func sends(ctx context.Context, g *dist.Group) error {
	if g.Size() == 1 {
		return nil // to whom
	}
	next, before := (g.Rank()+1)%g.Size(), (g.Rank()+g.Size()-1)%g.Size()
	x, y := numbers(g, g.Rank(), torch.Float32), numbers(g, 0, torch.Float32).ZeroInPlace()
	err := g.Batch(dist.P2POp{Send: x, Peer: next}, dist.P2POp{Recv: y, Peer: before}).Wait(ctx)
	return errors.Join(err, same("a ring", y, numbers(g, before, torch.Float32)))
}

// objects travel on the card where there is no gloo.
func objects(ctx context.Context, g *dist.Group) error {
	store, err := dist.NewHashStore()
	if err != nil {
		return err
	}
	defer store.Close()
	alone, err := dist.InitProcessGroup(ctx, "nccl", dist.InitOptions{Store: store, WorldSize: 1})
	if err != nil {
		return err
	}
	defer alone.Close()
	for _, each := range []*dist.Group{alone, g} {
		if err := objectsIn(ctx, each); err != nil {
			return fmt.Errorf("%v: %w", each, err)
		}
	}
	return nil
}

func objectsIn(ctx context.Context, g *dist.Group) error {
	own := fmt.Sprint("rank ", g.Rank())
	all, err := dist.AllGatherObject(ctx, g, own)
	if err != nil || len(all) != g.Size() || all[g.Rank()] != own {
		return fmt.Errorf("%q: %w", all, err)
	}
	var list []string
	if g.Rank() == 0 {
		list = all
	}
	got, err := dist.ScatterObject(ctx, g, list, 0)
	if err != nil || got != own {
		return fmt.Errorf("%q: %w", got, err)
	}
	return nil
}

func subGroups(ctx context.Context, g *dist.Group) error {
	some, err := g.NewGroup(ctx, 0)
	if err != nil {
		return err
	}
	defer some.Close()
	x := cardOf(g).Ones(3)
	if err := some.AllReduce(x).Wait(ctx); (err == nil) != (g.Rank() == 0) {
		return fmt.Errorf("rank %d in a group of rank 0: %w", g.Rank(), err)
	}
	return same("a group of one", x, cardOf(g).Ones(3))
}

// learn trains a small network on the card, and returns its parameters. wrap gives the ranks' network and optimizer.
func learn(g *dist.Group, whole bool, wrap func(net nn.Sequential) (nn.Layer, optim.Optimizer, error)) ([]torch.Tensor, error) {
	card := torch.CUDA(g.Rank())
	torch.ManualSeed(5)
	net := nn.NewSequential(nn.NewLinear(16, 32), nn.ReLU{}, nn.NewLinear(32, 10))
	nn.To(net, card)
	model, opt, err := wrap(net)
	if err != nil {
		return nil, err
	}
	for range 20 {
		x, y := torch.RandN(8*g.Size(), 16).To(card), torch.RandIntN(10, 8*g.Size()).To(card)
		if !whole {
			x, y = x.Narrow(0, 8*g.Rank(), 8), y.Narrow(0, 8*g.Rank(), 8)
		}
		opt.ZeroGrad()
		F.CrossEntropy(model.Forward(x), y).Backward()
		opt.Step()
	}
	return nn.Parameters(net), nil
}

func sgd(params []torch.Tensor) optim.Optimizer {
	return optim.NewSGD(params, 0.1, optim.SGDOptions{Momentum: 0.9})
}

// wrapped is a network in DDP, with what is done to it before it is trained.
func wrapped(g *dist.Group, before func(*dist.DDP[nn.Sequential])) func(net nn.Sequential) (nn.Layer, optim.Optimizer, error) {
	return func(net nn.Sequential) (nn.Layer, optim.Optimizer, error) {
		ddp, err := dist.NewDDP(g, net, dist.DDPOptions{BucketCapMB: 0.001})
		if err != nil {
			return nil, nil, err
		}
		before(ddp)
		return ddp, sgd(nn.Parameters(net)), nil
	}
}

func ddpOnCards(ctx context.Context, g *dist.Group) error {
	alone, err := learn(g, true, func(net nn.Sequential) (nn.Layer, optim.Optimizer, error) { return net, sgd(nn.Parameters(net)), nil })
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name   string
		within float64
		before func(*dist.DDP[nn.Sequential])
	}{
		{"plain", 1e-5, func(*dist.DDP[nn.Sequential]) {}},
		{"bfloat16", 1e-1, func(d *dist.DDP[nn.Sequential]) { d.Compress(torch.BFloat16) }},
		{"a hook of Go's", 1e-5, func(d *dist.DDP[nn.Sequential]) {
			d.RegisterCommHook(func(b dist.GradBucket) torch.Tensor {
				b.Buffer.DivScalarInPlace(float64(g.Size()))
				if err := g.AllReduce(b.Buffer).Wait(ctx); err != nil {
					panic(err)
				}
				return b.Buffer
			})
		}},
	} {
		got, err := learn(g, false, wrapped(g, c.before))
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		for i, p := range got {
			if far := p.Sub(alone[i]).Abs().Max().Float64(); !(far <= c.within) {
				return fmt.Errorf("%s: a parameter is %v away from that of one process on the joined batch", c.name, far)
			}
			first := p.Clone()
			if err := g.Broadcast(first, 0).Wait(ctx); err != nil {
				return err
			}
			if err := same(c.name+": a parameter beside rank 0's", p, first); err != nil {
				return err
			}
		}
	}
	return nil
}

func zeroOnCards(ctx context.Context, g *dist.Group) error {
	want, err := learn(g, false, wrapped(g, func(*dist.DDP[nn.Sequential]) {}))
	if err != nil {
		return err
	}
	got, err := learn(g, false, func(net nn.Sequential) (nn.Layer, optim.Optimizer, error) {
		ddp, err := dist.NewDDP(g, net, dist.DDPOptions{BucketCapMB: 0.001})
		if err != nil {
			return nil, nil, err
		}
		zero, err := dist.NewZeRO(g, sgd(nn.Parameters(net)))
		return ddp, zero, err
	})
	if err != nil {
		return err
	}
	for i := range got {
		if err := same("a parameter beside that without ZeRO", got[i], want[i]); err != nil {
			return err
		}
	}
	return nil
}

// joinOnCards: each rank has one batch more than the one before.
func joinOnCards(ctx context.Context, g *dist.Group) error {
	net := nn.NewLinear(4, 4)
	nn.To(net, torch.CUDA(g.Rank()))
	ddp, err := dist.NewDDP(g, net)
	if err != nil {
		return err
	}
	defer ddp.Close()
	opt := sgd(nn.Parameters(net))
	err = ddp.Join(func() error {
		for range 2 + g.Rank() {
			opt.ZeroGrad()
			ddp.Forward(cardOf(g).Ones(2, 4)).Sum().Backward()
			opt.Step()
		}
		return nil
	})
	first := net.Weight.Detach().Clone()
	return errors.Join(err, g.Broadcast(first, 0).Wait(ctx), same("a weight beside rank 0's", net.Weight, first))
}
