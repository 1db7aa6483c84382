package export_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// trained are small ones of all kinds, some with layers that change something in training, and the shapes of an input's rows.
var trained = map[string]struct {
	make func() nn.Layer
	row  []int
}{
	"mlp": {func() nn.Layer {
		return nn.NewSequential(nn.NewLinear(8, 16), nn.NewBatchNorm1d(16), nn.ReLU{}, nn.NewDropout(0.25), nn.NewLinear(16, 3))
	}, []int{8}},
	"images": {func() nn.Layer {
		return nn.NewSequential(nn.NewConv2d(2, 4, 3), nn.NewBatchNorm2d(4), nn.ReLU{InPlace: true}, nn.NewMaxPool2d(2), nn.NewConv2d(4, 8, 3),
			nn.GELU{}, nn.Flatten{}, nn.NewLinear(8, 3))
	}, []int{2, 8, 8}},
	"attention": {func() nn.Layer {
		return nn.NewSequential(nn.NewTransformerEncoderLayer(8, 2, nn.TransformerLayerOptions{DimFeedforward: 16, BatchFirst: true}),
			nn.Flatten{},
			nn.NewLinear(32, 3))
	}, []int{4, 8}},
}

// optimizer is one that is closed.
type optimizer interface {
	optim.Optimizer
	Close()
}

// A recorded step has the bits of the step: losses, parameters and buffers, with learning rates that change and batches of two sizes.
func TestCompileStep(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	for _, c := range []struct {
		net, name string
		make      func([]torch.Tensor) optimizer
	}{
		{"mlp", "sgd", func(p []torch.Tensor) optimizer { return optim.NewSGD(p, 0.1) }},
		{"mlp", "adamw", func(p []torch.Tensor) optimizer { return optim.NewAdamW(p, 1e-3) }},
		{"mlp", "adagrad", func(p []torch.Tensor) optimizer { return optim.NewAdagrad(p, 1e-2) }},
		{"images", "momentum", func(p []torch.Tensor) optimizer {
			return optim.NewSGD(p, 0.1, optim.SGDOptions{Momentum: 0.9, Nesterov: true, WeightDecay: 1e-4})
		}},
		{"attention", "adam", func(p []torch.Tensor) optimizer { return optim.NewAdam(p, 1e-3) }},
	} {
		t.Run(c.net+"/"+c.name, func(t *testing.T) {
			torch.Scope(func() {
				want, wantState := train(t, c.net, c.make, false)
				got, gotState := train(t, c.net, c.make, true)
				require.Equal(t, want, got)
				for name := range wantState {
					torchtest.Equal(t, gotState[name], wantState[name])
				}
			})
		})
	}
}

// train makes eight steps, and returns the losses and what became of the network.
func train(t *testing.T, name string, make func([]torch.Tensor) optimizer, compile bool) (losses []float64, state map[string]torch.Tensor) {
	torch.ManualSeed(1)
	net := trained[name].make()
	opt := make(nn.Parameters(net))
	defer opt.Close()
	fn := func(in []torch.Tensor) []torch.Tensor {
		opt.ZeroGrad()
		loss := F.CrossEntropy(net.Forward(in[0]), in[1])
		loss.Backward()
		opt.Step()
		return []torch.Tensor{loss}
	}
	step := export.CompileStep(fn)
	defer step.Close()
	for i := range 8 {
		rows := 4 + 2*(i/2%2)
		x, y := torch.RandN(append([]int{rows}, trained[name].row...)...), torch.RandIntN(3, rows)
		opt.ParamGroups()[0].LR *= 0.9
		var out []torch.Tensor
		if compile {
			var err error
			out, err = step.Run(x, y)
			require.NoError(t, err)
			require.False(t, out[0].RequiresGrad())
		} else {
			out = fn([]torch.Tensor{x, y})
		}
		losses = append(losses, out[0].Float64())
	}
	require.Equal(t, map[bool]int{true: 2}[compile], step.Recorded())
	return losses, maps.Collect(nn.StateDict(net))
}

