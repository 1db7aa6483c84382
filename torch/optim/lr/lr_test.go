package lr_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// schedules are those of testdata/schedules.py, by the same names.
var schedules = map[string]func(optim.Optimizer) *lr.Schedule{
	"step":        func(o optim.Optimizer) *lr.Schedule { return lr.Step(o, 7, 0.3) },
	"multistep":   func(o optim.Optimizer) *lr.Schedule { return lr.MultiStep(o, []int{5, 30, 30, 100}, 0.3) },
	"exponential": func(o optim.Optimizer) *lr.Schedule { return lr.Exponential(o, 0.97) },
	"linear":      func(o optim.Optimizer) *lr.Schedule { return lr.Linear(o, 0.1, 0.9, 60) },
	"cosine":      func(o optim.Optimizer) *lr.Schedule { return lr.CosineAnnealing(o, 40, 0.001) },
	"lambda": func(o optim.Optimizer) *lr.Schedule {
		return lr.Lambda(o, func(step int) float64 { return 1 / float64(1+step) })
	},
	"onecycle": func(o optim.Optimizer) *lr.Schedule { return lr.OneCycle(o, 0.4, 500) },
	"onecycle-linear": func(o optim.Optimizer) *lr.Schedule {
		return lr.OneCycle(o, 0.4, 500, lr.OneCycleOptions{Linear: true, PctStart: 0.2, FixedMomentum: true})
	},
	"onecycle-three": func(o optim.Optimizer) *lr.Schedule {
		return lr.OneCycle(o, 0.4, 500, lr.OneCycleOptions{ThreePhase: true, DivFactor: 10, FinalDivFactor: 100})
	},
}

func optimizer() *optim.SGD {
	o := &optim.SGDOptions{Momentum: 0.9}
	opt := optim.NewSGD([]torch.Tensor{torch.Zeros(1)}, 0.1, o)
	opt.AddGroup([]torch.Tensor{torch.Zeros(1)}, 0.037, o)
	return opt
}

func row(opt optim.Optimizer) (row []float64) {
	for _, g := range opt.ParamGroups() {
		row = append(row, g.LR, *g.Momentum())
	}
	return row
}

func TestEveryRateEqualsPythons(t *testing.T) {
	torchtest.NoLeaks(t)
	const steps = 500
	torch.Scope(func() {
		want := peer.Run(t, "testdata/schedules.py", nil, strconv.Itoa(steps))
		require.Len(t, want, len(schedules))
		for name, make := range schedules {
			opt := optimizer()
			sched := make(opt)
			for step := range steps {
				require.Equal(t, torch.Values[float64](want[name].Index(step)), row(opt), "%s, step %d", name, step)
				sched.Step()
			}
			require.Equal(t, steps, sched.Steps())
		}
	})
}

func TestStateGoesOnWhereItStood(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		for name, make := range schedules {
			straight, first := optimizer(), optimizer()
			a, b := make(straight), make(first)
			for range 37 {
				a.Step()
				b.Step()
			}
			text, err := json.Marshal(b.StateDict())
			require.NoError(t, err)
			var state map[string]any
			require.NoError(t, json.Unmarshal(text, &state))

			resumed := optimizer()
			c := make(resumed)
			require.NoError(t, c.LoadStateDict(state))
			for range 50 {
				a.Step()
				c.Step()
				require.Equal(t, row(straight), row(resumed), name)
			}
		}
	})
}

func TestStatesThatDoNotFit(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		opt := optimizer()
		sched := lr.Step(opt, 2, 0.1)
		for _, state := range []map[string]any{
			nil,
			{"last_epoch": "three"},
			{"last_epoch": 1.5},
			{"last_epoch": -1},
			{"last_epoch": 3, "base_lrs": []float64{1}, "_last_lr": []float64{1}},
			{"last_epoch": 3, "base_lrs": []float64{1, 2}, "_last_lr": []any{"x", 1.0}},
			{"last_epoch": 3, "base_lrs": []float64{1, 2}},
		} {
			require.Error(t, sched.LoadStateDict(state), "%v", state)
			require.Zero(t, sched.Steps())
			require.Equal(t, []float64{0.1, 0.037}, sched.LastLR())
		}
	})
}

func TestMistakes(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		for name, make := range map[string]func(){
			"no steps":      func() { lr.OneCycle(optimizer(), 0.1, 0) },
			"pct":           func() { lr.OneCycle(optimizer(), 0.1, 10, lr.OneCycleOptions{PctStart: 1.5}) },
			"step size":     func() { lr.Step(optimizer(), 0, 0.1) },
			"first factor":  func() { lr.Linear(optimizer(), 0, 1, 5) },
			"last factor":   func() { lr.Linear(optimizer(), 1, 2, 5) },
			"cosine length": func() { lr.CosineAnnealing(optimizer(), 0, 0) },
			"past the end": func() {
				s := lr.OneCycle(optimizer(), 0.1, 3)
				for range 4 {
					s.Step()
				}
			},
		} {
			require.ErrorIs(t, torch.Try(make), torch.ErrValue, name)
		}
	})
}

// An optimizer that was made without momentum gets the cycle's, as in PyTorch.
func TestOneCycleBringsItsMomentum(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		plain := optim.NewSGD([]torch.Tensor{torch.Zeros(1)}, 0.1, nil)
		lr.OneCycle(plain, 0.1, 10)
		require.InDeltaSlice(t, []float64{0.1 / 25, 0.95}, row(plain), 1e-12)
	})
}

func Example() {
	w := torch.TensorOptions{RequiresGrad: true}.Zeros(1)
	opt := optim.NewSGD([]torch.Tensor{w}, 1, nil)
	sched := lr.Step(opt, 2, 0.1)
	for range 5 {
		fmt.Printf("%.2g ", sched.LastLR()[0])
		opt.Step()
		sched.Step()
	}
	// Output: 1 1 0.1 0.1 0.01
}
