package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Its Forward is compared in internal/modparity.
func TestAdaptiveLogSoftmaxEqualsPython(t *testing.T) {
	const text = "nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], div_value=2., head_bias=True)"
	create := func() any {
		return nn.NewAdaptiveLogSoftmaxWithLoss(16, 20, []int{4, 10}, nn.AdaptiveLogSoftmaxOptions{DivValue: new(2.0), HeadBias: true})
	}
	adaptive := func(m any) *nn.AdaptiveLogSoftmaxWithLoss { return m.(*nn.AdaptiveLogSoftmaxWithLoss) }
	equalPython(t, []moduleCase{
		{text, "m.log_prob(x[0])", create, func(m any, x tensors) tensors { return tensors{adaptive(m).LogProb(x[0])} }, [][]int{{7, 16}}, nil},
		{text, "m.predict(x[0])", create, func(m any, x tensors) tensors { return tensors{adaptive(m).Predict(x[0])} }, [][]int{{40, 16}}, nil},
		{text, "m.predict(x[0] * 0 + m.head.weight[0] * 9)", create, func(m any, x tensors) tensors {
			row := adaptive(m).Head.Weight.Select(0, 0)
			return tensors{adaptive(m).Predict(x[0].MulScalar(0).Add(row.MulScalar(9)))}
		}, [][]int{{3, 16}}, nil},
	})
}

func TestAdaptiveLogSoftmaxComplaints(t *testing.T) {
	torchtest.NoLeaks(t)
	m := nn.NewAdaptiveLogSoftmaxWithLoss(4, 9, []int{3})
	defer nn.Close(m)
	forward := func(x []int, target ...int) func() {
		return func() { m.Forward(torch.Ones(x...), torch.FromSlice(target)) }
	}
	for _, c := range []struct {
		name string
		fn   func()
		want string
	}{
		{"no cutoffs", func() { nn.NewAdaptiveLogSoftmaxWithLoss(4, 9, nil) }, "length larger than 0"},
		{"falling cutoffs", func() { nn.NewAdaptiveLogSoftmaxWithLoss(4, 9, []int{5, 3}) }, "unique, positive integers sorted"},
		{"a cutoff at the end", func() { nn.NewAdaptiveLogSoftmaxWithLoss(4, 9, []int{9}) }, "between 1 and n_classes-1"},
		{"batch sizes", forward([]int{2, 4}, 1), "the same size in the batch dimension"},
		{"an input alone", forward([]int{4}, 1), "1D target tensor expects 2D input"},
		{"a target alone", func() { m.Forward(torch.Ones(1, 4), torch.FromValue(1)) }, "0D target tensor expects 1D input"},
		{"many targets", func() { m.Forward(torch.Ones(1, 4), torch.FromSlice([]int{1}, 1, 1)) }, "multi-target not supported"},
		{"no class", forward([]int{2, 4}, 1, 9), "Target values should be in [0, 8], but values in range [1, 9] were found."},
	} {
		t.Run(c.name, func(t *testing.T) {
			torch.Scope(func() { require.ErrorContains(t, torch.Try(c.fn), c.want) })
		})
	}
}