// What cannot be recorded or repeated is an error, and a step goes on after it.
func TestCompileStepRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(3)
		step := export.CompileStep(func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{in[0].MulScalar(in[0].Sum().Float64())} })
		defer step.Close()
		for i := range 4 {
			_, err := step.Run(x)
			if i < 2 {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, "step_test.go")
			require.ErrorContains(t, err, "gives Go a value of a tensor")
		}
		_, err := step.Run(torch.Tensor{})
		require.Error(t, err)
		require.Zero(t, step.Recorded())

		w := torch.Ones(3).SetRequiresGrad(true)
		opt := optim.NewRMSprop([]torch.Tensor{w}, 0.1)
		defer opt.Close()
		unfused := export.CompileStep(func(in []torch.Tensor) []torch.Tensor {
			opt.ZeroGrad()
			loss := w.Mul(in[0]).Sum()
			loss.Backward()
			opt.Step()
			return []torch.Tensor{loss}
		})
		for range 4 {
			_, err := unfused.Run(x)
			require.NoError(t, err)
		}
		opt.ParamGroups()[0].LR = 0.2
		_, err = unfused.Run(x)
		require.ErrorContains(t, err, "the learning rate 0.1 is part of a graph and cannot become 0.2")
		unfused.Close()
		for _, closed := range []*export.Step{unfused, {}} {
			_, err = closed.Run(x)
			require.ErrorContains(t, err, "export.CompileStep makes one")
			require.Zero(t, closed.Recorded())
			closed.Close()
		}
	})
}

// Gradients that a step adds up, and buffers that it writes to, are those of the caller.
func TestCompileStepChanges(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w, count, x := torch.Ones(3).SetRequiresGrad(true), torch.Zeros(3), torch.Ones(3)
		step := export.CompileStep(func(in []torch.Tensor) []torch.Tensor {
			w.Mul(in[0]).Sum().Backward()
			count.Narrow(0, 0, 2).AddScalarInPlace(1)
			in[0].AddScalarInPlace(1)
			return []torch.Tensor{count, in[0].T()}
		})
		defer step.Close()
		for range 6 {
			_, err := step.Run(x)
			require.NoError(t, err)
		}
		torchtest.Equal(t, count, torch.FromSlice([]float32{6, 6, 0}))
		torchtest.Equal(t, x, torch.Full([]int{3}, 7.0))
		torchtest.Equal(t, w.Grad(), torch.Full([]int{3}, 21.0))
	})
}

// Where no gradients are needed, libtorch pools signals without another operator that could be written down.
func TestCompileStepSees(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.RandN(2, 3, 9)
		pool := func(in []torch.Tensor) []torch.Tensor {
			return []torch.Tensor{F.MaxPool1d(in[0].Exp(), 2).MulScalar(2)}
		}
		step := export.CompileStep(pool)
		defer step.Close()
		for range 5 {
			out, err := step.Run(x)
			require.NoError(t, err)
			torchtest.Equal(t, out[0], pool([]torch.Tensor{x})[0])
		}
		require.Equal(t, 1, step.Recorded())
	})
}

// A step is recorded for each shape, dtype and layout of its inputs, and repeated for those that it has seen.
func TestCompileStepIsOfItsInputs(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		double := func(x torch.Tensor) torch.Tensor { return x.ToDense().MulScalar(2) }
		step := export.CompileStep(func(in []torch.Tensor) []torch.Tensor { return []torch.Tensor{double(in[0])} })
		defer step.Close()
		matrix := torch.RandN(4, 6).ReLU()
		of := []torch.Tensor{matrix, matrix.Index(torch.Slice(3)), matrix.T(), matrix.View(6, 4), matrix.To(torch.Float64), matrix.ToSparse()}
		for range 3 {
			for _, x := range of {
				out, err := step.Run(x)
				require.NoError(t, err)
				torchtest.Equal(t, out[0], double(x))
			}
		}
		require.Equal(t, len(of), step.Recorded())
		_, err := step.Run(torch.Tensor{})
		require.ErrorContains(t, err, "undefined")
		gone := torch.Ones(4, 6)
		gone.Close()
		_, err = step.Run(gone)
		require.ErrorContains(t, err, "closed")
		require.Equal(t, len(of), step.Recorded())
	})
}
