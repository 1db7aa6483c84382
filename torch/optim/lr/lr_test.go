package lr_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// schedule is what this test does with all of them.
type schedule interface {
	Steps() int
	LastLR() []float64
	StateDict() map[string]any
	LoadStateDict(state map[string]any) error
}

// step steps a schedule, with the metrics of testdata/schedules.py where it wants one.
func step(s schedule, n int) {
	switch s := s.(type) {
	case *lr.Schedule:
		s.Step()
	case fraction:
		if n%5 == 0 {
			s.Step()
			return
		}
		s.StepTo(float64(n+1) / 7)
	case *lr.Plateau:
		s.Step(metric(n))
	}
}

// fraction is a schedule that is mostly stepped by parts.
type fraction struct{ *lr.Schedule }

func metric(step int) float64 { return math.Exp(-float64(step)/50) + math.Sin(float64(step))/10 }

func reciprocal(x float64) float64 { return 1 / x }

// schedules are those of testdata/schedules.py, by the same names.
var schedules = map[string]func(optim.Optimizer) schedule{
	"multiplicative": func(o optim.Optimizer) schedule {
		return lr.Multiplicative(o, func(step int) float64 { return 1 - 1/(2+float64(step)) })
	},
	"constant":      func(o optim.Optimizer) schedule { return lr.Constant(o, 0.3, 40) },
	"polynomial":    func(o optim.Optimizer) schedule { return lr.Polynomial(o, 300, 0.9) },
	"restarts":      func(o optim.Optimizer) schedule { return lr.CosineAnnealingWarmRestarts(o, 10, 2, 0.001) },
	"restarts-even": func(o optim.Optimizer) schedule { return lr.CosineAnnealingWarmRestarts(o, 30, 1, 0) },
	"fraction":      func(o optim.Optimizer) schedule { return fraction{lr.CosineAnnealingWarmRestarts(o, 3, 2, 0.001)} },
	"fraction-even": func(o optim.Optimizer) schedule { return fraction{lr.CosineAnnealingWarmRestarts(o, 7, 1, 0)} },
	"cyclic":        func(o optim.Optimizer) schedule { return lr.Cyclic(o, 0.01, 0.3, lr.CyclicOptions{Up: 20, Down: 35}) },
	"cyclic-halving": func(o optim.Optimizer) schedule {
		return lr.Cyclic(o, 0.01, 0.3, lr.CyclicOptions{Up: 20, Halving: true, FixedMomentum: true})
	},
	"cyclic-gamma": func(o optim.Optimizer) schedule {
		return lr.Cyclic(o, 0.01, 0.3, lr.CyclicOptions{Up: 20, Gamma: 0.99})
	},
	"cyclic-scale": func(o optim.Optimizer) schedule {
		return lr.Cyclic(o, 0.01, 0.3, lr.CyclicOptions{Up: 20, Scale: reciprocal})
	},
	"cyclic-step": func(o optim.Optimizer) schedule {
		return lr.Cyclic(o, 0.01, 0.3, lr.CyclicOptions{Up: 20, Scale: func(x float64) float64 { return 1 / (1 + x) }, ByStep: true})
	},
	"swa":        func(o optim.Optimizer) schedule { return lr.SWA(o, 0.05, lr.SWAOptions{Steps: new(60)}) },
	"swa-linear": func(o optim.Optimizer) schedule { return lr.SWA(o, 0.05, lr.SWAOptions{Linear: true}) },
	"swa-now":    func(o optim.Optimizer) schedule { return lr.SWA(o, 0.05, lr.SWAOptions{Steps: new(0)}) },
	"plateau":    func(o optim.Optimizer) schedule { return lr.ReduceOnPlateau(o) },
	"plateau-max": func(o optim.Optimizer) schedule {
		return lr.ReduceOnPlateau(o,
			lr.PlateauOptions{Max: true, Factor: 0.5, Patience: new(3), Threshold: new(0.01), Absolute: true, Cooldown: 7, MinLR: 1e-4,
				Eps: new(1e-5)})
	},
	"plateau-min-abs": func(o optim.Optimizer) schedule {
		return lr.ReduceOnPlateau(o, lr.PlateauOptions{Factor: 0.7, Patience: new(0), Absolute: true})
	},
	"plateau-max-rel": func(o optim.Optimizer) schedule {
		return lr.ReduceOnPlateau(o, lr.PlateauOptions{Max: true, Factor: 0.9, Patience: new(2)})
	},
	"sequence": func(o optim.Optimizer) schedule {
		return lr.Sequential([]*lr.Schedule{lr.Linear(o, 0.1, 1, 20), lr.CosineAnnealing(o, 100, 0.001), lr.Exponential(o, 0.99)}, []int{20, 200})
	},
	"sequence-2": func(o optim.Optimizer) schedule {
		return lr.Sequential([]*lr.Schedule{lr.Constant(o, 0.1, 10), lr.Step(o, 30, 0.5), lr.Polynomial(o, 100, 2),
			lr.CosineAnnealingWarmRestarts(o, 20, 2, 0)}, []int{15, 100, 190})
	},
	"sequence-3": func(o optim.Optimizer) schedule {
		return lr.Sequential([]*lr.Schedule{lr.CosineAnnealingWarmRestarts(o, 7, 1, 0), lr.Multiplicative(o, func(int) float64 { return 0.99 }),
			lr.Linear(o, 0.5, 1, 30), lr.Constant(o, 0.3, 40)}, []int{15, 100, 190})
	},
	"sequence-4": func(o optim.Optimizer) schedule {
		return lr.Sequential([]*lr.Schedule{lr.Multiplicative(o, func(int) float64 { return 0.99 }), lr.MultiStep(o, []int{10, 40}, 0.2),
			lr.Lambda(o, func(step int) float64 { return 1 / float64(1+step) }), lr.SWA(o, 0.05, lr.SWAOptions{Steps: new(20)})},
			[]int{15, 100, 190})
	},
	"chained": func(o optim.Optimizer) schedule {
		return lr.Chained(lr.Constant(o, 0.1, 10), lr.Exponential(o, 0.99), lr.Linear(o, 0.5, 1, 30))
	},
	"chained-sequence": func(o optim.Optimizer) schedule {
		return lr.Chained(lr.Sequential([]*lr.Schedule{lr.Linear(o, 0.1, 1, 20), lr.Exponential(o, 0.99)}, []int{20}), lr.Step(o, 50, 0.3))
	},
	"adam-onecycle": func(o optim.Optimizer) schedule { return lr.OneCycle(o, 0.4, 500) },
	"adam-cyclic":   func(o optim.Optimizer) schedule { return lr.Cyclic(o, 0.01, 0.3, lr.CyclicOptions{Up: 20}) },
	"step":          func(o optim.Optimizer) schedule { return lr.Step(o, 7, 0.3) },
	"multistep":     func(o optim.Optimizer) schedule { return lr.MultiStep(o, []int{5, 30, 30, 100}, 0.3) },
	"exponential":   func(o optim.Optimizer) schedule { return lr.Exponential(o, 0.97) },
	"linear":        func(o optim.Optimizer) schedule { return lr.Linear(o, 0.1, 0.9, 60) },
	"cosine":        func(o optim.Optimizer) schedule { return lr.CosineAnnealing(o, 40, 0.001) },
	"lambda": func(o optim.Optimizer) schedule {
		return lr.Lambda(o, func(step int) float64 { return 1 / float64(1+step) })
	},
	"onecycle": func(o optim.Optimizer) schedule { return lr.OneCycle(o, 0.4, 500) },
	"onecycle-linear": func(o optim.Optimizer) schedule {
		return lr.OneCycle(o, 0.4, 500, lr.OneCycleOptions{Linear: true, PctStart: 0.2, FixedMomentum: true})
	},
	"onecycle-three": func(o optim.Optimizer) schedule {
		return lr.OneCycle(o, 0.4, 500, lr.OneCycleOptions{ThreePhase: true, DivFactor: 10, FinalDivFactor: 100})
	},
}

