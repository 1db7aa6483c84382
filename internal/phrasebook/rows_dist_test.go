package phrasebook

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// group is what the phrases about many processes have: one process.
var group *dist.Group

// alone is a store for a group of this process, and leaves the group before.
func alone() *dist.Store {
	leave()
	store, err := dist.NewHashStore()
	if err != nil {
		panic(err)
	}
	return store
}

func leave() {
	if group != nil {
		group.Close()
		group = nil
	}
}

var processes = chapter{
	title: "Many processes",
	before: `if dist.is_initialized():
    dist.destroy_process_group()
`,
	python: `dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
x = torch.randn(4, 3)
linear = nn.Linear(3, 1)`,
	setup: func() {
		store := alone()
		defer store.Close()
		group, _ = dist.InitProcessGroup(ctx, "gloo", dist.InitOptions{Store: store, Rank: 0, WorldSize: 1})
		x = torch.RandN(4, 3)
		linear = nn.NewLinear(3, 1)
	},
	phrases: []phrase{
		{"dist.get_rank(), dist.get_world_size()", func() any { return all(group.Rank(), group.Size()) }},
		{"dist.all_reduce(x)" + hidden + "x", func() any {
			if err := group.AllReduce(x).Wait(ctx); err != nil {
				return err
			}
			return x
		}},
		{"dist.all_reduce(x, op=dist.ReduceOp.MAX)" + hidden + "x", func() any {
			if err := group.AllReduce(x, dist.ReduceOptions{Op: dist.Max}).Wait(ctx); err != nil {
				return err
			}
			return x
		}},
		{`work = dist.all_reduce(x, async_op=True)
work.wait()` + hidden + "x", func() any {
			work := group.AllReduce(x)
			if err := work.Wait(ctx); err != nil {
				return err
			}
			return x
		}},
		{"dist.broadcast(x, src=0)" + hidden + "x", func() any {
			if err := group.Broadcast(x, 0).Wait(ctx); err != nil {
				return err
			}
			return x
		}},
		{`out = [torch.empty_like(x)]
dist.all_gather(out, x)` + hidden + "out", func() any {
			out := []torch.Tensor{torch.EmptyLike(x)}
			if err := group.AllGather(out, x).Wait(ctx); err != nil {
				return err
			}
			return out
		}},
		{`out = torch.empty(4, 3)
dist.all_gather_into_tensor(out, x)` + hidden + "out", func() any {
			out := torch.Empty(4, 3)
			if err := group.AllGatherIntoTensor(out, x).Wait(ctx); err != nil {
				return err
			}
			return out
		}},
		{`out = torch.empty(4, 3)
dist.reduce_scatter_tensor(out, x)` + hidden + "out", func() any {
			out := torch.Empty(4, 3)
			if err := group.ReduceScatterTensor(out, x).Wait(ctx); err != nil {
				return err
			}
			return out
		}},
		{`out = torch.empty(4, 3)
dist.all_to_all_single(out, x)` + hidden + "out", func() any {
			out := torch.Empty(4, 3)
			if err := group.AllToAllSingle(out, x).Wait(ctx); err != nil {
				return err
			}
			return out
		}},
		{`objects = [None]
dist.all_gather_object(objects, {"rank": 0})` + hidden + "objects", func() any {
			objects, err := dist.AllGatherObject(ctx, group, map[string]int{"rank": 0})
			if err != nil {
				return err
			}
			return objects
		}},
		{`objects = [None]
dist.scatter_object_list(objects, [{"rank": 0}])` + hidden + "objects[0]", func() any {
			object, err := dist.ScatterObject(ctx, group, []map[string]int{{"rank": 0}}, 0)
			if err != nil {
				return err
			}
			return object
		}},
		{"dist.barrier()" + hidden + "x", func() any {
			if err := group.Barrier().Wait(ctx); err != nil {
				return err
			}
			return x
		}},
		{`mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
dist.all_reduce(x, group=mesh.get_group("dp"))
mesh.get_coordinate(), mesh.get_local_rank("tp"), mesh["tp"].shape`, func() any {
			mesh, err := dist.InitDeviceMesh(ctx, group, []int{1, 1}, "dp", "tp")
			if err != nil {
				return err
			}
			defer mesh.Close()
			if err := mesh.Group("dp").AllReduce(x).Wait(ctx); err != nil {
				return err
			}
			return all(mesh.Coordinate(), mesh.LocalRank("tp"), mesh.Sub("tp").Shape())
		}},
		{`some = dist.new_group([0])
dist.all_reduce(x, group=some)` + hidden + "x", func() any {
			some, err := group.NewGroup(ctx, 0)
			if err != nil {
				return err
			}
			defer some.Close()
			if err := some.AllReduce(x).Wait(ctx); err != nil {
				return err
			}
			return x
		}},
		{`ddp = DistributedDataParallel(linear)
ddp(x).sum().backward()` + hidden + "linear.weight.grad", func() any {
			ddp, err := dist.NewDDP(group, linear)
			if err != nil {
				return err
			}
			defer ddp.Close()
			ddp.Forward(x).Sum().Backward()
			return linear.Weight.Grad()
		}},
		{`ddp = DistributedDataParallel(linear, bucket_cap_mb=50, find_unused_parameters=True, gradient_as_bucket_view=True)
ddp(x).sum().backward()` + hidden + "linear.weight.grad", func() any {
			ddp, err := dist.NewDDP(group, linear, dist.DDPOptions{BucketCapMB: 50, FindUnusedParameters: true, GradientAsBucketView: true})
			if err != nil {
				return err
			}
			defer ddp.Close()
			ddp.Forward(x).Sum().Backward()
			return linear.Weight.Grad()
		}},
		{`ddp = DistributedDataParallel(linear)
with ddp.no_sync():
    ddp(x).sum().backward()
ddp(x).sum().backward()` + hidden + "linear.weight.grad", func() any {
			ddp, err := dist.NewDDP(group, linear)
			if err != nil {
				return err
			}
			defer ddp.Close()
			ddp.NoSync(func() { ddp.Forward(x).Sum().Backward() })
			ddp.Forward(x).Sum().Backward()
			return linear.Weight.Grad()
		}},
		{`ddp = DistributedDataParallel(linear)
ddp.register_comm_hook(None, default_hooks.bf16_compress_hook)
ddp(x).sum().backward()` + hidden + "linear.weight.grad", func() any {
			ddp, err := dist.NewDDP(group, linear)
			if err != nil {
				return err
			}
			defer ddp.Close()
			ddp.Compress(torch.BFloat16)
			ddp.Forward(x).Sum().Backward()
			return linear.Weight.Grad()
		}},
		{`ddp = DistributedDataParallel(linear)
state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=10)
ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
ddp(x).sum().backward()` + hidden + "linear.weight.grad", func() any {
			ddp, err := dist.NewDDP(group, linear)
			if err != nil {
				return err
			}
			defer ddp.Close()
			compressed, err := dist.NewPowerSGD(group, dist.PowerSGDOptions{MatrixApproximationRank: 2, StartIter: 10})
			if err != nil {
				return err
			}
			defer compressed.Close()
			ddp.RegisterCommHook(compressed.Hook)
			ddp.Forward(x).Sum().Backward()
			return linear.Weight.Grad()
		}},
		{`ddp = DistributedDataParallel(linear)
with ddp.join():
    for part in x.split(1):
        ddp(part).sum().backward()` + hidden + "linear.weight.grad", func() any {
			ddp, err := dist.NewDDP(group, linear)
			if err != nil {
				return err
			}
			defer ddp.Close()
			err = ddp.Join(func() error {
				for _, part := range x.Split(1, 0) {
					ddp.Forward(part).Sum().Backward()
				}
				return nil
			})
			if err != nil {
				return err
			}
			return linear.Weight.Grad()
		}},
		{"nn.DataParallel(linear)(x)", func() any { return nn.NewDataParallel(linear, nil).Forward(x) }},
		{`opt = ZeroRedundancyOptimizer(linear.parameters(), optim.AdamW, lr=1e-3, fused=True)
linear(x).sum().backward()
opt.step()` + hidden + "linear.weight", func() any {
			opt, err := dist.NewZeRO(group, optim.NewAdamW(nn.Parameters(linear), 1e-3))
			if err != nil {
				return err
			}
			linear.Forward(x).Sum().Backward()
			opt.Step()
			return linear.Weight
		}},
		{`ddp = DistributedDataParallel(linear)
opt = ZeroRedundancyOptimizer(ddp.parameters(), optim.AdamW, lr=1e-3, fused=True)
with Join([ddp, opt], throw_on_early_termination=True):
    for part in x.split(1):
        ddp(part).sum().backward()
        opt.step()` + hidden + "linear.weight", func() any {
			ddp, err := dist.NewDDP(group, linear)
			if err != nil {
				return err
			}
			defer ddp.Close()
			opt, err := dist.NewZeRO(group, optim.NewAdamW(nn.Parameters(linear), 1e-3))
			if err != nil {
				return err
			}
			err = dist.Join([]dist.Joinable{ddp, opt}, func() error {
				for _, part := range x.Split(1, 0) {
					ddp.Forward(part).Sum().Backward()
					opt.Step()
				}
				return nil
			}, dist.JoinOptions{ThrowOnEarlyTermination: true})
			if err != nil {
				return err
			}
			return linear.Weight
		}},
	},
}
