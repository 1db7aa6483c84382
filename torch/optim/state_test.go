package optim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// goOn takes the state that Python had half the way, and goes the other half.
func goOn(t *testing.T, s spec, inputs, want peer.Tensors) {
	half := pick(want, s.String()+"/half ")
	var params []torch.Tensor
	for i := range 4 {
		params = append(params, half[fmt.Sprint("param ", i)].Clone().SetRequiresGrad(true))
	}
	opt := s.make(params)
	require.NoError(t, opt.LoadStateDict(fromPython(half, len(opt.ParamGroups()))))
	for step := steps / 2; step < steps; step++ {
		torch.Scope(func() { takeStep(opt, inputs, params, step, s.Scaled) })
	}
	compare(t, opt, params, pick(want, s.String()+"/"))
}

// fromPython is a state dict in the types that a reader of Python's files would use.
func fromPython(half peer.Tensors, groups int) optim.StateDict {
	state, list := map[any]any{}, make([]any, groups)
	for i := range list {
		list[i] = map[any]any{}
	}
	for name, value := range half {
		what, rest, _ := strings.Cut(name, " ")
		number, key, _ := strings.Cut(rest, " ")
		var i int64
		fmt.Sscan(number, &i)
		switch what {
		case "state":
			if state[i] == nil {
				state[i] = map[any]any{}
			}
			state[i].(map[any]any)[key] = value
		case "group":
			list[i].(map[any]any)[key] = setting(key, value)
		}
	}
	return optim.StateDict{"state": state, "param_groups": list}
}

func setting(key string, value torch.Tensor) any {
	switch key {
	case "params":
		var numbers []any
		for _, v := range torch.Values[int64](value) {
			numbers = append(numbers, v)
		}
		return numbers
	case "betas":
		v := torch.Values[float64](value)
		return []any{v[0], v[1]}
	case "nesterov", "maximize", "amsgrad":
		return value.Float64() != 0
	}
	return value.Float64()
}

func TestStateDictRoundTrip(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := newInputs()
		for _, s := range specs {
			a, b := parameters(inputs), parameters(inputs)
			from, to := s.make(a), s.make(b)
			for step := range 3 {
				takeStep(from, inputs, a, step, false)
				takeStep(to, inputs, b, step, false)
			}
			for i := range 2 { // step 3 differs: the loaded state must make up for it
				setGradients(inputs, b, i)
				to.Step()
			}
			from.ParamGroups()[0].LR = 0.5
			require.NoError(t, to.LoadStateDict(from.StateDict()))
			for i, p := range b {
				torch.NoGrad(func() { p.CopyInPlace(a[i]) })
			}
			require.Equal(t, 0.5, to.ParamGroups()[0].LR)
			for step := 3; step < 6; step++ {
				takeStep(from, inputs, a, step, false)
				takeStep(to, inputs, b, step, false)
			}
			for i := range a {
				torchtest.Equal(t, b[i], a[i])
			}
		}
	})
}

func TestLoadStateDictComplains(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := newInputs()
		params := parameters(inputs)
		opt := optim.NewAdam(params, 0.1, nil)
		takeStep(opt, inputs, params, 0, false)
		for _, c := range []struct {
			name string
			edit func(optim.StateDict)
			want string
		}{
			{"no groups", func(d optim.StateDict) { delete(d, "param_groups") }, "expected 1 param_groups, got 0"},
			{"no state", func(d optim.StateDict) { d["state"] = nil }, "it has no state"},
			{"parameters", func(d optim.StateDict) { group(d)["params"] = []int{0, 1} }, "group 0 has 2 parameters, expected 4"},
			{"setting", func(d optim.StateDict) { group(d)["eps"] = "small" }, "group 0: eps is small (string), expected float64"},
			{"betas", func(d optim.StateDict) { group(d)["betas"] = []float64{1} }, "group 0: betas is [1] ([]float64), expected [2]float64"},
			{"shape", func(d optim.StateDict) { states(d)[1]["exp_avg"] = torch.Zeros(3) }, "parameter 1: exp_avg has shape [3], expected [40]"},
			{"missing", func(d optim.StateDict) { delete(states(d)[2], "exp_avg_sq") }, "parameter 2: exp_avg_sq is missing"},
		} {
			t.Run(c.name, func(t *testing.T) {
				before := torch.Values[float64](states(opt.StateDict())[0]["exp_avg"].(torch.Tensor))
				d := opt.StateDict()
				c.edit(d)
				require.EqualError(t, opt.LoadStateDict(d), "optim: the state dict does not fit the optimizer: "+c.want)
				require.Equal(t, before, torch.Values[float64](states(opt.StateDict())[0]["exp_avg"].(torch.Tensor)))
				require.Equal(t, 0.1, opt.ParamGroups()[0].LR)
			})
		}
	})
}

func group(d optim.StateDict) map[string]any          { return d["param_groups"].([]map[string]any)[0] }
func states(d optim.StateDict) map[int]map[string]any { return d["state"].(map[int]map[string]any) }

