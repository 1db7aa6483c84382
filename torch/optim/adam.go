package optim

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

// AdamOptions are the settings of [Adam] and [AdamW] besides the learning rate. In a
// [Group] the pointers are never nil.
type AdamOptions struct {
	Betas       [2]float64 // part that the running means of gradient and square keep; default {0.9, 0.999}
	Eps         *float64   // added to the root of the square's mean; default 1e-8
	WeightDecay *float64   // default 0 for Adam, 0.01 for AdamW
	AMSGrad     bool       // divide by the largest mean of squares so far
	Maximize    bool       // go up, not down
}

func (o *AdamOptions) fields() []setting {
	return []setting{{"betas", &o.Betas}, {"eps", o.Eps}, {"weight_decay", o.WeightDecay}, {"amsgrad", &o.AMSGrad}, {"maximize", &o.Maximize}}
}

// stepCount is the state that counts a parameter's steps.
const stepCount = "step"

func (o *AdamOptions) kinds() []string {
	kinds := []string{stepCount, "exp_avg", "exp_avg_sq"}
	if o.AMSGrad {
		kinds = append(kinds, "max_exp_avg_sq")
	}
	return kinds
}

func (o *AdamOptions) momentum() *float64 { return &o.Betas[0] }

func (o *AdamOptions) check() string {
	switch {
	case !(o.Betas[0] >= 0 && o.Betas[0] < 1 && o.Betas[1] >= 0 && o.Betas[1] < 1):
		return "the betas must lie between 0 and 1"
	case !(*o.Eps >= 0):
		return "eps cannot be negative"
	case !(*o.WeightDecay >= 0):
		return "the weight decay cannot be negative"
	}
	return ""
}

func (o *AdamOptions) clone() settings { return o.settled(0) }

// settled is a copy with the defaults filled in.
func (o *AdamOptions) settled(weightDecay float64) *AdamOptions {
	v := AdamOptions{}
	if o != nil {
		v = *o
	}
	if v.Betas == [2]float64{} {
		v.Betas = [2]float64{0.9, 0.999}
	}
	v.Eps, v.WeightDecay = orNew(v.Eps, 1e-8), orNew(v.WeightDecay, weightDecay)
	return &v
}

func orNew(v *float64, def float64) *float64 {
	if v != nil {
		def = *v
	}
	return &def
}

// Adam follows running means of the gradient, divided by those of its square.
type Adam struct {
	base
	decoupled bool // AdamW's weight decay
}

// AdamW is Adam whose weight decay shrinks the parameters instead of changing the
// gradients.
type AdamW struct{ Adam }

// NewAdam makes an optimizer for the parameters. PyTorch's default learning rate is 1e-3.
func NewAdam(params []torch.Tensor, lr float64, o *AdamOptions) *Adam {
	a := newAdam("adam", false)
	a.AddGroup(params, lr, o)
	return a
}

// NewAdamW makes an optimizer for the parameters. PyTorch's default learning rate is 1e-3.
func NewAdamW(params []torch.Tensor, lr float64, o *AdamOptions) *AdamW {
	a := &AdamW{*newAdam("adamw", true)}
	a.AddGroup(params, lr, o)
	return a
}

func newAdam(name string, decoupled bool) *Adam {
	fixed := map[string]any{"foreach": nil, "capturable": false, "differentiable": false, "fused": true, "decoupled_weight_decay": decoupled}
	return &Adam{newBase(name, fixed), decoupled}
}

// AddGroup adds parameters with settings of their own.
func (a *Adam) AddGroup(params []torch.Tensor, lr float64, o *AdamOptions) {
	decay := 0.0
	if a.decoupled {
		decay = 1e-2
	}
	a.addGroup(params, lr, o.settled(decay))
}

// Step implements [Optimizer].
func (a *Adam) Step() { a.StepScaled(torch.Tensor{}, torch.Tensor{}) }

// StepScaled implements [Scaled].
func (a *Adam) StepScaled(scale, foundInf torch.Tensor) {
	a.step(newMoment, func(g *Group, b *batch) {
		steps, scale, found := b.state[0], b.on(scale), b.on(foundInf)
		aten.ForeachAddScalarInPlace(steps, 1)
		a.update(b, g.LR, g.Options.(*AdamOptions), scale, found)
		if found.Defined() { // a step that was skipped does not count
			aten.ForeachSubInPlace(steps, slices.Repeat([]torch.Tensor{found}, len(steps)))
		}
	})
}

func (a *Adam) update(b *batch, lr float64, o *AdamOptions, scale, found torch.Tensor) {
	var largest []torch.Tensor
	if o.AMSGrad {
		largest = b.state[3]
	}
	if a.decoupled {
		aten.FusedAdamWInPlace(b.params, b.grads, b.state[1], b.state[2], largest, b.state[0], lr, o.Betas[0], o.Betas[1], *o.WeightDecay, *o.Eps,
			o.AMSGrad, o.Maximize, aten.FusedAdamWOptions{GradScale: scale, FoundInf: found})
		return
	}
	aten.FusedAdamInPlace(b.params, b.grads, b.state[1], b.state[2], largest, b.state[0], lr, o.Betas[0], o.Betas[1], *o.WeightDecay, *o.Eps,
		o.AMSGrad, o.Maximize, aten.FusedAdamOptions{GradScale: scale, FoundInf: found})
}

func newMoment(kind string, param, _ torch.Tensor) torch.Tensor {
	if kind == stepCount {
		return torch.TensorOptions{Device: param.Device()}.Zeros()
	}
	return torch.ZerosLike(param)
}
