package dist_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
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
