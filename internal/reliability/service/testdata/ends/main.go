// Command ends computes in several goroutines, holds tensors, and ends in the way that its
// argument says. It writes a line when it is ready for that.
//
//	ends return|exit|panic|wait|checkpoint [FILE]
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// Code is the exit status of ends exit.
const code = 3

func main() {
	ctx, stop := context.Background(), func() {}
	if os.Args[1] == "checkpoint" {
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM)
	}
	defer stop()
	model := nn.NewLinear(64, 64)
	var working, begun sync.WaitGroup
	for range 4 {
		begun.Add(1)
		working.Go(func() { train(ctx, nn.Clone(model), begun.Done) })
	}
	begun.Wait()
	held := make([]torch.Tensor, 100)
	for i := range held {
		held[i] = torch.RandN(1000)
	}
	fmt.Println("ready")
	switch os.Args[1] {
	case "exit":
		os.Exit(code)
	case "panic":
		panic("enough")
	case "wait":
		working.Wait()
	case "checkpoint":
		working.Wait()
		if err := safetensors.Save(os.Args[2], nn.StateDict(model)); err != nil {
			log.Fatal(err)
		}
	}
	torch.Close(held[:50]...)
}

// train goes on for as long as ctx lasts. It tells when the first step is done.
func train(ctx context.Context, model *nn.Linear, first func()) {
	opt := optim.NewSGD(nn.Parameters(model), 1e-3)
	x, y := torch.RandN(32, 64), torch.RandN(32, 64)
	for tell := first; ctx.Err() == nil; tell = func() {} {
		torch.Scope(func() {
			F.MSELoss(model.Forward(x), y).Backward()
			opt.Step()
			opt.ZeroGrad()
		})
		tell()
	}
}
