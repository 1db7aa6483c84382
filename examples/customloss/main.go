// Customloss trains with a loss of its own: the focal loss, for classes of which one is rare.
//
//	go run ./examples/customloss
package main

import (
	"context"
	"io"

	"github.com/libtorch-go/libtorch/examples/internal/cli"
	"github.com/libtorch-go/libtorch/examples/internal/train"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// FocalLoss is cross entropy that looks away from samples that are right already: the mean of
// (1-p)^gamma * -log(p), p being the probability of the target [N] among the scores
// [N, classes] (Lin et al., "Focal Loss for Dense Object Detection", 2017). A loss is a
// function of tensors like any other; its gradient follows from what it calls.
func FocalLoss(scores, target torch.Tensor, gamma float64) torch.Tensor {
	logP := scores.LogSoftmax(1).Gather(1, target.Unsqueeze(1)).Squeeze()
	return logP.Exp().Neg().AddScalar(1).PowScalar(gamma).Mul(logP).Neg().Mean()
}

func main() { cli.Main("customloss", command) }

func command(ctx context.Context, args []string, out io.Writer) error {
	f := train.NewFlags("customloss", "customloss finds rare points with the focal loss.", train.Defaults{Epochs: 10, Batch: 32, LR: 0.01})
	gamma := f.Float64("gamma", 2, "how far to look away from what is right already; 0 is cross entropy")
	rare := f.Float64("rare", 0.05, "part of the points that are of the rare class")
	if err := f.Parse(args, out); err != nil {
		return err
	}
	if err := cli.NotNegative("gamma", *gamma); err != nil {
		return err
	}
	if !(*rare > 0 && *rare < 1) {
		return cli.Usagef("-rare is %v, expected a part between 0 and 1", *rare)
	}
	return f.Run(func() error { return learn(ctx, f, *gamma, *rare) })
}

func learn(ctx context.Context, f *train.Flags, gamma, rare float64) error {
	x, y := train.Rings(2000, rare, f.Device)
	loader, err := data.NewLoader(data.NewTensorDataset(x, y), data.LoaderOptions{BatchSize: f.Batch, Shuffle: true, Seed: f.Seed})
	if err != nil {
		return err
	}
	model := nn.Sequential{nn.NewLinear(2, 32), nn.ReLU{}, nn.NewLinear(32, 2)}
	defer nn.Close(model)
	nn.To(model, f.Device)
	opt := optim.NewAdamW(nn.Parameters(model), f.LR)
	defer opt.Close()
	err = f.Loop(ctx, loader, func(b data.Batch) torch.Tensor {
		loss := FocalLoss(model.Forward(b.Input), b.Target, gamma)
		loss.Backward()
		opt.Step()
		opt.ZeroGrad()
		return loss
	}, nil)
	if err != nil {
		return err
	}
	found := model.Forward(x).ArgMaxDim(1).Mul(y).Sum().Int()
	f.Printf("done: %d of %d rare points found, cross entropy %.4f", found, y.Sum().Int(), F.CrossEntropy(model.Forward(x), y).Float64())
	return nil
}
