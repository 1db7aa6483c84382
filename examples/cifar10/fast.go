package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/linalg"
	"github.com/libtorch-go/libtorch/torch/meter"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/watch"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// The recipe of -fast is that of the contests for speed on CIFAR-10, as airbench has it (Jordan, "94% on CIFAR-10 in 3.29 Seconds on a
// Single GPU", 2024): a small network whose first layer whitens patches and does not learn, large batches, one cycle of the learning rate,
// smoothed labels, and images mirrored also where they are judged.
const (
	fastBatch     = 512
	fastRate      = 0.4 // of such batches; with others it goes with the root of their size
	fastDecay     = 5e-4
	fastSmoothing = 0.2
	fastWhitened  = 1000 // images that the first layer is made from
)

var fastMean, fastStd = [3]float64{0.4914, 0.4822, 0.4465}, [3]float64{0.2470, 0.2435, 0.2616}

// FastNet is the network of -fast: scores [N, 10] of images [N, 3, 32, 32].
type FastNet struct {
	Whiten *nn.Conv2d    `torch:"whiten"`
	Layers nn.Sequential `torch:"layers"`
	Head   *nn.Linear    `torch:"head"`
}

// newFastNet makes the network; its first layer is made from images, float32 [N, 3, 32, 32].
func newFastNet(images torch.Tensor) *FastNet {
	net := &FastNet{Whiten: nn.NewConv2d(3, 24, 2), Layers: fastBlock(24, 64)}
	net.Layers = append(net.Layers, fastBlock(64, 256)...)
	net.Layers = append(net.Layers, fastBlock(256, 256)...)
	net.Head = nn.NewLinear(256, 10, nn.LinearOptions{NoBias: true})
	torch.NoGrad(func() { net.Whiten.Weight.CopyInPlace(whitening(images)) })
	net.Whiten.Weight.SetRequiresGrad(false)
	return net
}

// fastBlock halves the sides and has two convolutions.
func fastBlock(in, out int) nn.Sequential {
	plain := nn.ConvOptions{Padding: 1, NoBias: true}
	return nn.Sequential{
		nn.NewConv2d(in, out, 3, plain), nn.NewMaxPool2d(2), nn.NewBatchNorm2d(out, nn.BatchNormOptions{Momentum: new(0.4)}), nn.GELU{},
		nn.NewConv2d(out, out, 3, plain), nn.NewBatchNorm2d(out, nn.BatchNormOptions{Momentum: new(0.4)}), nn.GELU{},
	}
}

// Forward implements [nn.Layer].
func (n *FastNet) Forward(x torch.Tensor) torch.Tensor {
	x = n.Layers.Forward(nn.GELU{}.Forward(n.Whiten.Forward(x)))
	return n.Head.Forward(F.MaxPool2d(x, 3).Flatten(1)).MulScalar(1.0 / 9)
}

// whitening is a filter [24, 3, 2, 2] whose results for patches of the images do not depend on each other and vary alike, and its negative.
func whitening(images torch.Tensor) torch.Tensor {
	patches := images.Unfold(2, 2, 1).Unfold(3, 2, 1).Transpose(1, 3).Reshape(-1, 12)
	values, vectors := linalg.Eigh(patches.T().MatMul(patches).DivScalar(float64(patches.Size(0))))
	filter := vectors.T().Div(values.AddScalar(5e-4).Sqrt().Unsqueeze(1)).Flip(0).Reshape(12, 3, 2, 2)
	return torch.Cat([]torch.Tensor{filter, filter.Neg()})
}

// runFast trains by the recipe.
func runFast(ctx context.Context, out io.Writer, dev torch.Device) (err error) {
	log, err := openLog()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog(log)) }()
	training, test, net, err := prepareFast(ctx, out, dev)
	if err != nil {
		return err
	}
	return trainFast(ctx, out, net, training, test, log)
}