// optimizer has two groups; cases that begin with "adam" use Adam.
func optimizer(name ...string) optim.Optimizer {
	one, two := []torch.Tensor{torch.Zeros(1)}, []torch.Tensor{torch.Zeros(1)}
	if len(name) > 0 && strings.HasPrefix(name[0], "adam") {
		opt := optim.NewAdam(one, 0.1)
		opt.AddGroup(two, 0.037)
		return opt
	}
	o := optim.SGDOptions{Momentum: 0.9}
	opt := optim.NewSGD(one, 0.1, o)
	opt.AddGroup(two, 0.037, o)
	return opt
}

func row(opt optim.Optimizer) (row []float64) {
	for _, g := range opt.ParamGroups() {
		row = append(row, g.LR, *g.Momentum())
	}
	return row
}

// All steps here, and half of them in Python and the other half here, and the other way round.
func TestEveryRateEqualsPythons(t *testing.T) {
	torchtest.NoLeaks(t)
	const steps = 500
	torch.Scope(func() {
		want, halves := peer.Run(t, "testdata/schedules.py", nil, strconv.Itoa(steps)), peer.Tensors{}
		require.Len(t, want, 2*len(schedules))
		for name, make := range schedules {
			opt, other := optimizer(name), optimizer(name)
			sched := make(opt)
			var resumed schedule
			for n := range steps {
				rates := torch.Values[float64](want[name].Index(n))
				require.Equal(t, rates, row(opt), "%s, step %d", name, n)
				if resumed != nil {
					require.Equal(t, rates[0], row(other)[0], "%s, step %d, resumed", name, n)
					require.Equal(t, rates[2], row(other)[2], "%s, step %d, resumed", name, n)
					step(resumed, n)
				}
				if step(sched, n); n+1 == steps/2 {
					state := decode(t, torch.Values[uint8](want[name+" state"]))
					contained(t, name, sched.StateDict(), state)
					resumed = make(other)
					require.NoError(t, resumed.LoadStateDict(state), name)
					for i, g := range other.ParamGroups() {
						g.LR = opt.ParamGroups()[i].LR
					}
					halves[name+" state"] = torch.FromSlice(encode(t, sched.StateDict()))
					halves[name+" rates"] = torch.FromSlice(sched.LastLR())
				}
			}
			if !strings.HasPrefix(name, "chained") && !strings.HasPrefix(name, "fraction") { // which count nothing, or not steps
				require.Equal(t, steps, sched.Steps())
			}
		}
		for name, got := range peer.Run(t, "testdata/schedules.py", halves, strconv.Itoa(steps)) {
			for i, column := range got.Unbind(1) {
				skip := i % 2 // the momentum before the first step is the optimizer's to store
				torchtest.Equal(t, column.Narrow(0, skip, steps/2-skip), want[name].Select(1, i).Narrow(0, steps/2+skip, steps/2-skip))
			}
		}
	})
}

