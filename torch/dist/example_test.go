package dist_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// onTwoRanks runs fn on two ranks of this process. Under torchrun each is a process, and calls InitProcessGroup without options.
func onTwoRanks(fn func(ctx context.Context, g *dist.Group) error) {
	ctx := context.Background()
	store, err := dist.NewHashStore()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	var all sync.WaitGroup
	for rank := range 2 {
		all.Go(func() {
			g, err := dist.InitProcessGroup(ctx, "gloo", dist.InitOptions{Store: store, Rank: rank, WorldSize: 2})
			if err == nil {
				defer g.Close()
				err = fn(ctx, g)
			}
			if err != nil {
				fmt.Println(err)
			}
		})
	}
	all.Wait()
}

func ExampleGroup_AllReduce() {
	onTwoRanks(func(ctx context.Context, g *dist.Group) error {
		x := torch.FromSlice([]float32{1, float32(g.Rank())})
		defer x.Close()
		if err := g.AllReduce(x).Wait(ctx); err != nil {
			return err
		}
		if g.Rank() == 0 {
			fmt.Println(torch.Values[float32](x))
		}
		return nil
	})
	// Output: [2 1]
}

// Each rank sees other data; the gradient is the mean.
func ExampleNewDDP() {
	onTwoRanks(func(ctx context.Context, g *dist.Group) error {
		linear := nn.NewLinear(1, 1, nn.LinearOptions{NoBias: true})
		defer nn.Close(linear)
		model, err := dist.NewDDP(g, linear)
		if err != nil {
			return err
		}
		defer model.Close()
		torch.Scope(func() {
			x := torch.Full([]int{1, 1}, float64(g.Rank()+1))
			model.Forward(x).Sum().Backward()
			if g.Rank() == 0 {
				fmt.Println(linear.Weight.Grad().Float64())
			}
		})
		return g.Barrier().Wait(ctx)
	})
	// Output: 1.5
}

func ExampleAllGatherObject() {
	onTwoRanks(func(ctx context.Context, g *dist.Group) error {
		list, err := dist.AllGatherObject(ctx, g, map[string]int{"rank": g.Rank()})
		if err == nil && g.Rank() == 0 {
			fmt.Println(list)
		}
		return err
	})
	// Output: [map[rank:0] map[rank:1]]
}

func ExampleDDP_NoSync() {
	onTwoRanks(func(ctx context.Context, g *dist.Group) error {
		linear := nn.NewLinear(1, 1)
		defer nn.Close(linear)
		model, err := dist.NewDDP(g, linear)
		if err != nil {
			return err
		}
		defer model.Close()
		torch.Scope(func() {
			x, y := torch.Ones(2, 1), torch.Zeros(2, 1)
			model.NoSync(func() { F.MSELoss(model.Forward(x), y).Backward() }) // adds up here
			F.MSELoss(model.Forward(x), y).Backward()                          // and goes to all with this one
		})
		if g.Rank() == 0 {
			fmt.Println(linear.Weight.Grad().Shape())
		}
		return g.Barrier().Wait(ctx)
	})
	// Output: [1 1]
}

// Each rank has the state of its own parameters: the weight is one rank's, the bias the other's.
func ExampleNewZeRO() {
	onTwoRanks(func(ctx context.Context, g *dist.Group) error {
		linear := nn.NewLinear(3, 1)
		defer nn.Close(linear)
		adam := optim.NewAdamW(nn.Parameters(linear), 1e-3)
		opt, err := dist.NewZeRO(g, adam)
		if err != nil {
			return err
		}
		defer opt.Close()
		torch.Scope(func() {
			linear.Forward(torch.Ones(2, 3)).Sum().Backward() // with DDP it would be the mean of all ranks
			opt.Step()
		})
		if err := opt.Consolidate(ctx, 0); err != nil {
			return err
		}
		if g.Rank() == 0 {
			here := len(adam.StateDict()["state"].(map[int]map[string]any))
			whole := len(opt.StateDict()["state"].(map[int]map[string]any))
			fmt.Printf("the state of %d parameter here, of %d gathered\n", here, whole)
		}
		return nil
	})
	// Output: the state of 1 parameter here, of 2 gathered
}
