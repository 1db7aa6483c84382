package swa

import (
	"iter"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/nn"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
)

// AvgFn returns the next average of one parameter. So many models have been averaged before.
type AvgFn func(averaged, current torch.Tensor, models int) torch.Tensor

// MultiAvgFn changes the averages of parameters that share a device and a dtype. So many
// models have been averaged before.
type MultiAvgFn func(averaged, current []torch.Tensor, models int)

// Options are the rarer arguments of [NewAveragedModel].
type Options struct {
	Device     torch.Device // where the averages are; default: with the model's parameters
	AvgFn      AvgFn        // instead of MultiAvgFn
	MultiAvgFn MultiAvgFn   // default: equal weights, [SWAMultiAvgFn] on CUDA devices and [SWAAvgFn] elsewhere
	UseBuffers bool         // average the buffers too; default: they are the model's latest
}

// AveragedModel is the average of a model's parameters over time, and a copy of the model
// that has them.
type AveragedModel[M any] struct {
	NAveraged torch.Tensor `torch:"n_averaged,buffer"` // int64: how many models have been averaged
	Module    M
	Options   Options
}

// NewAveragedModel copies a model. Its parameters are not yet part of the average:
// UpdateParameters makes them so.
func NewAveragedModel[M any](model M, opts ...Options) *AveragedModel[M] {
	a := &AveragedModel[M]{Module: nn.Clone(model), Options: option.One(opts)}
	if a.Options.AvgFn != nil && a.Options.MultiAvgFn != nil {
		torch.Throw("averaged_model", torch.KindValue, "Only one of avg_fn and multi_avg_fn should be provided")
	}
	torch.Unscoped(func() { a.NAveraged = torch.FromValue(int64(0)) })
	if !a.Options.Device.IsZero() {
		nn.To(a, a.Options.Device)
	}
	return a
}

// Forward is that of the averaged model. A model that is no [nn.Layer] is called as Module.
func (a *AveragedModel[M]) Forward(x torch.Tensor) torch.Tensor {
	layer, ok := any(a.Module).(nn.Layer)
	if !ok {
		torch.Throw("averaged_model", torch.KindType, "%T has no Forward from one tensor to another: call its own, that of Module", a.Module)
	}
	return layer.Forward(x)
}

// UpdateParameters takes the model's parameters into the average; the first ones are the
// average. The device is waited for, as n_averaged may be there.
func (a *AveragedModel[M]) UpdateParameters(model M) {
	torch.NoGrad(func() {
		torch.Scope(func() {
			averaged, current := nn.Parameters(a.Module), nn.Parameters(model)
			if a.Options.UseBuffers {
				averaged, current = slices.Concat(averaged, nn.Buffers(a.Module)), slices.Concat(current, nn.Buffers(model))
			}
			fit(averaged, current)
			if models := a.NAveraged.Int(); models == 0 {
				copyAll(averaged, current)
			} else {
				a.update(averaged, current, models)
			}
			if !a.Options.UseBuffers {
				copyAll(nn.Buffers(a.Module), nn.Buffers(model))
			}
			a.NAveraged.AddScalarInPlace(1)
		})
	})
}

func fit(averaged, current []torch.Tensor) {
	if len(averaged) != len(current) {
		torch.Throw("averaged_model", torch.KindValue, "the model has %d tensors, the average has %d", len(current), len(averaged))
	}
}

func copyAll(to, from []torch.Tensor) {
	fit(to, from)
	for i, t := range to {
		t.CopyInPlace(from[i])
	}
}

func (a *AveragedModel[M]) update(averaged, current []torch.Tensor, models int) {
	for i, t := range averaged {
		averaged[i], current[i] = t.Detach(), current[i].Detach().To(t.Device())
	}
	for _, places := range nnutils.GroupByDeviceAndDType(averaged) {
		var to, from []torch.Tensor
		for _, i := range places {
			to, from = append(to, averaged[i]), append(from, current[i])
		}
		a.Options.average(to[0].Device())(to, from, models)
	}
}

