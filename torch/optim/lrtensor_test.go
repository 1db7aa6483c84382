package optim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
				group.LR = 0.5
				group.WriteLR()
				step(0.5)
				torchtest.Equal(t, b, a)
				step(0.25)
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

type closer interface {
	optim.Optimizer
	Close()
}