func encode(t *testing.T, state map[string]any) []uint8 {
	t.Helper()
	text, err := json.Marshal(state)
	require.NoError(t, err)
	return text
}

// decode reads JSON as Python writes it.
func decode(t *testing.T, text []uint8) (state map[string]any) {
	t.Helper()
	plain := strings.ReplaceAll(string(text), "Infinity", "1e308")
	require.NoError(t, json.Unmarshal([]byte(plain), &state), plain)
	return state
}

// contained wants every entry of our state in PyTorch's.
func contained(t *testing.T, name string, ours, theirs map[string]any) {
	t.Helper()
	for key, value := range decode(t, encode(t, ours)) {
		if key == "_last_lr" && strings.Contains(name, " part ") {
			continue // ours are the rates now, PyTorch's those between two parts
		}
		if key != "_schedulers" {
			require.Equal(t, theirs[key], value, "%s: %s", name, key)
			continue
		}
		for i, part := range ours[key].([]any) {
			contained(t, fmt.Sprint(name, " part ", i), part.(map[string]any), theirs[key].([]any)[i].(map[string]any))
		}
	}
}

func TestStateGoesOnWhereItStood(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		for name, make := range schedules {
			straight, first := optimizer(name), optimizer(name)
			a, b := make(straight), make(first)
			for n := range 37 {
				step(a, n)
				step(b, n)
			}
			resumed := optimizer(name)
			c := make(resumed)
			require.NoError(t, c.LoadStateDict(decode(t, encode(t, b.StateDict()))))
			for i, g := range resumed.ParamGroups() {
				g.LR = first.ParamGroups()[i].LR // a plateau leaves it to the optimizer's state
			}
			for n := range 50 {
				step(a, 37+n)
				step(c, 37+n)
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
			"factor":        func() { lr.Constant(optimizer(), 1.5, 5) },
			"plateau":       func() { lr.ReduceOnPlateau(optimizer(), lr.PlateauOptions{Factor: 1}) },
			"restarts":      func() { lr.CosineAnnealingWarmRestarts(optimizer(), 0, 1, 0) },
			"growth":        func() { lr.CosineAnnealingWarmRestarts(optimizer(), 5, 0, 0) },
			"no parts":      func() { lr.Sequential(nil, nil) },
			"parts":         func() { lr.Step(optimizer(), 1, 0.1).StepTo(0.5) },
			"before":        func() { lr.CosineAnnealingWarmRestarts(optimizer(), 5, 1, 0).StepTo(-1) },
			"nothing":       func() { lr.Chained() },
			"two":           func() { lr.Chained(lr.Exponential(optimizer(), 1), lr.Exponential(optimizer(), 1)) },
			"milestones": func() {
				opt := optimizer()
				lr.Sequential([]*lr.Schedule{lr.Exponential(opt, 1), lr.Exponential(opt, 1)}, []int{1, 2})
			},
			"composed": func() { lr.Sequential([]*lr.Schedule{lr.Chained(lr.Exponential(optimizer(), 1))}, nil) },
			"no momentum": func() {
				lr.Cyclic(optim.NewRprop([]torch.Tensor{torch.Zeros(1)}, 1), 1, 2)
			},
			"past the end": func() {
				s := lr.OneCycle(optimizer(), 0.1, 3)
				for range 4 {
					s.Step()
				}
			},
		} {
			err := torch.Try(make)
			require.True(t, errors.Is(err, torch.ErrValue) || errors.Is(err, torch.ErrNotImplemented), "%s: %v", name, err)
		}
	})
}

