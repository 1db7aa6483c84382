package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/mkldnn"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/vision/models"
)

const classes = 1000

// A workload is something to measure: a network or a convolution, for a batch, in one way.
type workload struct {
	Model string `json:"model,omitempty"`
	Conv  string `json:"conv,omitempty"` // a shape, in the place of a model
	Batch int    `json:"batch"`
	Mode  string `json:"mode"`           // "forward" or "train"
	Size  int    `json:"size,omitempty"` // of a model's images
	Seed  uint64 `json:"seed"`
}

func (w workload) training() bool { return w.Mode == "train" }

// String is "resnet50 b32 train".
func (w workload) String() string {
	if w.Conv != "" {
		return fmt.Sprintf("%s b%d %s", w.Conv, w.Batch, w.Mode)
	}
	return fmt.Sprintf("%s b%d %s", w.Model, w.Batch, w.Mode)
}

// build makes the module, and the size of one of its inputs.
func (w workload) build() (m nn.Layer, input []int, err error) {
	if w.Conv == "" {
		m, err = models.New(w.Model, classes)
		return m, []int{3, w.Size, w.Size}, err
	}
	s, err := parseShape(w.Conv)
	if err != nil {
		return nil, nil, err
	}
	return s.module(), []int{s.in, s.size[0], s.size[1]}, nil
}

// shapes lists the convolutions of a network in the order of its forward pass.
func (w workload) shapes() (list []counted, err error) {
	model, input, err := w.build()
	if err != nil {
		return nil, err
	}
	defer nn.Close(model)
	nn.Eval(model)
	var failed error
	hook := nn.RegisterModuleForwardHook(func(m any, in, _ []torch.Tensor) []torch.Tensor {
		c, ok := m.(*nn.Conv2d)
		if !ok {
			return nil
		}
		s, err := shapeOf(c, in[0].Shape())
		failed = errors.Join(failed, err)
		at := slices.IndexFunc(list, func(c counted) bool { return c.Shape == s.String() })
		if at < 0 {
			at = len(list)
			list = append(list, counted{Shape: s.String()})
		}
		list[at].Count++
		return nil
	})
	defer hook.Remove()
	torch.Scope(func() {
		torch.Inference(func() { model.Forward(torch.Zeros(append([]int{1}, input...)...)) })
	})
	return list, failed
}

// switched tells whether a switch of the setting is on.
func (s setting) switched(name string) cuda.Switch {
	switch s[name] {
	case "on":
		return cuda.On
	case "off":
		return cuda.Off
	}
	return cuda.Unchanged
}

// enter runs fn with the switches of libtorch as the setting says. Switches that the setting
// does not name stay as they are.
func (s setting) enter(d torch.Device, fn func()) {
	if d.IsCUDA() {
		float32s := map[string]cuda.Precision{"on": cuda.TF32, "off": cuda.IEEE}[s["tf32"]]
		cuda.With(cuda.Settings{
			Benchmark: s.switched("benchmark"), Deterministic: s.switched("deterministic"), Conv: float32s, MatMul: float32s,
		}, fn)
		return
	}
	if threads, err := strconv.Atoi(s["threads"]); err == nil {
		torch.SetNumThreads(threads)
	}
	float32s := map[string]mkldnn.Precision{
		"default": mkldnn.PrecisionDefault, "ieee": mkldnn.IEEE, "tf32": mkldnn.TF32, "bf16": mkldnn.BF16,
	}[s["precision"]]
	mkldnn.With(mkldnn.Settings{
		Enabled: s.switched("onednn"), Deterministic: s.switched("deterministic"), Conv: float32s, MatMul: float32s,
	}, fn)
}

// dtype is what convolutions and products compute in.
func (s setting) dtype() torch.DType {
	switch s["amp"] {
	case "fp16":
		return torch.Float16
	case "bf16":
		return torch.BFloat16
	}
	return torch.Float32
}

// A body is a workload in one memory format, shared by its settings.
type body struct {
	work    workload
	device  torch.Device
	model   nn.Layer
	images  map[torch.DType]torch.Tensor
	labels  torch.Tensor
	opt     *optim.SGD
	scalers map[torch.DType]*amp.GradScaler
	held    int64 // bytes
}

func newBody(device torch.Device, w workload, format torch.MemoryFormat) (b *body, err error) {
	b = &body{work: w, device: device, images: map[torch.DType]torch.Tensor{}, scalers: map[torch.DType]*amp.GradScaler{}}
	torch.ManualSeed(w.Seed)
	model, input, err := w.build()
	if err != nil {
		return nil, err
	}
	b.model = model
	err = torch.Try(func() {
		nn.To(model, device, format)
		torch.Scope(func() {
			b.images[torch.Float32] = torch.RandN(append([]int{w.Batch}, input...)...).To(device, format).Keep()
			b.labels = torch.RandInt(0, classes, []int{w.Batch}).To(device).Keep()
		})
		if nn.Eval(model); w.training() {
			nn.Train(model)
			b.opt = optim.NewSGD(nn.Parameters(model), 0.01, optim.SGDOptions{Momentum: 0.9, WeightDecay: 1e-4})
		}
	})
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *body) close() {
	for _, images := range b.images {
		torch.Close(images)
	}
	torch.Close(b.labels)
	for _, scaler := range b.scalers {
		scaler.Close()
	}
	if b.opt != nil {
		b.opt.Close()
	}
	nn.Close(b.model)
}

// inputs are what a step is given. A convolution within a network finds its input in half
// precision already.
func (b *body) inputs(dtype torch.DType) []torch.Tensor {
	if b.work.Conv == "" {
		dtype = torch.Float32
	}
	if _, ok := b.images[dtype]; !ok {
		torch.Unscoped(func() { b.images[dtype] = b.images[torch.Float32].To(dtype) })
	}
	return []torch.Tensor{b.images[dtype], b.labels}
}

// step is one iteration in the dtype. What it allocates belongs to the caller's scope.
func (b *body) step(dtype torch.DType) func(in []torch.Tensor) []torch.Tensor {
	forward := func(x torch.Tensor) (y torch.Tensor) {
		amp.Autocast(b.device, dtype, func() { y = b.model.Forward(x) })
		return y
	}
	switch {
	case !b.work.training():
		return func(in []torch.Tensor) (out []torch.Tensor) {
			torch.Inference(func() { out = []torch.Tensor{forward(in[0])} })
			return out
		}
	case b.work.Conv != "":
		return func(in []torch.Tensor) []torch.Tensor { return b.bothGradients(forward, in[0]) }
	}
	if b.scalers[dtype] == nil {
		b.scalers[dtype] = amp.NewGradScaler(b.device, amp.GradScalerOptions{DType: dtype})
	}
	scaler := b.scalers[dtype]
	return func(in []torch.Tensor) []torch.Tensor {
		var loss torch.Tensor
		amp.Autocast(b.device, dtype, func() { loss = F.CrossEntropy(b.model.Forward(in[0]), in[1]) })
		scaler.Scale(loss).Backward()
		scaler.Step(b.opt)
		b.opt.ZeroGrad()
		return []torch.Tensor{loss.Detach()}
	}
}

// bothGradients is the training of a convolution within a network: forwards, and backwards to
// the input and to the weight.
func (b *body) bothGradients(forward func(torch.Tensor) torch.Tensor, x torch.Tensor) []torch.Tensor {
	x = x.Detach().SetRequiresGrad(true)
	y := forward(x)
	y.Backward(torch.BackwardOptions{Gradient: torch.OnesLike(y)})
	b.opt.ZeroGrad()
	return []torch.Tensor{y.Detach()}
}
