package optim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/replay"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A learning rate in a tensor makes the same steps, to the bit where float32 holds it, and one
// that changes there changes the steps.
func TestLRTensor(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, make := range map[string]func(p []torch.Tensor, lr float64) closer{
		"sgd": func(p []torch.Tensor, lr float64) closer {
			return optim.NewSGD(p, lr, optim.SGDOptions{Momentum: 0.9})
		},
		"adam":    func(p []torch.Tensor, lr float64) closer { return optim.NewAdam(p, lr) },
		"adamw":   func(p []torch.Tensor, lr float64) closer { return optim.NewAdamW(p, lr) },
		"adagrad": func(p []torch.Tensor, lr float64) closer { return optim.NewAdagrad(p, lr) },
	} {
		t.Run(name, func(t *testing.T) {
			torch.Scope(func() {
				torch.ManualSeed(1)
				start := torch.RandN(3, 4)
				a, b := start.Clone().SetRequiresGrad(true), start.Clone().SetRequiresGrad(true)
				opts := []closer{make([]torch.Tensor{a}, 0.125), make([]torch.Tensor{b}, 0.125)}
				group := opts[1].ParamGroups()[0]
				require.Equal(t, 0.125, group.LRTensor().Float64())
				step := func(lr float64) {
					for i, x := range []torch.Tensor{a, b} {
						opts[i].ParamGroups()[0].LR = lr
						x.Mul(x).Sum().Backward()
						opts[i].Step()
						opts[i].ZeroGrad()
					}
				}
				for range 3 {
					step(0.125)
					torchtest.Equal(t, b, a)
				}
				step(0.5)
				torchtest.Equal(t, b, a)
				group.LRTensor().FillInPlace(0.25) // not what LR says
				step(0.5)
				require.NotEqual(t, torch.Values[float32](a), torch.Values[float32](b), "the kernel reads the tensor")
				for _, opt := range opts {
					opt.Close()
				}
			})
		})
	}
	torch.Scope(func() {
		p := torch.Ones(2).SetRequiresGrad(true)
		opt := optim.NewSGD([]torch.Tensor{p}, 0.1, optim.SGDOptions{Unfused: true})
		defer opt.Close()
		opt.ParamGroups()[0].LRTensor()
		p.Sum().Backward()
		require.ErrorContains(t, torch.Try(opt.Step), "only fused kernels read the learning rate from a tensor")
	})
}

// A step that becomes a graph reads the learning rate from a tensor, and asks for it to be
// written before each replay.
func TestLearningRateOfGraphs(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p := torch.Ones(2).SetRequiresGrad(true)
		fused, separate := optim.NewAdam([]torch.Tensor{p}, 0.5), optim.NewRMSprop([]torch.Tensor{p}, 0.5)
		defer fused.Close()
		defer separate.Close()
		p.Sum().Backward()
		fused.Step() // nobody records
		before := replay.Recording(func() { fused.Step(); fused.Step() })
		require.Len(t, before, 1)
		group := fused.ParamGroups()[0]
		require.Equal(t, 0.5, group.LRTensor().Float64())
		group.LR = 0.25
		before[0](true)
		require.Equal(t, 0.25, group.LRTensor().Float64())

		frozen := replay.Recording(separate.Step)
		require.Len(t, frozen, 1)
		frozen[0](true)
		separate.ParamGroups()[0].LR = 0.25
		frozen[0](false) // Go computes again
		require.ErrorContains(t, torch.Try(func() { frozen[0](true) }), "the learning rate 0.5 is part of a graph and cannot become 0.25")
	})
}

type closer interface {
	optim.Optimizer
	Close()
}