// An optimizer that was made without momentum gets the cycle's, as in PyTorch.
func TestOneCycleBringsItsMomentum(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		plain := optim.NewSGD([]torch.Tensor{torch.Zeros(1)}, 0.1)
		lr.OneCycle(plain, 0.1, 10)
		require.InDeltaSlice(t, []float64{0.1 / 25, 0.95}, row(plain), 1e-12)
	})
}

func ExampleSequential() {
	w := torch.TensorOptions{RequiresGrad: true}.Zeros(1)
	opt := optim.NewSGD([]torch.Tensor{w}, 1)
	sched := lr.Sequential([]*lr.Schedule{lr.Linear(opt, 0.25, 1, 3), lr.Exponential(opt, 0.5)}, []int{3})
	for range 6 {
		fmt.Printf("%.3g ", sched.LastLR()[0])
		opt.Step()
		sched.Step()
	}
	// Output: 0.25 0.5 0.75 1 0.5 0.25
}

func Example() {
	w := torch.TensorOptions{RequiresGrad: true}.Zeros(1)
	opt := optim.NewSGD([]torch.Tensor{w}, 1)
	sched := lr.Step(opt, 2, 0.1)
	for range 5 {
		fmt.Printf("%.2g ", sched.LastLR()[0])
		opt.Step()
		sched.Step()
	}
	// Output: 1 1 0.1 0.1 0.01
}
