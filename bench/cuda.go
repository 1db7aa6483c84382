package main

import (
	"fmt"
	"os"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/vision/models"
)

// deviceVariable tells both sides where the cases of a card run: "cuda:0", or "cpu" to check
// that both sides compute the same, without graphs.
const deviceVariable = "BENCH_DEVICE"

func cardDevice() torch.Device {
	d, err := torch.ParseDevice(os.Getenv(deviceVariable))
	if err != nil {
		return torch.CUDA(0)
	}
	return d
}

// card is a step on a card; python/cuda_cases.py is its twin, without a graph. Both sides let
// cuDNN choose its algorithms while they are timed; results are compared with deterministic
// algorithms.
type card struct {
	step   func() torch.Tensor // in a scope; what it returns is compared
	graph  func()
	device torch.Device
}

func (c *card) run(n int) {
	for range n {
		if c.graph != nil && c.device.IsCUDA() {
			c.graph()
			continue
		}
		torch.Scope(func() { c.step() })
	}
	torch.Synchronize(c.device)
}

func (c *card) check() (result string) {
	cuda.With(cuda.Settings{Deterministic: cuda.On, Benchmark: cuda.Off}, func() {
		torch.Scope(func() { result = digest(c.step().CPU()) })
	})
	return result
}

func cardCases() []benchmark {
	of := func(name string, n int, make func(d torch.Device) (*card, error)) benchmark {
		return benchmark{name: name, group: cardGroup, n: n, make: func(string) (workload, error) {
			cuda.Set(cuda.Settings{Benchmark: cuda.On})
			return make(cardDevice())
		}}
	}
	return []benchmark{
		of("card: add", 2000, newSubmission),
		of("card: ResNet-18 b128 fp16 training", 10, func(d torch.Device) (*card, error) { return newCardTraining(d, false) }),
		of("card: ResNet-18 b128 fp16 training, graph", 10, func(d torch.Device) (*card, error) { return newCardTraining(d, true) }),
		of("card: ResNet-50 b1 fp16, graph", 20, newCardInference),
	}
}

// newSubmission measures what an operator costs the host: the card's part is small.
func newSubmission(d torch.Device) (*card, error) {
	var x, y torch.Tensor
	torch.Unscoped(func() { x, y = torch.FromSlice([]float32{1.5}).To(d), torch.FromSlice([]float32{2.25}).To(d) })
	return &card{device: d, step: func() torch.Tensor { return x.Add(y) }}, nil
}

// newCardTraining is a training step as PyTorch's recipes have it: autocast, gradient scaling,
// fused SGD, channels last.
func newCardTraining(d torch.Device, graph bool) (*card, error) {
	const batch = 128
	c, model := &card{device: d}, newModel()
	fill(model)
	nn.To(model, d, torch.ChannelsLast)
	opt := optim.NewSGD(nn.Parameters(model), 0.01, optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4, Nesterov: true})
	scaler := amp.NewGradScaler(d, amp.GradScalerOptions{DType: torch.Float16})
	var images, labels torch.Tensor
	torch.Unscoped(func() {
		images = shaped(batch, 3, 32, 32).To(d, torch.ChannelsLast)
		labels = torch.Arange(batch).RemainderScalar(classes).To(d)
	})
	dtype := torch.Float16
	if d.IsCPU() {
		dtype = torch.BFloat16 // the CPU has no float16 convolution to speak of
	}
	step := func(in []torch.Tensor) []torch.Tensor {
		var loss torch.Tensor
		amp.Autocast(d, dtype, func() { loss = F.CrossEntropy(model.Forward(in[0]), in[1]) })
		scaler.Scale(loss).Backward()
		scaler.Step(opt)
		opt.ZeroGrad()
		return []torch.Tensor{loss.Detach()}
	}
	inputs := []torch.Tensor{images, labels}
	c.step = func() torch.Tensor { return step(inputs)[0] }
	return c, c.record(graph, step, inputs)
}

// newCardInference is the inference of one image.
func newCardInference(d torch.Device) (*card, error) {
	c, model := &card{device: d}, models.ResNet50(1000)
	fill(model)
	nn.To(model, d, torch.Float16, torch.ChannelsLast)
	nn.Eval(model)
	var image torch.Tensor
	torch.Unscoped(func() { image = shaped(1, 3, 224, 224).To(d, torch.Float16, torch.ChannelsLast) })
	step := func(in []torch.Tensor) (out []torch.Tensor) {
		torch.Inference(func() { out = []torch.Tensor{model.Forward(in[0])} })
		return out
	}
	c.step = func() torch.Tensor { return step([]torch.Tensor{image})[0] }
	return c, c.record(true, step, []torch.Tensor{image})
}

// record makes a graph of a step if there is a card.
func (c *card) record(wanted bool, step func([]torch.Tensor) []torch.Tensor, inputs []torch.Tensor) error {
	if !wanted || !c.device.IsCUDA() {
		return nil
	}
	graphed := cuda.Graphed(step, cuda.GraphedOptions{Device: c.device.Index()})
	c.graph = func() {
		if _, err := graphed.Run(inputs...); err != nil {
			panic(fmt.Sprint("bench: ", err))
		}
	}
	return nil
}

// shaped is a pattern in a shape.
func shaped(shape ...int) torch.Tensor {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return pattern(n, 37, 101).Reshape(shape...)
}

// fill gives a network the same weights as Python's.
func fill(network any) {
	torch.NoGrad(func() {
		for name, p := range nn.NamedParameters(network) {
			switch {
			case p.Dim() > 1:
				torch.Scope(func() { p.CopyInPlace(shaped(p.Shape()...).MulScalar(0.05)) })
			case name == "fc.bias":
				p.ZeroInPlace()
			}
		}
	})
}
