package export

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/fuzz/networks"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// Steps of training of networks that nobody has thought of have, recorded, the bits of the steps: losses and weights, with batches of two
// sizes where they are free:
//
//	LIBTORCH_GO_RANDOM_NETWORKS=0:2000 go test -timeout 1h -run TestRandomSteps ./torch/export
func TestRandomSteps(t *testing.T) {
	torch.SetNumThreads(1)
	EachSeed(t, 40, func(t *testing.T, seed uint64) {
		losses, weights, text := trainRandomly(seed, false)
		if len(weights) == 0 {
			return // nothing to train
		}
		gotLosses, got, _ := trainRandomly(seed, true)
		require.Equal(t, losses, gotLosses, text)
		for i, w := range weights {
			require.Equal(t, oneNaN(w), oneNaN(got[i]), "weight %d of %v%s", i, w.Shape(), text)
		}
	})
}

// trainRandomly makes some steps, and returns the losses and what became of the weights.
func trainRandomly(seed uint64, record bool) (losses []string, weights []torch.Tensor, text string) {
	const steps = 8
	n := networks.Draw(seed)
	if text, weights = n.Describe(n.Results...), n.Weights; len(weights) == 0 {
		return nil, nil, text
	}
	for _, w := range weights {
		w.SetRequiresGrad(true)
	}
	opt := randomOptimizer(rand.New(rand.NewPCG(seed, 2)), weights)
	defer opt.Close()
	fn := randomStep(n, opt)
	step := CompileStep(fn)
	defer step.Close()
	batches := []torch.Tensor{n.Input()}
	if n.Free && n.Input().Size(0) > 1 {
		batches = append(batches, n.Input().Narrow(0, 1, n.Input().Size(0)-1))
	}
	for i := range steps {
		out, err := []torch.Tensor{}, error(nil)
		if x := batches[i/2%len(batches)]; record {
			out, err = step.Run(x)
		} else {
			err = torch.Try(func() { out = fn([]torch.Tensor{x}) })
		}
		if err != nil {
			losses = append(losses, "an error") // of a group norm of one number
			break
		}
		losses = append(losses, fmt.Sprint(oneNaN(out[0])))
	}
	for i, w := range weights {
		weights[i] = w.Detach()
	}
	return losses, weights, text
}

// randomStep is a step that makes a network's results small.
func randomStep(n *networks.Network, opt optim.Optimizer) func(in []torch.Tensor) []torch.Tensor {
	forward := n.Forward(n.Results...)
	return func(in []torch.Tensor) []torch.Tensor {
		opt.ZeroGrad()
		loss := torch.Zeros()
		for _, y := range forward(in[0]) {
			loss = loss.Add(y.Square().Mean())
		}
		if loss.RequiresGrad() {
			loss.Backward()
			opt.Step()
		}
		return []torch.Tensor{loss}
	}
}

func randomOptimizer(r *rand.Rand, weights []torch.Tensor) interface {
	optim.Optimizer
	Close()
} {
	const rate = 1e-3
	switch r.IntN(4) {
	case 0:
		return optim.NewSGD(weights, rate)
	case 1:
		return optim.NewSGD(weights, rate, optim.SGDOptions{Momentum: 0.9, WeightDecay: 1e-4})
	case 2:
		return optim.NewAdam(weights, rate)
	}
	return optim.NewAdamW(weights, rate)
}
