package nn

import (
	"math"
	"slices"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

// AdaptiveLogSoftmaxWithLoss is a log-softmax for very many classes, sorted by how frequent
// they are (Grave et al., 2017): the rarer ones are in clusters of their own, with fewer
// features.
type AdaptiveLogSoftmaxWithLoss struct {
	Head    *Linear      // to the frequent classes, and the clusters
	Tail    []Sequential // of each cluster: to fewer features, then to its classes
	Cutoffs []int        // where clusters begin, and the number of classes
}

// AdaptiveLogSoftmaxOptions are the rarer arguments of [NewAdaptiveLogSoftmaxWithLoss].
type AdaptiveLogSoftmaxOptions struct {
	DivValue *float64 // how many times fewer features each cluster has than the one before; default 4
	HeadBias bool     // the head has a bias
}

// NewAdaptiveLogSoftmaxWithLoss makes a layer from in features to that many classes; a cluster
// begins at each of the cutoffs, of which there is one at least.
func NewAdaptiveLogSoftmaxWithLoss(in, classes int, cutoffs []int, opts ...AdaptiveLogSoftmaxOptions) *AdaptiveLogSoftmaxWithLoss {
	const op = "adaptive_log_softmax"
	if len(cutoffs) == 0 {
		torch.Throw(op, torch.KindValue, "cutoffs should be a sequence of length larger than 0")
	}
	all := append(slices.Clone(cutoffs), classes)
	for i, c := range all {
		if c <= 0 || i > 0 && c <= all[i-1] {
			torch.Throw(op, torch.KindValue,
				"cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 "+
					"and n_classes-1, got %v", cutoffs)
		}
	}
	v := option.One(opts)
	a := &AdaptiveLogSoftmaxWithLoss{Head: NewLinear(in, cutoffs[0]+len(cutoffs), LinearOptions{NoBias: !v.HeadBias}), Cutoffs: all}
	for i := range cutoffs {
		features := int(math.Floor(float64(in) / math.Pow(or(v.DivValue, 4), float64(i+1))))
		bare := LinearOptions{NoBias: true}
		a.Tail = append(a.Tail, Sequential{NewLinear(in, features, bare), NewLinear(features, all[i+1]-all[i], bare)})
	}
	return a
}

// Forward maps inputs [N, in] and their classes [N] (int64) to the logarithm of each class's
// probability [N], and the mean of their negatives. Both may be without the N.
func (a *AdaptiveLogSoftmaxWithLoss) Forward(x, target torch.Tensor) (output, loss torch.Tensor) {
	HookedAll(a, refs{&x, &target}, refs{&output, &loss}, func() { output, loss = a.forward(x, target) })
	return output, loss
}

func (a *AdaptiveLogSoftmaxWithLoss) forward(x, target torch.Tensor) (output, loss torch.Tensor) {
	a.check(x, target)
	torch.Scope(func() {
		single := target.Dim() == 0
		if single {
			x, target = x.Unsqueeze(0), target.Unsqueeze(0)
		}
		n := target.Size(0)
		y, column, used := x.NewZeros([]int{n}), target.NewEmpty([]int{n}), 0
		low := 0
		for i, high := range a.Cutoffs {
			mask := target.GeScalar(low).LogicalAnd(target.LtScalar(high))
			rows := mask.Nonzero().Squeeze()
			used += rows.NumEl()
			switch own := target.MaskedSelect(mask); {
			case rows.NumEl() == 0:
			case i == 0:
				column.IndexCopyInPlace(0, rows, own)
			default:
				column.IndexFillInPlace(0, rows, a.Cutoffs[0]+i-1)
				log := F.LogSoftmax(a.Tail[i-1].Forward(x.IndexSelect(0, rows)), 1)
				y.IndexCopyInPlace(0, rows, log.Gather(1, own.SubScalar(low).Unsqueeze(1)).SqueezeDim(1))
			}
			low = high
		}
		if used != n {
			torch.Throw("adaptive_log_softmax", torch.KindGeneric,
				"Target values should be in [0, %d], but values in range [%d, %d] were found.", low-1, target.Min().Int(), target.Max().Int())
		}
		y.AddInPlace(F.LogSoftmax(a.Head.Forward(x), 1).Gather(1, column.Unsqueeze(1)).Squeeze())
		loss = y.Neg().Mean().MoveOut()
		if single {
			y = y.SqueezeDim(0)
		}
		output = y.MoveOut()
	})
	return output, loss
}

func (a *AdaptiveLogSoftmaxWithLoss) check(x, target torch.Tensor) {
	complain := func(bad bool, message string) {
		if bad {
			torch.Throw("adaptive_log_softmax", torch.KindGeneric, "%s", message)
		}
	}
	switch target.Dim() {
	case 0:
		complain(x.Dim() != 1, "0D target tensor expects 1D input tensors")
	case 1:
		complain(x.Dim() != 2, "1D target tensor expects 2D input tensors")
		complain(x.Size(0) != target.Size(0), "Input and target should have the same size in the batch dimension.")
	default:
		complain(true, "0D or 1D target tensor expected, multi-target not supported")
	}
}

// LogProb maps [N, in] to the logarithms of the probabilities of all classes.
func (a *AdaptiveLogSoftmaxWithLoss) LogProb(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor { return a.logProb(x, a.Head.Forward(x)) })
}

func (a *AdaptiveLogSoftmaxWithLoss) logProb(x, head torch.Tensor) torch.Tensor {
	first := a.Cutoffs[0]
	logs := F.LogSoftmax(head, 1)
	parts := []torch.Tensor{logs.Narrow(1, 0, first)}
	for i, cluster := range a.Tail {
		parts = append(parts, F.LogSoftmax(cluster.Forward(x), 1).Add(logs.Narrow(1, first+i, 1)))
	}
	return torch.Cat(parts, 1)
}

// Predict maps [N, in] to the most probable classes [N]. If the head alone decides, the
// clusters are not computed.
func (a *AdaptiveLogSoftmaxWithLoss) Predict(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		head := a.Head.Forward(x)
		best := head.ArgMax(1)
		rows := best.GeScalar(a.Cutoffs[0]).Nonzero().SqueezeDim(1)
		if rows.NumEl() == 0 {
			return best
		}
		logs := a.logProb(x.IndexSelect(0, rows), head.IndexSelect(0, rows))
		return best.IndexCopyInPlace(0, rows, logs.ArgMax(1))
	})
}
