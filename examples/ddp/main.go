// Ddp trains ResNet-18 on noise with many processes at once, each on its part of the images: PyTorch's DistributedDataParallel.
//
//	go run ./examples/ddp                                                    # one process
//	go build -o ddp ./examples/ddp
//	go run ./cmd/torchrun --standalone --nproc-per-node 2 ./ddp              # two
//	python -m torch.distributed.run --no-python --nproc-per-node 2 ./ddp     # the same, by PyTorch's launcher
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/models"
)

var (
	images  = flag.Int("n", 1000, "images in an epoch of all ranks")
	size    = flag.Int("size", 224, "height and width of an image")
	classes = flag.Int("classes", 1000, "classes")
	epochs  = flag.Int("epochs", 1, "passes over the images")
	steps   = flag.Int("steps", 0, "`steps` of an epoch at most; 0 is all")
	batch   = flag.Int("b", 32, "images in a batch of one rank")
	rate    = flag.Float64("lr", 0.1, "learning rate")
	seed    = flag.Uint64("seed", 0, "seed of weights and order")
	file    = flag.String("save", "", "`file` for the weights, which rank 0 writes")
)

func main() {
	flag.Parse()
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// join enters the group that torchrun has started, with a card for each of a machine's processes, or one of this process alone.
func join(ctx context.Context) (*dist.Group, torch.Device, error) {
	o := dist.InitOptions{Device: torch.DefaultDevice()}
	e, err := dist.Env()
	switch {
	case os.Getenv("RANK") == "":
		o.WorldSize = 1
		if o.Store, err = dist.NewHashStore(); err != nil {
			return nil, o.Device, err
		}
		defer o.Store.Close()
	case err == nil && o.Device.IsCUDA():
		o.Device = torch.CUDA(e.LocalRank)
	}
	g, err := dist.InitProcessGroup(ctx, dist.DefaultBackendForDevice(o.Device), o)
	return g, o.Device, err
}

func run(ctx context.Context, out io.Writer) (err error) {
	defer torch.Recover(&err)
	g, dev, err := join(ctx)
	if err != nil {
		return err
	}
	defer g.Close()
	torch.ManualSeed(*seed)
	net := models.ResNet18(*classes)
	defer nn.Close(net)
	nn.To(net, dev)
	model, err := dist.NewDDP(g, net)
	if err != nil {
		return err
	}
	defer model.Close()
	opt := optim.NewSGD(nn.Parameters(model), *rate, optim.SGDOptions{Momentum: 0.9, WeightDecay: 1e-4})
	defer opt.Close()

	set := datasets.FakeData(*images, datasets.FakeDataOptions{ImageSize: [3]int{3, *size, *size}, NumClasses: *classes})
	loader, err := data.NewLoader(data.Collate(set, data.Stack), data.LoaderOptions{
		BatchSize: *batch, Workers: 1, Sampler: data.Shard(data.Random(*images, *seed), g.Rank(), g.Size()),
	})
	if err != nil {
		return err
	}
	begun, seen := time.Now(), 0
	for epoch := range *epochs {
		step := 0
		for b, err := range loader.Epoch(ctx, epoch) {
			if err != nil {
				return err
			}
			x := b.Input.To(dev, torch.Float32).DivScalar(255)
			loss := F.CrossEntropy(model.Forward(x), b.Target.To(dev))
			opt.ZeroGrad()
			loss.Backward() // the other ranks' gradients come in while it computes
			opt.Step()
			fmt.Fprintf(out, "rank %d, epoch %d, step %d: loss %.9g\n", g.Rank(), epoch, step, loss.Float64())
			seen += b.Len() * g.Size()
			if step++; step == *steps {
				break
			}
		}
	}
	torch.Synchronize(dev)
	if err = g.Err(); err == nil && g.Rank() == 0 { // cards tell late that an exchange has failed
		fmt.Fprintf(os.Stderr, "%.1f images/s, ranks: %d\n", float64(seen)/time.Since(begun).Seconds(), g.Size())
		if *file != "" {
			err = pt.Save(*file, nn.StateDict(net))
		}
	}
	return err
}
