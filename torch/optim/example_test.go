package optim_test

import (
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
)

// A training loop: a scope for each step, so that nothing has to be closed.
func Example() {
	torch.ManualSeed(0)
	model := nn.Sequential{nn.NewLinear(2, 16), nn.Tanh{}, nn.NewLinear(16, 1)}
	defer nn.Close(model)
	opt := optim.NewAdamW(nn.Parameters(model), 0.05)
	defer opt.Close()
	sched := lr.CosineAnnealing(opt, 200, 0)

	var loss float64
	torch.Scope(func() {
		x := torch.FromSlice([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2)
		y := torch.FromSlice([]float32{0, 1, 1, 0}, 4, 1) // exclusive or
		for range 200 {
			torch.Scope(func() {
				l := F.BinaryCrossEntropyWithLogits(model.Forward(x), y)
				l.Backward()
				nnutils.ClipGradNorm(nn.Parameters(model), 1)
				opt.Step()
				opt.ZeroGrad()
				sched.Step()
				loss = l.Float64()
			})
		}
		fmt.Println(model.Forward(x).GtScalar(0).To(torch.Int64).View(4), loss < 0.1)
	})
	// Output: tensor([0, 1, 1, 0]) true
}

// weight is a parameter to show things with.
func weight(values ...float32) torch.Tensor { return torch.FromSlice(values).SetRequiresGrad(true) }

func ExampleNewAdam() {
	torch.Scope(func() {
		w := weight(1, 2)
		opt := optim.NewAdam([]torch.Tensor{w}, 0.1, optim.AdamOptions{Betas: &[2]float64{0.5, 0.9}})
		defer opt.Close()
		w.Sum().Backward()
		opt.Step() // the first step is as long as the learning rate
		fmt.Println(w.Detach())
	})
	// Output: tensor([0.9000, 1.9000])
}

// Matrices decay, biases and norms do not.
func ExampleAdam_AddGroup() {
	layer := nn.NewLinear(4, 4)
	defer nn.Close(layer)
	opt := optim.NewAdamW([]torch.Tensor{layer.Weight}, 1e-3, optim.AdamOptions{WeightDecay: new(0.1)})
	defer opt.Close()
	opt.AddGroup([]torch.Tensor{layer.Bias}, 1e-3, optim.AdamOptions{WeightDecay: new(0.0)})
	for _, g := range opt.ParamGroups() {
		fmt.Println(g.Params[0].Shape(), *g.Options.(*optim.AdamOptions).WeightDecay)
	}
	// Output:
	// [4 4] 0.1
	// [4] 0
}

// Settings may be changed between steps.
func ExampleGroup() {
	torch.Scope(func() {
		w := weight(1)
		opt := optim.NewSGD([]torch.Tensor{w}, 1)
		defer opt.Close()
		for _, rate := range []float64{1, 0.5} {
			opt.ParamGroups()[0].LR = rate
			w.Sum().Backward()
			opt.Step()
			opt.ZeroGrad()
			fmt.Println(w.Float64())
		}
	})
	// Output:
	// 0
	// -0.5
}

func ExampleSGDOptions() {
	torch.Scope(func() {
		w := weight(1)
		opt := optim.NewSGD([]torch.Tensor{w}, 0.1, optim.SGDOptions{Momentum: 0.9, Nesterov: true, WeightDecay: 5e-4})
		defer opt.Close()
		settings := strings.Split(opt.String(), ", ")
		fmt.Println(settings[1:4])
	})
	// Output: [lr 0.1 momentum 0.9 dampening 0]
}

// A training that was interrupted goes on where it stood, in Python or here.
func ExampleAdam_StateDict() {
	torch.Scope(func() {
		step := func(opt *optim.AdamW, w torch.Tensor) {
			w.Square().Sum().Backward()
			opt.Step()
			opt.ZeroGrad()
		}
		w := weight(3)
		opt := optim.NewAdamW([]torch.Tensor{w}, 0.1)
		defer opt.Close()
		step(opt, w)

		again := w.Detach().Clone().SetRequiresGrad(true)
		resumed := optim.NewAdamW([]torch.Tensor{again}, 0.1)
		defer resumed.Close()
		fmt.Println(resumed.LoadStateDict(opt.StateDict()))
		step(opt, w)
		step(resumed, again)
		fmt.Println(w.Equal(again))
	})
	// Output:
	// <nil>
	// true
}

// LBFGS calls the loss as often as it needs to.
func ExampleLBFGS_Step() {
	torch.Scope(func() {
		w := torch.FromSlice([]float64{-1, 2}).SetRequiresGrad(true)
		opt := optim.NewLBFGS([]torch.Tensor{w}, 1, optim.LBFGSOptions{LineSearch: "strong_wolfe"})
		defer opt.Close()
		goal := torch.FromSlice([]float64{3, 5})
		opt.Step(func() torch.Tensor {
			opt.ZeroGrad()
			loss := w.Sub(goal).Square().Sum()
			loss.Backward()
			return loss
		})
		fmt.Println(w.Detach().Round())
	})
	// Output: tensor([3., 5.], dtype=torch.float64)
}

// Gradients of several batches add up to one step.
func ExampleSGD_Step() {
	torch.Scope(func() {
		w := weight(0)
		opt := optim.NewSGD([]torch.Tensor{w}, 0.1)
		defer opt.Close()
		const batches = 4
		for i := range batches {
			w.MulScalar(i).DivScalar(batches).Sum().Backward()
		}
		opt.Step()
		opt.ZeroGrad()
		fmt.Printf("%.2f\n", w.Float64())
	})
	// Output: -0.15
}

// Muon is for the matrices of hidden layers, another optimizer for the rest.
func ExampleNewMuon() {
	torch.ManualSeed(0)
	net := nn.Sequential{nn.NewLinear(4, 4), nn.ReLU{}, nn.NewLinear(4, 1)}
	defer nn.Close(net)
	var matrices, rest []torch.Tensor
	for name, p := range nn.NamedParameters(net) {
		if name == "0.weight" {
			matrices = append(matrices, p)
		} else {
			rest = append(rest, p)
		}
	}
	muon, adam := optim.NewMuon(matrices, 0.02), optim.NewAdamW(rest, 1e-3)
	defer muon.Close()
	defer adam.Close()
	torch.Scope(func() { net.Forward(torch.Ones(2, 4)).Sum().Backward() })
	for _, opt := range []optim.Optimizer{muon, adam} {
		opt.Step()
		opt.ZeroGrad()
	}
	fmt.Println(len(matrices), len(rest))
	// Output: 1 3
}

// Sparse gradients of a large table touch only the rows that were used.
func ExampleNewSparseAdam() {
	torch.ManualSeed(0)
	table := nn.NewEmbedding(1000, 4, nn.EmbeddingOptions{Sparse: true})
	defer nn.Close(table)
	opt := optim.NewSparseAdam(nn.Parameters(table), 0.1)
	defer opt.Close()
	torch.Scope(func() {
		before := table.Weight.Detach().Clone()
		table.Forward(torch.FromSlice([]int{3, 7})).Sum().Backward()
		opt.Step()
		changed := table.Weight.Ne(before).Any(1).Nonzero().View(-1)
		fmt.Println(changed)
		opt.ZeroGrad()
	})
	// Output: tensor([3, 7])
}

// A mistake in the settings is told in PyTorch's words.
func ExampleNewRMSprop() {
	w := weight(1)
	defer w.Close()
	err := torch.Try(func() { optim.NewRMSprop([]torch.Tensor{w}, -1) })
	fmt.Println(err)
	// Output: torch: rmsprop: Invalid learning rate: -1.0
}