// State is made inside the step's scope and must outlive it; Close frees it.
func TestStateOutlivesScopes(t *testing.T) {
	torchtest.NoLeaks(t)
	inputs, params := newInputs(), []torch.Tensor{torch.Ones(3).SetRequiresGrad(true)}
	defer func() {
		for _, x := range inputs {
			x.Close()
		}
	}()
	for _, opt := range []interface {
		optim.Optimizer
		Close()
	}{optim.NewSGD(params, 0.1, &optim.SGDOptions{Momentum: 0.9}), optim.NewAdamW(params, 0.1, nil)} {
		for range 3 {
			torch.Scope(func() {
				params[0].MulScalar(2).Sum().Backward()
				opt.Step()
				opt.ZeroGrad()
			})
		}
		before := torch.Stats()
		require.Zero(t, before.Scoped)
		opt.Close()
		require.Less(t, torch.Stats().Unscoped, before.Unscoped)
	}
}

// A parameter whose first gradient comes late starts then, on its own.
func TestLateGradients(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		o := &optim.SGDOptions{Momentum: 0.9}
		early, late := torch.Ones(2).SetRequiresGrad(true), torch.Ones(2).SetRequiresGrad(true)
		alone := torch.Ones(2).SetRequiresGrad(true)
		both, single := optim.NewSGD([]torch.Tensor{early, late}, 0.1, o), optim.NewSGD([]torch.Tensor{alone}, 0.1, o)
		for step := range 4 {
			early.SetGrad(torch.Ones(2))
			if step >= 2 {
				late.SetGrad(torch.Ones(2))
				alone.SetGrad(torch.Ones(2))
				single.Step()
			}
			both.Step()
			both.ZeroGrad()
		}
		torchtest.Equal(t, late, alone)
		require.Less(t, early.Index(0).Float64(), late.Index(0).Float64())
	})
}

// An infinity at the first step of a parameter leaves no trace, though the kernel would
// leave the momentum without values.
func TestInfinityAtTheFirstStep(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		for _, opt := range []func([]torch.Tensor) optim.Scaled{sgd(0.1, &optim.SGDOptions{Momentum: 0.9, Dampening: 0.5}), adam(0.1, nil)} {
			newParams := func() []torch.Tensor {
				return []torch.Tensor{torch.Ones(2).SetRequiresGrad(true), torch.Ones(2).SetRequiresGrad(true)}
			}
			a, b := newParams(), newParams()
			with, without := opt(a), opt(b)
			for i := range a {
				a[i].SetGrad(torch.Full([]int{2}, 7.0)) // at i = 1 beside a parameter that has begun
				with.StepScaled(torch.Tensor{}, torch.FromValue(float32(1)))
				for range 3 {
					for j := range i + 1 {
						a[j].SetGrad(torch.Ones(2))
						b[j].SetGrad(torch.Ones(2))
					}
					with.Step()
					without.Step()
				}
			}
			torchtest.Equal(t, a[0], b[0])
			torchtest.Equal(t, a[1], b[1])
		}
	})
}

func TestComplaints(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p := torch.Ones(1).SetRequiresGrad(true)
		list := []torch.Tensor{p}
		for want, fn := range map[string]func(){
			"torch: sgd: there are no parameters to optimize":                                      func() { optim.NewSGD(nil, 0.1, nil) },
			"torch: sgd: the learning rate cannot be -1":                                           func() { optim.NewSGD(list, -1, nil) },
			"torch: sgd: Nesterov needs a momentum, and no dampening":                              func() { optim.NewSGD(list, 1, &optim.SGDOptions{Nesterov: true}) },
			"torch: sgd: the momentum cannot be negative":                                          func() { optim.NewSGD(list, 1, &optim.SGDOptions{Momentum: -1}) },
			"torch: sgd: the weight decay cannot be negative":                                      func() { optim.NewSGD(list, 1, &optim.SGDOptions{WeightDecay: -1}) },
			"torch: adam: parameter 1 is given twice":                                              func() { optim.NewAdam([]torch.Tensor{p, p}, 1, nil) },
			"torch: adam: parameter 0 is the result of an operation; only leaves can be optimized": func() { optim.NewAdam([]torch.Tensor{p.MulScalar(2)}, 1, nil) },
			"torch: adamw: the betas must lie between 0 and 1":                                     func() { optim.NewAdamW(list, 1, &optim.AdamOptions{Betas: [2]float64{0.9, 1}}) },
			"torch: adamw: eps cannot be negative":                                                 func() { optim.NewAdamW(list, 1, &optim.AdamOptions{Eps: new(-1.0)}) },
			"torch: adamw: the weight decay cannot be negative":                                    func() { optim.NewAdamW(list, 1, &optim.AdamOptions{WeightDecay: new(-1.0)}) },
			"torch: sgd: parameter 0 is given twice":                                               func() { optim.NewSGD(list, 1, nil).AddGroup(list, 1, nil) },
		} {
			require.EqualError(t, torch.Try(fn), want)
		}
	})
}

func ExampleSGD() {
	torch.Scope(func() {
		x := torch.FromSlice([]float32{4}).SetRequiresGrad(true)
		opt := optim.NewSGD([]torch.Tensor{x}, 0.25, &optim.SGDOptions{Momentum: 0.5})
		for range 3 {
			x.Mul(x).Sum().Backward()
			opt.Step()
			opt.ZeroGrad()
			fmt.Println(x.Detach())
		}
		fmt.Println(opt)
	})
	// Output:
	// tensor([2.])
	// tensor([0.])
	// tensor([-1.])
	// sgd
	//   group 0: 1 parameters, lr 0.25, momentum 0.5, dampening 0, weight_decay 0, nesterov false, maximize false
}
