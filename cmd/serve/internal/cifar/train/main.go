// Train makes the weights that cmd/serve shows itself with: CIFAR-10, 6 passes.
//
//	go run ./cmd/serve/internal/cifar/train cmd/serve/internal/cifar/weights.safetensors
package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"log"
	"math/rand/v2"
	"os"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/cmd/serve/internal/cifar"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

var (
	root   = flag.String("data", "", "folder with cifar-10-batches-bin in it (default a `folder` in the user's cache)")
	epochs = flag.Int("epochs", 6, "passes over the images")
	size   = flag.Int("b", 256, "images in a batch")
	rate   = flag.Float64("lr", 0.2, "highest learning rate")
)

func main() {
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: train [flags] WEIGHTS.safetensors")
	}
	if err := run(context.Background(), flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

// open is a loader of one half of CIFAR-10.
func open(ctx context.Context, training bool) (*data.Loader[data.Batch], error) {
	set, err := datasets.LoadCIFAR10(ctx, *root, training)
	if err != nil {
		return nil, err
	}
	o := data.LoaderOptions{BatchSize: *size, Shuffle: training, DropLast: training, Workers: 1}
	return data.NewLoader(data.Map(data.NewTensorDataset(set.Tensors()), func(b data.Batch, r *rand.Rand) data.Batch {
		if training {
			b.Input = transforms.EachRandomHorizontalFlip(transforms.EachRandomCrop(b.Input, cifar.Side, 2, r), r)
		}
		return b
	}), o)
}

func run(ctx context.Context, path string) (err error) {
	defer torch.Recover(&err)
	torch.ManualSeed(0)
	dev := torch.DefaultDevice()
	training, err := open(ctx, true)
	if err != nil {
		return err
	}
	test, err := open(ctx, false)
	if err != nil {
		return err
	}
	net := nn.To(cifar.New(), dev, torch.ChannelsLast)
	opt := optim.NewSGD(nn.Parameters(net), *rate, optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4, Nesterov: true})
	sched := lr.OneCycle(opt, *rate, *epochs*training.Len())
	scores := func(b data.Batch) (y torch.Tensor) {
		x := b.Input.To(dev, torch.ChannelsLast).To(torch.Float32).DivScalar(255)
		amp.Autocast(dev, torch.BFloat16, func() { y = net.Forward(x) })
		return y.To(torch.Float32)
	}
	for epoch := range *epochs {
		loss := &meter.Average{Name: "Loss", Summary: true}
		progress := meter.NewProgress(os.Stdout, fmt.Sprintf("Epoch: [%d]", epoch), training.Len(), loss)
		progress.Every = 50
		for batch, err := range training.Epoch(ctx, epoch) {
			if err != nil {
				return err
			}
			l := F.CrossEntropy(scores(batch), batch.Target.To(dev), F.CrossEntropyOptions{LabelSmoothing: 0.1})
			l.Backward()
			opt.Step()
			opt.ZeroGrad()
			sched.Step()
			loss.Add(l, batch.Len())
			progress.Step(batch.Len())
		}
		progress.Close()
	}
	return finish(ctx, net, test, scores, path)
}

// finish rounds the weights to 16 bits, says how good they are, and writes them.
func finish(ctx context.Context, net *cifar.Net, test *data.Loader[data.Batch], scores func(data.Batch) torch.Tensor, path string) error {
	nn.Eval(net)
	right, err := 0, error(nil)
	torch.NoGrad(func() {
		for _, t := range nn.StateDict(net) {
			if t.DType() == torch.Float32 {
				t.CopyInPlace(t.To(torch.BFloat16))
			}
		}
		for batch, failed := range test.Epoch(ctx, 0) {
			if err = failed; err != nil {
				return
			}
			right += int(scores(batch).ArgMaxDim(1).Eq(batch.Target.To(torch.DefaultDevice())).Sum().Float64())
		}
	})
	if err != nil {
		return err
	}
	fmt.Printf(" * Acc@1 %.2f\n", float64(right)/100)
	return safetensors.Save(path, rounded(net))
}

// rounded is the state dict with 16 bits a number.
func rounded(net *cifar.Net) iter.Seq2[string, torch.Tensor] {
	return func(yield func(string, torch.Tensor) bool) {
		for name, t := range nn.StateDict(net) {
			if t.DType() == torch.Float32 {
				t = t.To(torch.BFloat16, torch.CPU)
			}
			if !yield(name, t) {
				return
			}
		}
	}
}