// average is how to average tensors on a device. PyTorch's default is one by one on the CPU,
// which rounds differently.
func (o Options) average(d torch.Device) MultiAvgFn {
	switch {
	case o.MultiAvgFn != nil:
		return o.MultiAvgFn
	case o.AvgFn != nil:
		return each(o.AvgFn)
	case d.IsCUDA():
		return SWAMultiAvgFn()
	}
	return each(SWAAvgFn())
}

// each averages one parameter after the other.
func each(average AvgFn) MultiAvgFn {
	return func(averaged, current []torch.Tensor, models int) {
		for i, t := range averaged {
			t.CopyInPlace(average(t, current[i], models))
		}
	}
}

// SWAMultiAvgFn gives all models the same weight.
func SWAMultiAvgFn() MultiAvgFn {
	return func(averaged, current []torch.Tensor, models int) {
		if lerps(averaged[0]) {
			aten.ForeachLerpScalarInPlace(averaged, current, float64(1/float32(models+1))) // as the number in PyTorch's n_averaged is
			return
		}
		each(SWAAvgFn())(averaged, current, models) // PyTorch divides integers in place, which fails
	}
}

// EMAMultiAvgFn is a moving average, decay times the average and 1-decay times the model:
// PyTorch's default decay is 0.999.
func EMAMultiAvgFn(decay float64) MultiAvgFn {
	checkDecay(decay)
	return func(averaged, current []torch.Tensor, _ int) {
		if lerps(averaged[0]) {
			aten.ForeachLerpScalarInPlace(averaged, current, 1-decay)
			return
		}
		each(EMAAvgFn(decay))(averaged, current, 0)
	}
}

// SWAAvgFn is [SWAMultiAvgFn] for one parameter at a time.
func SWAAvgFn() AvgFn {
	return func(averaged, current torch.Tensor, models int) torch.Tensor {
		return averaged.Add(current.Sub(averaged).DivScalar(models + 1))
	}
}

// EMAAvgFn is [EMAMultiAvgFn] for one parameter at a time.
func EMAAvgFn(decay float64) AvgFn {
	checkDecay(decay)
	return func(averaged, current torch.Tensor, _ int) torch.Tensor {
		return averaged.MulScalar(decay).Add(current.MulScalar(1 - decay))
	}
}

func lerps(t torch.Tensor) bool { return t.IsFloatingPoint() || t.IsComplex() }

func checkDecay(decay float64) {
	if !(decay >= 0 && decay <= 1) {
		torch.Throw("ema", torch.KindValue, "Invalid decay value %v provided. Please provide a value in [0,1] range.", decay)
	}
}

// UpdateBN computes the running statistics of all batch normalisations in m anew, as the mean
// over the batches, which forward feeds to the model one by one:
//
//	err := swa.UpdateBN(model, loader.Epoch(ctx, 0), func(b Batch) { model.Forward(b.X) })
//
// The model is in training meanwhile, and nothing is recorded for autograd. An error of the
// batches ends it.
func UpdateBN[B any](m any, batches iter.Seq2[B, error], forward func(batch B)) (err error) {
	momenta := map[*nn.BatchNorm]*float64{}
	for _, module := range nn.NamedModules(m) {
		if norm, ok := module.(interface{ Common() *nn.BatchNorm }); ok {
			norm := norm.Common()
			norm.ResetRunningStats()
			momenta[norm], norm.Momentum = norm.Momentum, nil
		}
	}
	if len(momenta) == 0 {
		return nil
	}
	defer func() {
		for norm, momentum := range momenta {
			norm.Momentum = momentum
		}
	}()
	nn.WithMode(m, nn.Training, func() {
		for batch, failed := range batches {
			if err = failed; err != nil {
				return
			}
			torch.Scope(func() { torch.NoGrad(func() { forward(batch) }) })
		}
	})
	return err
}
