package gotorch

import (
	"unsafe"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// Optimizer updates parameters by their gradients. Copies of it are the same optimizer.
type Optimizer struct {
	Opt *unsafe.Pointer
}

// optimizer is what Opt points to the beginning of.
type optimizer struct {
	self  unsafe.Pointer
	start func(params []torch.Tensor, lr float64) trainer
	lr    float64
	opt   trainer // nil until there are parameters
}

// trainer is what the optimizers of package optim have in common, with a further group added.
type trainer interface {
	optim.Optimizer
	Close()
}

func newOptimizer(lr float64, start func(params []torch.Tensor, lr float64) trainer) Optimizer {
	o := &optimizer{start: start, lr: lr}
	return Optimizer{&o.self}
}

func (opt Optimizer) core() *optimizer {
	if opt.Opt == nil {
		panic("the zero Optimizer is no optimizer: SGD and Adam make one")
	}
	return (*optimizer)(unsafe.Pointer(opt.Opt))
}

// SGD is stochastic gradient descent, computed by libtorch's fused kernel.
func SGD(lr, momentum, dampening, weightDecay float64, nesterov bool) Optimizer {
	o := optim.SGDOptions{Momentum: momentum, Dampening: dampening, WeightDecay: weightDecay, Nesterov: nesterov}
	return newOptimizer(lr, func(params []torch.Tensor, lr float64) trainer { return optim.NewSGD(params, lr, o) })
}

// Adam computes by libtorch's fused kernel.
func Adam(lr, beta1, beta2, weightDecay float64) Optimizer {
	o := optim.AdamOptions{Betas: &[2]float64{beta1, beta2}, WeightDecay: &weightDecay}
	return newOptimizer(lr, func(params []torch.Tensor, lr float64) trainer { return optim.NewAdam(params, lr, o) })
}

// AddParameters adds a group of parameters. An empty one adds nothing.
func (opt Optimizer) AddParameters(tensors []Tensor) {
	if len(tensors) == 0 {
		return
	}
	params := make([]torch.Tensor, len(tensors))
	for i, t := range tensors {
		params[i] = t.core()
	}
	switch o := opt.core(); have := o.opt.(type) {
	case *optim.SGD:
		have.AddGroup(params, o.lr)
	case *optim.Adam:
		have.AddGroup(params, o.lr)
	default:
		o.opt = o.start(params, o.lr)
	}
}

// ZeroGrad removes all gradients.
func (opt Optimizer) ZeroGrad() {
	if o := opt.core(); o.opt != nil {
		o.opt.ZeroGrad()
	}
}

// Step updates every parameter that has a gradient.
func (opt Optimizer) Step() {
	if o := opt.core(); o.opt != nil {
		o.opt.Step()
	}
}

// SetLR sets the learning rate of all groups.
func (opt Optimizer) SetLR(lr float64) {
	o := opt.core()
	o.lr = lr
	if o.opt == nil {
		return
	}
	for _, g := range o.opt.ParamGroups() {
		g.LR = lr
	}
}

// Close frees what the optimizer keeps beside the parameters. It may be called twice, or never.
func (opt Optimizer) Close() {
	o := opt.core()
	if o.opt != nil {
		o.opt.Close()
	}
	o.opt = nil
}