// trainFast trains for as many epochs as -epochs says, and judges after each.
func trainFast(ctx context.Context, out io.Writer, net *FastNet, training, test *data.Loader[data.Batch], log *watch.Run) error {
	dev := net.Head.Weight.Device()
	start, steps := time.Now(), *epochs*training.Len()
	rate := fastRate * math.Sqrt(float64(cmp.Or(*size, fastBatch))/fastBatch)
	opt := optim.NewSGD(nn.Parameters(net), rate, optim.SGDOptions{Momentum: 0.9, WeightDecay: fastDecay, Nesterov: true})
	sched := lr.OneCycle(opt, rate, steps, lr.OneCycleOptions{FixedMomentum: true})
	for epoch := range *epochs {
		nn.Train(net)
		loss := &meter.Average{Name: "Loss"}
		progress := newProgress(out, epoch, training.Len(), log, loss)
		for batch, err := range training.Epoch(ctx, epoch) {
			if err != nil {
				return err
			}
			x := batch.Input.To(dev, torch.NonBlocking).To(torch.Float32, torch.ChannelsLast)
			l := F.CrossEntropy(net.Forward(x), batch.Target.To(dev, torch.NonBlocking), F.CrossEntropyOptions{LabelSmoothing: fastSmoothing})
			l.Backward()
			opt.Step()
			opt.ZeroGrad()
			sched.Step()
			loss.Add(l, batch.Len())
			progress.Step(batch.Len())
		}
		progress.Close()
		right, err := judgeFast(ctx, net, test)
		if err == nil {
			err = sense(out, log, progress.First+progress.Done)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(out, " * Acc@1 %.3f after %v; %v\n", 100*right, time.Since(start).Round(time.Second), training.Stats())
	}
	return nil
}

// prepareFast makes the loaders, which normalise, and the network.
func prepareFast(ctx context.Context, out io.Writer, dev torch.Device) (training, test *data.Loader[data.Batch], net *FastNet, err error) {
	sets := map[bool]*data.TensorDataset{}
	var first torch.Tensor
	for _, train := range []bool{true, false} {
		images, labels, err := tensorsOf(ctx, out, train)
		if err != nil {
			return nil, nil, nil, err
		}
		if sets[train] = data.NewTensorDataset(images, labels); train {
			first = images.Narrow(0, 0, min(fastWhitened, images.Size(0)))
		}
	}
	still := transforms.CropFlipNormalize{Size: 32, NoFlip: true, Mean: fastMean, Std: fastStd}
	moved := transforms.CropFlipNormalize{Size: 32, Padding: 2, Mean: fastMean, Std: fastStd}
	o := data.LoaderOptions{BatchSize: cmp.Or(*size, fastBatch), Seed: *seed, Workers: 2, PinMemory: dev.IsCUDA()}
	if test, err = data.NewLoader(data.Map(sets[false], pass(still)), o); err != nil {
		return nil, nil, nil, err
	}
	if training, err = shuffled(data.Map(sets[true], pass(moved)), o); err != nil {
		return nil, nil, nil, err
	}
	torch.Scope(func() { net = newFastNet(still.Apply(first, rand.New(rand.NewPCG(0, 0)))) })
	return training, test, nn.To(net, dev, torch.ChannelsLast), nil
}

func shuffled(source data.Source[data.Batch], o data.LoaderOptions) (*data.Loader[data.Batch], error) {
	o.Shuffle = true
	return data.NewLoader(source, o)
}

func pass(p transforms.CropFlipNormalize) func(data.Batch, *rand.Rand) data.Batch {
	return func(b data.Batch, r *rand.Rand) data.Batch {
		b.Input = p.Apply(b.Input, r)
		return b
	}
}

// judgeFast is the part of the images that the network tells right, seen as they are and mirrored.
func judgeFast(ctx context.Context, net *FastNet, test *data.Loader[data.Batch]) (right float64, err error) {
	nn.Eval(net)
	dev := net.Head.Weight.Device()
	var hits meter.Average
	torch.Inference(func() {
		for batch, failed := range test.Epoch(ctx, 0) {
			if err = failed; err != nil {
				return
			}
			x := batch.Input.To(dev).To(torch.Float32, torch.ChannelsLast)
			scores := net.Forward(x).Add(net.Forward(x.Flip(3)))
			hits.Add(scores.ArgMaxDim(1).Eq(batch.Target.To(dev)).To(torch.Float32).Mean(), batch.Len())
		}
	})
	return hits.Avg(), err
}
