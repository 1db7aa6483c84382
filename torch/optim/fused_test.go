package optim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// surprises are what a program may do between two steps, by the number of the step that follows.
var surprises = map[int]func(o optim.Scaled, params []torch.Tensor){
	4:  func(_ optim.Scaled, params []torch.Tensor) { params[1].SetGrad(torch.Tensor{}) },
	7:  func(_ optim.Scaled, params []torch.Tensor) { params[0].SetGrad(params[0].Grad().T().Contiguous().T()) },
	10: func(_ optim.Scaled, params []torch.Tensor) { params[2].SetGrad(torch.Full(nil, 2.0).Expand(3, 3)) },
	13: func(o optim.Scaled, _ []torch.Tensor) { o.ParamGroups()[0].LR = 0.5 },
	14: func(_ optim.Scaled, params []torch.Tensor) { params[2].SetData(params[2].Detach().Clone()) },
	16: func(o optim.Scaled, _ []torch.Tensor) { o.ParamGroups()[0].LRTensor() },
	18: func(o optim.Scaled, _ []torch.Tensor) { must(o.LoadStateDict(o.StateDict())) },
	20: func(o optim.Scaled, _ []torch.Tensor) {
		if s, ok := o.ParamGroups()[0].Options.(*optim.SGDOptions); ok {
			s.Momentum = 0
		}
	},
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// trail makes 24 steps and returns the parameters. One more that never has a gradient keeps an
// optimizer from handing its lists over to C++.
func trail(t *testing.T, make func(params []torch.Tensor) optim.Scaled, apart bool) []torch.Tensor {
	var params []torch.Tensor
	for i := range 3 {
		params = append(params, torch.Arange(9).Reshape(3, 3).AddScalar(float64(i)).To(torch.Float32).SetRequiresGrad(true))
	}
	all := params
	if apart {
		all = append(all[:3:3], torch.Ones(1).SetRequiresGrad(true))
	}
	o := make(all)
	defer o.(interface{ Close() }).Close()
	kept := 0
	for step := range 24 {
		torch.Scope(func() {
			for i, p := range params {
				p.SetGrad(torch.FullLike(p, float64(step+i)/10))
			}
			if surprise := surprises[step]; surprise != nil {
				surprise(o, params)
			}
			found := torch.TensorOptions{DType: torch.Float32}.Full(nil, 0.0)
			if step%5 == 4 {
				found.FillInPlace(1)
			}
			if step == 10 { // an expanded gradient cannot be unscaled in place
				o.Step()
				return
			}
			o.StepScaled(torch.TensorOptions{DType: torch.Float32}.Full(nil, 2.0), found)
		})
		kept = max(kept, cgo.LiveUnscoped(cgo.ListKind))
	}
	require.Equal(t, apart, kept == 0)
	return params
}

// The steps of a group whose lists C++ keeps are those of one whose lists it is sent, whatever a
// program does between them.
func TestListsThatAreKept(t *testing.T) {
	if cgo.Racing {
		t.Skip("the race detector wants to see every tensor, so that no list is kept")
	}
	for name, make := range map[string]func(params []torch.Tensor) optim.Scaled{
		"SGD":      func(p []torch.Tensor) optim.Scaled { return optim.NewSGD(p, 0.1) },
		"momentum": func(p []torch.Tensor) optim.Scaled { return optim.NewSGD(p, 0.1, optim.SGDOptions{Momentum: 0.9}) },
		"Adam":     func(p []torch.Tensor) optim.Scaled { return optim.NewAdam(p, 0.1) },
		"AMSGrad":  func(p []torch.Tensor) optim.Scaled { return optim.NewAdam(p, 0.1, optim.AdamOptions{AMSGrad: true}) },
		"AdamW":    func(p []torch.Tensor) optim.Scaled { return optim.NewAdamW(p, 0.1) },
		"Adagrad":  func(p []torch.Tensor) optim.Scaled { return optim.NewAdagrad(p, 0.1) },
	} {
		t.Run(name, func(t *testing.T) {
			torchtest.NoLeaks(t)
			torch.Scope(func() {
				want, got := trail(t, make, true), trail(t, make, false)
				for i := range want {
					require.Equal(t, torch.Values[float32](want[i]), torch.Values[float32](got[i]))
				}
			})
		})
	}
}

// A parameter that was closed is missed, though C++ still has it.
func TestClosedParameterOfKeptLists(t *testing.T) {
	torchtest.NoLeaks(t)
	p := torch.Ones(2).SetRequiresGrad(true)
	o := optim.NewSGD([]torch.Tensor{p}, 0.1)
	defer o.Close()
	torch.Scope(func() {
		p.SetGrad(torch.Ones(2))
		for range 4 {
			o.Step()
		}
	})
	p.Close()
	var failed *torch.Error
	require.ErrorAs(t, torch.Try(o.Step), &failed)
	require.Equal(t, torch.KindClosed, failed.Kind)
	require.Zero(t, torch.Stats().Lists)
}
