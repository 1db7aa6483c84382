package amp

import (
	"math"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// GradScalerOptions are the rarer arguments of [NewGradScaler].
type GradScalerOptions struct {
	// what Autocast computes in; the scaler does nothing unless it is Float16. Default: the device's, as for Autocast
	DType          torch.DType
	Disabled       bool    // do nothing whatever the dtype
	InitScale      float64 // the first scale; default 65536
	GrowthFactor   float64 // of the scale, after GrowthInterval good steps; default 2
	BackoffFactor  float64 // of the scale, after a step that was skipped; default 0.5
	GrowthInterval int     // default 2000
}

// GradScaler keeps small gradients from vanishing in float16: it multiplies the loss by a
// scale, divides the gradients by it before the step, skips the step where one of them is
// infinite or NaN, and lowers or raises the scale by what it saw.
//
// Everything happens on the device; only [GradScaler.Scaling], [Outcome.Skipped], StateDict
// and optimizers that are not [optim.Scaled] wait for it.
type GradScaler struct {
	enabled        bool
	growthFactor   float64
	backoffFactor  float64
	growthInterval int
	initScale      float64 // until there is a loss, which tells the device
	initTracker    int
	scale          torch.Tensor // float32
	tracker        torch.Tensor // int32: good steps since the scale last changed
	scaled         bool         // a loss was scaled since the last step
	unscaled       map[optim.Optimizer]torch.Tensor
	outcome        torch.Tensor // of the last step
}

// NewGradScaler makes a scaler for training on the device. It panics with a *torch.Error
// where the factors would not raise and lower the scale, as PyTorch does.
func NewGradScaler(dev torch.Device, opts ...GradScalerOptions) *GradScaler {
	v := option.One(opts)
	s := &GradScaler{
		enabled:        !v.Disabled && (v.DType == torch.Float16 || v.DType.IsZero() && !dev.IsCPU() && !dev.IsZero()),
		growthFactor:   or(v.GrowthFactor, 2),
		backoffFactor:  or(v.BackoffFactor, 0.5),
		growthInterval: or(v.GrowthInterval, 2000),
		initScale:      or(v.InitScale, 65536),
		unscaled:       map[optim.Optimizer]torch.Tensor{},
	}
	if s.enabled && !(s.growthFactor > 1 && s.backoffFactor < 1) {
		torch.Throw("grad_scaler", torch.KindValue, "the growth factor must be > 1 and the backoff factor < 1, got %v and %v",
			s.growthFactor, s.backoffFactor)
	}
	if s.enabled && !(s.initScale > 0 && s.initScale <= math.MaxFloat64) {
		torch.Throw("grad_scaler", torch.KindValue, "the first scale must be a positive number, got %v", s.initScale)
	}
	return s
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Enabled tells whether the scaler does anything.
func (s *GradScaler) Enabled() bool { return s.enabled }

// Scale multiplies a loss by the scale. Call Backward on the result.
func (s *GradScaler) Scale(loss torch.Tensor) torch.Tensor {
	if !s.enabled {
		return loss
	}
	s.scaled = true
	if !s.scale.Defined() {
		s.place(loss.Device())
	}
	if loss.Device() == s.scale.Device() {
		return loss.Mul(s.scale)
	}
	scale := s.scale.To(loss.Device(), torch.NonBlocking)
	defer scale.Close()
	return loss.Mul(scale)
}

// place makes the scaler's tensors on the device of the first loss.
func (s *GradScaler) place(dev torch.Device) {
	torch.Unscoped(func() {
		s.scale = torch.TensorOptions{DType: torch.Float32, Device: dev}.Full(nil, s.initScale)
		s.tracker = torch.TensorOptions{DType: torch.Int32, Device: dev}.Full(nil, s.initTracker)
	})
}

// Unscale divides the gradients of the optimizer's parameters by the scale, so that they
// can be looked at or clipped before [GradScaler.Step]. It panics with a *torch.Error when
// called twice before a step, before a loss was scaled, or for float16 gradients.
func (s *GradScaler) Unscale(opt optim.Optimizer) {
	if !s.enabled {
		return
	}
	s.check("unscale")
	if _, done := s.unscaled[opt]; done {
		torch.Throw("unscale", torch.KindGeneric, "the gradients of this optimizer were unscaled already since the last step")
	}
	torch.NoGrad(func() {
		double := s.scale.To(torch.Float64)
		inverse := double.Reciprocal()
		single := inverse.To(torch.Float32)
		defer torch.Close(double, inverse, single)
		s.unscaled[opt] = s.inspect(opt, single, false)
	})
}

// check wants a scaled loss. Since a step unscales, updates and forgets, a second one in a
// row would work on gradients that are no longer scaled.
func (s *GradScaler) check(op string) {
	if !s.scaled {
		torch.Throw(op, torch.KindGeneric,
			"no loss was scaled since the last step: call Scale(loss).Backward() first, and step optimizers that share a scaler in one call")
	}
}

// inspect multiplies all gradients of the optimizer by inverse and returns a number that is
// not 0 where one of them is infinite or NaN.
func (s *GradScaler) inspect(opt optim.Optimizer, inverse torch.Tensor, halfToo bool) (found torch.Tensor) {
	dev := s.scale.Device()
	torch.Unscoped(func() { found = torch.TensorOptions{DType: torch.Float32, Device: dev}.Zeros() })
	torch.Scope(func() {
		for k, grads := range gradients(opt) {
			if k.dtype == torch.Float16 && !halfToo {
				found.Close()
				torch.Throw("unscale", torch.KindValue, "the gradients are float16; keep the parameters in float32 and let Autocast cast them")
			}
			if k.device == dev {
				aten.AMPForeachNonFiniteCheckAndUnscaleInPlace(grads, found, inverse)
				continue
			}
			there := torch.TensorOptions{DType: torch.Float32, Device: k.device}.Zeros()
			aten.AMPForeachNonFiniteCheckAndUnscaleInPlace(grads, there, inverse.To(k.device, torch.NonBlocking))
			found.AddInPlace(there.To(dev, torch.NonBlocking))
		}
	})
	return found
}

type kind struct {
	device torch.Device
	dtype  torch.DType
}

// gradients of an optimizer's parameters, by device and dtype.
func gradients(opt optim.Optimizer) map[kind][]torch.Tensor {
	sorted := map[kind][]torch.Tensor{}
	for _, group := range opt.ParamGroups() {
		for _, grad := range torch.Grads(group.Params) {
			if grad.Defined() {
				if grad.Layout() == torch.Sparse {
					grad = aten.Values(grad) // the elements that it has
				}
				k := kind{grad.Device(), grad.DType()}
				sorted[k] = append(sorted[k], grad)
			}
		}
	}
	return sorted
}

// Outcome is what became of a step.
type Outcome struct {
	found torch.Tensor
}

// Skipped tells whether a gradient was infinite or NaN, so that the parameters were left
// alone. It waits for the device, and may be asked until the next step.
func (o Outcome) Skipped() bool { return o.found.Defined() && o.found.Float64() != 0 }

// Step divides the gradients by the scale unless [GradScaler.Unscale] has done so, steps
// every optimizer whose gradients are finite, and updates the scale. It is one call, so
// nothing can be done twice or forgotten. It panics with a *torch.Error where no loss was
// scaled since the last step.
func (s *GradScaler) Step(opts ...optim.Optimizer) Outcome {
	if !s.enabled {
		for _, opt := range opts {
			opt.Step()
		}
		return Outcome{}
	}
	s.check("step")
	var all torch.Tensor
	torch.NoGrad(func() {
		for _, opt := range opts {
			found := s.step(opt)
			if !all.Defined() {
				all = found
				continue
			}
			all.AddInPlace(found)
			found.Close()
		}
		if all.Defined() {
			aten.AMPUpdateScaleInPlace(s.scale, s.tracker, all, s.growthFactor, s.backoffFactor, s.growthInterval)
		}
	})
	s.outcome.Close()
	s.outcome, s.scaled = all, false
	clear(s.unscaled)
	return Outcome{all}
}

// step steps one optimizer and returns what it found in the gradients.
func (s *GradScaler) step(opt optim.Optimizer) (found torch.Tensor) {
	fused, ok := opt.(optim.Scaled)
	found, unscaled := s.unscaled[opt]
	switch {
	case ok && unscaled:
		fused.StepScaled(torch.Tensor{}, found)
	case ok:
		one := torch.TensorOptions{DType: torch.Float32, Device: s.scale.Device()}.Ones()
		defer one.Close()
		found = s.inspect(opt, one, true)
		fused.StepScaled(s.scale, found)
	default:
		if !unscaled {
			s.Unscale(opt)
			found = s.unscaled[opt]
		}
		if found.Float64() == 0 {
			opt.Step()
		}
	}
	return found
}

// Scaling is the scale; 1 where the scaler does nothing. It waits for the device.
func (s *GradScaler) Scaling() float64 {
	switch {
	case !s.enabled:
		return 1
	case !s.scale.Defined():
		return s.initScale
	}
	return s.scale.Float64()
}

func (s *GradScaler) growthTracker() int {
	if !s.tracker.Defined() {
		return s.initTracker
	}
	return s.tracker.Int()
}

// Close frees the scaler's tensors. Without it they are freed when the garbage collector
// finds that nobody refers to the scaler any more.
func (s *GradScaler) Close() {
	torch.Close(s.scale, s.tracker, s.outcome)
	for _, found := range s.unscaled {
		found.Close()
	}
}
