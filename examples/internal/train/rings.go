package train

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// Rings are n points [n, 2] on two rings about each other, with noise, and which ring each is of
// [n]: 1, the inner one, for about that part of them. No straight line separates them.
func Rings(n int, inner float64, dev torch.Device) (points, labels torch.Tensor) {
	there := torch.TensorOptions{Device: dev}
	labels = there.Rand(n).LtScalar(inner)
	radius := labels.To(torch.Float32).MulScalar(-1).AddScalar(2).Add(there.RandN(n).MulScalar(0.15))
	angle := there.Rand(n).MulScalar(2 * math.Pi)
	points = torch.Stack([]torch.Tensor{radius.Mul(angle.Cos()), radius.Mul(angle.Sin())}, 1)
	return points, labels.To(torch.Int64)
}

// Loss is the mean cross entropy of a classifier over all samples.
func Loss(model nn.Layer, x, y torch.Tensor) (loss float64) {
	torch.Inference(func() { loss = F.CrossEntropy(model.Forward(x), y).Float64() })
	return loss
}
