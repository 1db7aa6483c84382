package swa_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/optim/swa"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// ways are those of testdata/swa.py, by the same names.
var ways = map[string]swa.Options{
	"swa":             {},
	"swa buffers":     {UseBuffers: true},
	"swa one":         {AvgFn: swa.SWAAvgFn()},
	"swa many":        {MultiAvgFn: swa.SWAMultiAvgFn()},
	"ema":             {MultiAvgFn: swa.EMAMultiAvgFn(0.999)},
	"ema buffers":     {MultiAvgFn: swa.EMAMultiAvgFn(0.9), UseBuffers: true},
	"ema one":         {AvgFn: swa.EMAAvgFn(0.9)},
	"ema one buffers": {AvgFn: swa.EMAAvgFn(0.7), UseBuffers: true},
	"swa one buffers": {AvgFn: swa.SWAAvgFn(), UseBuffers: true},
}

func newModel() nn.Sequential {
	return nn.Sequential{nn.NewLinear(4, 6), nn.NewBatchNorm1d(6), nn.ReLU{}, nn.To(nn.NewLinear(6, 2), torch.Float64)}
}

func note(into peer.Tensors, key string, m any) {
	for name, value := range nn.StateDict(m) {
		into[key+" "+name] = value.Clone()
	}
}

// train does what main does in testdata/swa.py.
func train(model nn.Sequential, averages map[string]*swa.AveragedModel[nn.Sequential], x torch.Tensor) peer.Tensors {
	got := peer.Tensors{}
	opt := optim.NewSGD(nn.Parameters(model), 0.05)
	schedule := lr.SWA(opt, 0.01, lr.SWAOptions{Steps: new(20)})
	for step := range x.Size(0) {
		y := model[3].Forward(model[:3].Forward(x.Index(step)).To(torch.Float64))
		y.Mul(y).Mean().Backward()
		opt.Step()
		opt.ZeroGrad()
		schedule.Step()
		for _, average := range averages {
			average.UpdateParameters(model)
		}
		if slices.Contains([]int{0, 1, 24}, step) {
			note(got, fmt.Sprint("ema ", step), averages["ema"])
		}
	}
	for name, average := range averages {
		note(got, name, average)
	}
	return got
}

func batches(x torch.Tensor, failed error) iter.Seq2[torch.Tensor, error] {
	return func(yield func(torch.Tensor, error) bool) {
		for i := range x.Size(0) {
			if !yield(x.Index(i), nil) {
				return
			}
		}
		if failed != nil {
			yield(torch.Tensor{}, failed)
		}
	}
}

func TestEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(1)
		x := torch.RandN(50, 8, 4)
		want := peer.Run(t, "testdata/swa.py", peer.Tensors{"x": x})
		torch.ManualSeed(0)
		model, averages := newModel(), map[string]*swa.AveragedModel[nn.Sequential]{}
		for name, o := range ways {
			averages[name] = swa.NewAveragedModel(model, o)
		}
		got := train(model, averages, x)
		average := nn.Eval(averages["swa"])
		norm := average.Module[1].(*nn.BatchNorm1d)
		require.NoError(t, swa.UpdateBN(average, batches(x, nil), func(x torch.Tensor) { average.Module[:3].Forward(x) }))
		note(got, "update_bn", average)
		require.Equal(t, []any{nn.Evaluating, 0.1}, []any{norm.Mode, *norm.Momentum}, "as before")
		names := slices.Collect(maps.Keys(maps.Collect(nn.StateDict(average))))
		slices.SortFunc(names, func(a, b string) int {
			return strings.Index(string(want["names"].Bytes()), a) - strings.Index(string(want["names"].Bytes()), b)
		})
		require.Equal(t, string(want["names"].Bytes()), strings.Join(names, " "))

		delete(want, "names")
		delete(want, "modes")
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
		for name, value := range got {
			t.Run(name, func(t *testing.T) { torchtest.Equal(t, value, want[name]) })
		}
		nn.Close(model)
		for _, average := range averages {
			nn.Close(average)
		}
	})
}

func TestAveragedModel(t *testing.T) {
	torchtest.NoLeaks(t)
	model := nn.NewLinear(1, 1)
	average := swa.NewAveragedModel(model)
	torch.Scope(func() {
		x := torch.Ones(1, 1)
		torchtest.Equal(t, average.Forward(x), model.Forward(x))
		for _, v := range []float64{1, 2, 6} {
			torch.NoGrad(func() { model.Weight.FillInPlace(v) })
			average.UpdateParameters(model)
		}
		require.Equal(t, 3.0, average.Module.Weight.Float64())
		require.Equal(t, 3, average.NAveraged.Int())
		require.EqualError(t, torch.Try(func() { average.UpdateParameters(&nn.Linear{Weight: model.Weight}) }),
			"torch: averaged_model: the model has 1 tensors, the average has 2")
		lstm := swa.NewAveragedModel(nn.NewLSTM(1, 1))
		require.ErrorContains(t, torch.Try(func() { lstm.Forward(x) }), "*nn.LSTM has no Forward from one tensor to another")
		require.ErrorContains(t, torch.Try(func() {
			swa.NewAveragedModel(model, swa.Options{AvgFn: swa.SWAAvgFn(), MultiAvgFn: swa.SWAMultiAvgFn()})
		}), "Only one of avg_fn and multi_avg_fn should be provided")
		for _, decay := range []float64{-0.1, 1.1} {
			require.ErrorContains(t, torch.Try(func() { swa.EMAMultiAvgFn(decay) }), fmt.Sprintf("Invalid decay value %v provided", decay))
		}
	})
}

func TestUpdateBNEnds(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		norm := nn.Eval(nn.NewBatchNorm1d(4))
		broken := errors.New("broken")
		x := torch.Ones(2, 3, 4)
		require.ErrorIs(t, swa.UpdateBN(norm, batches(x, broken), func(x torch.Tensor) { norm.Forward(x) }), broken)
		require.Equal(t, 2, norm.NumBatchesTracked.Int())
		require.Error(t, torch.Try(func() { _ = swa.UpdateBN(norm, batches(x, nil), func(x torch.Tensor) { norm.Forward(x.Index(0)) }) }))
		require.Equal(t, []any{nn.Evaluating, 0.1}, []any{norm.Mode, *norm.Momentum}, "as before")
		require.NoError(t, swa.UpdateBN(nn.ReLU{}, batches(x, broken), nil), "there is nothing to do")
		nn.Close(norm)
	})
}
