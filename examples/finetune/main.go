// Finetune teaches a published network to tell apart the photographs in folders of one's own: PyTorch's tutorial "Transfer Learning".
//
//	go run ./examples/finetune -data photos
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/pt"
)

var (
	root     = flag.String("data", "", "`folder` with train and val in it, which have a folder for each class")
	arch     = flag.String("arch", "resnet18", "network, by torchvision's `name`")
	weights  = flag.String("weights", "DEFAULT", "what the network has learned before: torchvision's `name` of it, or a file of torch.save")
	frozen   = flag.Bool("freeze", false, "train the new layers only")
	epochs   = flag.Int("epochs", 25, "passes over the photographs")
	size     = flag.Int("b", 4, "photographs in a batch")
	rate     = flag.Float64("lr", 1e-3, "learning rate, a tenth after each 7 epochs")
	momentum = flag.Float64("momentum", 0.9, "momentum of SGD")
	crop     = flag.Int("crop", 224, "pixels of a photograph's sides")
	seed     = flag.Uint64("seed", 0, "seed of new layers, order and augmentation")
	workers  = flag.Int("j", 2, "workers that prepare batches; 0 is none")
	every    = flag.Int("p", 10, "print every `N`-th batch")
	save     = flag.String("o", "", "write the network to `file`, for pt.LoadStateDict and Python's torch.load")
)

func main() {
	flag.Parse()
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	defer torch.Recover(&err)
	torch.ManualSeed(*seed)
	dev := torch.DefaultDevice()
	train, val, classes, err := open(dev)
	if err != nil {
		return err
	}
	model, fresh, err := adapt(ctx, len(classes))
	if err != nil {
		return err
	}
	nn.To(model, dev)
	fmt.Fprintf(out, "%s that knows %s learns %d classes; new are %v\n", *arch, *weights, len(classes), fresh)
	var params []torch.Tensor
	for name, p := range nn.NamedParameters(model) {
		if isNew(fresh, name) || !*frozen {
			params = append(params, p)
		} else {
			p.SetRequiresGrad(false)
		}
	}
	opt := optim.NewSGD(params, *rate, optim.SGDOptions{Momentum: *momentum})
	sched := lr.Step(opt, 7, 0.1)
	for epoch := range *epochs {
		nn.Train(model)
		loss := &meter.Average{Name: "Loss"}
		progress := meter.NewProgress(out, fmt.Sprintf("Epoch: [%d]", epoch), train.Len(), loss)
		progress.Every = *every
		for batch, err := range train.Epoch(ctx, epoch) {
			if err != nil {
				return err
			}
			l := F.CrossEntropy(model.Forward(batch.Input.To(dev)), batch.Target.To(dev))
			l.Backward()
			opt.Step()
			opt.ZeroGrad()
			loss.Add(l, batch.Len())
			progress.Step(batch.Len())
		}
		sched.Step()
		progress.Close()
		right, err := accuracy(ctx, model, val, dev)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, " * Acc@1 %.3f\n", 100*right)
	}
	if *save == "" {
		return nil
	}
	return pt.Save(*save, nn.StateDict(nn.To(model, torch.CPU)))
}

// accuracy is the part of the photographs that the network tells right.
func accuracy(ctx context.Context, model nn.Layer, val *data.Loader[data.Batch], dev torch.Device) (right float64, err error) {
	nn.Eval(model)
	var hits meter.Average
	torch.Inference(func() {
		for batch, failed := range val.Epoch(ctx, 0) {
			if err = failed; err != nil {
				return
			}
			same := model.Forward(batch.Input.To(dev)).ArgMaxDim(1).Eq(batch.Target.To(dev))
			hits.Add(same.To(torch.Float32).Mean(), batch.Len())
		}
	})
	return hits.Avg(), err
}
