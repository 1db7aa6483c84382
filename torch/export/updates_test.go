package export

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A step whose optimizer takes gradients from products has the bits of the step, also when the order of their sums is known. Small matrices
// and what lies otherwise stay with the optimizer.
func TestUpdates(t *testing.T) {
	torchtest.NoLeaks(t)
	threads := torch.NumThreads()
	defer torch.SetNumThreads(threads)
	torch.SetNumThreads(1)
	for name, of := range map[string]func([]torch.Tensor) optim.Optimizer{
		"sgd": func(p []torch.Tensor) optim.Optimizer { return optim.NewSGD(p, 0.1) },
		"momentum": func(p []torch.Tensor) optim.Optimizer {
			return optim.NewSGD(p, 0.01, optim.SGDOptions{Momentum: 0.9, WeightDecay: 1e-3})
		},
		"adam":  func(p []torch.Tensor) optim.Optimizer { return optim.NewAdam(p, 1e-3) },
		"adamw": func(p []torch.Tensor) optim.Optimizer { return optim.NewAdamW(p, 1e-3) },
		"amsgrad": func(p []torch.Tensor) optim.Optimizer {
			return optim.NewAdam(p, 1e-3, optim.AdamOptions{AMSGrad: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			torch.Scope(func() {
				want, _ := trainRecorded(t, of, false)
				got, text := trainRecorded(t, of, true)
				for i := range want {
					torchtest.Equal(t, got[i], want[i])
				}
				taken := 3
				if name == "amsgrad" {
					taken = 0
				}
				require.Equal(t, taken, strings.Count(text, "_by_product_"), text)
			})
		})
	}
}

// trainRecorded returns the losses of some steps and the parameters, and what was recorded, if anything.
func trainRecorded(t *testing.T, of func([]torch.Tensor) optim.Optimizer, compile bool) (list []torch.Tensor, text string) {
	const steps, rows = 45, 40
	torch.ManualSeed(1)
	model := nn.Sequential{nn.NewLinear(110, 96), nn.ReLU{}, nn.NewLinear(96, 99), nn.ReLU{}, nn.NewLinear(99, 101), nn.NewLinear(101, 3)}
	o := of(nn.Parameters(model))
	fn := func(in []torch.Tensor) []torch.Tensor {
		loss := F.CrossEntropy(model.Forward(in[0]), in[1])
		o.ZeroGrad()
		loss.Backward()
		o.Step()
		return []torch.Tensor{loss}
	}
	step := CompileStep(fn)
	defer step.Close()
	for i := range steps {
		in := []torch.Tensor{torch.RandN(rows, 110), torch.RandIntN(3, rows)}
		if i == steps/2 {
			o.ParamGroups()[0].LR *= 0.5
		}
		if !compile {
			list = append(list, fn(in)...)
			continue
		}
		out, err := step.Run(in...)
		require.NoError(t, err)
		list = append(list, out...)
	}
	for _, tape := range step.tapes {
		text = brief(&tape.module.program.Graph)
	}
	return append(list, nn.Parameters(model)...), text
}
