package dist

import (
	"context"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// SyncBatchNorm normalises channels with the mean and the variance of the batches of all ranks together: PyTorch's layer of that name, for
// tensors [N, C, ...]. In evaluation it is a [nn.BatchNorm].
//
// PyTorch has it on cards only. Here it is made of operators that every device has; what comes of it is what one process computes with
// all batches joined, but for the last bits.
type SyncBatchNorm struct{ nn.BatchNorm2d }

// NewSyncBatchNorm makes a layer for that many channels.
func NewSyncBatchNorm(g *Group, channels int, opts ...nn.BatchNormOptions) *SyncBatchNorm {
	return ConvertSyncBatchNorm(g, &SyncBatchNorm{*nn.NewBatchNorm2d(channels, opts...)})
}

// Forward keeps the shape. All ranks call it, each with as many samples as it has.
func (b *SyncBatchNorm) Forward(x torch.Tensor) torch.Tensor {
	return nn.Hooked(b, x, func(x torch.Tensor) torch.Tensor {
		shape := x.Shape()
		switch {
		case len(shape) == 4:
			return b.BatchNorm2d.Forward(x)
		case len(shape) < 2:
			torch.Throw("sync_batch_norm", torch.KindValue, "expected an input of 2 dimensions or more, got shape %v", shape)
		}
		rest := 1
		for _, n := range shape[2:] {
			rest *= n
		}
		return b.BatchNorm2d.Forward(x.Reshape(shape[0], shape[1], rest, 1)).Reshape(shape...)
	})
}

// ConvertSyncBatchNorm has all batch normalisations of a model take the batches of all ranks together in training, as [SyncBatchNorm]
// does, and returns the model. Types, names and tensors stay.
//
//	model, err := dist.NewDDP(g, dist.ConvertSyncBatchNorm(g, models.ResNet18(10)))
func ConvertSyncBatchNorm[M any](g *Group, model M) M {
	return nn.Apply(model, func(layer any) {
		if b, ok := layer.(interface{ Common() *nn.BatchNorm }); ok {
			b.Common().Normalize = func(x torch.Tensor, o F.BatchNormOptions) torch.Tensor {
				if g.Size() == 1 {
					return F.BatchNorm(x, o)
				}
				return torch.Apply1(joined{g, o}, x, o.Weight, o.Bias)
			}
		}
	})
}

// joined is batch normalisation over the batches of all ranks, as a function of x, weight and bias.
type joined struct {
	g *Group
	o F.BatchNormOptions
}

// Name is PyTorch's, in graphs and errors.
func (joined) Name() string { return "SyncBatchNorm" }

// exchange fails as operators do.
func (j joined) exchange(work *Work) {
	if err := work.Wait(context.Background()); err != nil {
		throw(err)
	}
}

// across are the dimensions but that of the channels, and what has a number for each channel so that it goes with x.
func across(x torch.Tensor) (dims []int, each func(torch.Tensor) torch.Tensor) {
	for i := range x.Dim() {
		if i != 1 {
			dims = append(dims, i)
		}
	}
	shape := slices.Repeat([]int{1}, x.Dim())
	shape[1] = x.Size(1)
	return dims, func(t torch.Tensor) torch.Tensor { return t.View(shape...) }
}

// wide is a tensor in the dtype that statistics are computed in.
func wide(t torch.Tensor) torch.Tensor {
	if t.Defined() && t.DType() != torch.Float64 {
		return t.To(torch.Float32)
	}
	return t
}

func (j joined) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	x, weight, bias := wide(in[0]), wide(in[1]), wide(in[2])
	dims, each := across(x)
	channels, here := x.Size(1), 0
	like := torch.TensorOptions{DType: x.DType(), Device: x.Device()}
	own := like.Zeros(2*channels + 1) // mean, sum of squares about it, number of values
	if here = x.NumEl() / max(1, channels); here > 0 {
		variance, mean := torch.VarMeanDim(x, dims, torch.VarMeanOptions{Correction: 0})
		own = torch.Cat([]torch.Tensor{mean, variance.MulScalar(here), like.Full([]int{1}, here)}, 0)
	}
	all := like.Empty(j.g.Size(), 2*channels+1)
	j.exchange(j.g.AllGatherIntoTensor(all, own.View(1, -1)))
	means, squares, counts := all.Narrow(1, 0, channels), all.Narrow(1, channels, channels), all.Narrow(1, 2*channels, 1)

	total := counts.Sum()
	mean := means.Mul(counts).Sum(0).Div(total)
	sum := squares.Sum(0).Add(means.Sub(mean).PowScalar(2).Mul(counts).Sum(0))
	eps, momentum := 1e-5, 0.1
	if j.o.Eps != nil {
		eps = *j.o.Eps
	}
	if j.o.Momentum != nil {
		momentum = *j.o.Momentum
	}
	scale := sum.Div(total).AddScalar(eps).Rsqrt()
	if j.o.RunningMean.Defined() {
		j.o.RunningMean.LerpScalarInPlace(mean.To(j.o.RunningMean.DType()), momentum)
		j.o.RunningVar.LerpScalarInPlace(sum.Div(total.SubScalar(1)).To(j.o.RunningVar.DType()), momentum)
	}
	y := x.Sub(each(mean)).Mul(each(scale))
	if weight.Defined() {
		y = y.Mul(each(weight)).Add(each(bias))
	}
	ctx.SaveForBackward(in[0], in[1], mean, scale, total)
	return []torch.Tensor{y.To(in[0].DType())}
}

func (j joined) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	saved := ctx.SavedTensors()
	x, weight, mean, scale, total := wide(saved[0]), wide(saved[1]), saved[2], saved[3], saved[4]
	dims, each := across(x)
	grad, centred := wide(grads[0]), x.Sub(each(mean))
	sums := []torch.Tensor{grad.Sum(dims...), grad.Mul(centred).Sum(dims...)}
	var dx, dw, db torch.Tensor
	if weight.Defined() {
		dw, db = sums[1].Mul(scale).To(saved[1].DType()), sums[0].To(saved[1].DType())
	}
	if !ctx.NeedsInputGrad(0) {
		return []torch.Tensor{dx, dw, db}
	}
	both := torch.Stack(sums, 0)
	j.exchange(j.g.AllReduce(both))
	both = both.Div(total)
	dx = grad.Sub(each(both.Select(0, 0))).Sub(centred.Mul(each(both.Select(0, 1).Mul(scale).Mul(scale)))).Mul(each(scale))
	if weight.Defined() {
		dx = dx.Mul(each(weight))
	}
	return []torch.Tensor{dx.To(saved[0].DType()), dw, db}
}
