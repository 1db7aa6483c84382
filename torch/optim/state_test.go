package optim_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
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
	half := peer.Tensors{}
	for name, value := range want {
		if name, ok := strings.CutPrefix(name, "half "); ok {
			half[name] = value
		}
	}
	var params []torch.Tensor
	for i := range 4 {
		params = append(params, half[fmt.Sprint("param ", i)].Clone().SetRequiresGrad(true))
	}
	opt := makers[s.Kind](params, s)
	require.NoError(t, opt.LoadStateDict(fromPython(half, len(opt.ParamGroups()))))
	takeSteps(opt, inputs, params, s, steps/2, steps)
	compare(t, opt, params, finals(want))
	opt.Close()
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

// setting is a value in the types of Python: ints where they can be, None where numbers in
// optim_test.go had to write something.
func setting(key string, value torch.Tensor) any {
	if value.Dim() > 0 {
		var list []any
		for i := range value.Size(0) {
			list = append(list, setting(key, value.Index(i)))
		}
		return list
	}
	switch f := value.Float64(); {
	case slices.Contains([]string{"nesterov", "maximize", "amsgrad", "fused", "centered", "decoupled_weight_decay"}, key):
		return f != 0
	case key == "eps" && f < 0:
		return nil
	case f == math.Trunc(f):
		return int64(f)
	default:
		return f
	}
}

func TestStateDictRoundTrip(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := newInputs()
		for _, name := range extra {
			s := parse(t, name)
			s.Scaled = false
			a, b := parameters(inputs, s.Set), parameters(inputs, s.Set)
			from, to := makers[s.Kind](a, s), makers[s.Kind](b, s)
			takeSteps(from, inputs, a, s, 0, 3)
			takeSteps(to, inputs, b, s, 1, 6) // the loaded state must make up for it
			from.ParamGroups()[0].LR = 0.5
			require.NoError(t, to.LoadStateDict(from.StateDict()))
			for i, p := range b {
				torch.NoGrad(func() { p.CopyInPlace(a[i]) })
			}
			require.Equal(t, 0.5, to.ParamGroups()[0].LR)
			takeSteps(from, inputs, a, s, 3, 6)
			takeSteps(to, inputs, b, s, 3, 6)
			for i := range a {
				torchtest.Equal(t, b[i], a[i])
			}
			from.Close()
			to.Close()
		}
	})
}

// Fused kernels run in inference mode: neither parameters nor states may come from there.
func TestFusedStepsMakeNoInferenceTensors(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		for _, name := range []string{"SGD", "Adam", "AdamW", "Adagrad"} {
			p := torch.Ones(3).SetRequiresGrad(true)
			options := map[string]any{"lr": 0.1}
			if name == "SGD" {
				options["momentum"] = 0.9
			}
			opt := makers[name]([]torch.Tensor{p}, spec{Options: options})
			for range 2 {
				p.Square().Sum().Backward()
				opt.Step()
				opt.ZeroGrad()
			}
			require.False(t, p.IsInference(), name)
			require.Less(t, p.Index(0).Float64(), 1.0, name)
			for _, state := range opt.StateDict()["state"].(map[int]map[string]any) {
				require.NotEmpty(t, state)
				for key, value := range state {
					require.False(t, value.(torch.Tensor).IsInference(), "%s: %s", name, key)
				}
			}
			opt.Close()
		}
	})
}

func TestLoadStateDictComplains(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := newInputs()
		params := parameters(inputs, "mixed")
		opt := optim.NewAdam(params, 0.1)
		takeSteps(opt, inputs, params, spec{Set: "mixed"}, 0, 1)
		for _, c := range []struct {
			name string
			edit func(optim.StateDict)
			want string
		}{
			{"no groups", func(d optim.StateDict) { delete(d, "param_groups") },
				"loaded state dict has a different number of parameter groups: 0, expected 1"},
			{"no state", func(d optim.StateDict) { d["state"] = nil }, "loaded state dict has no state"},
			{"parameters", func(d optim.StateDict) { group(d)["params"] = []int{0, 1} },
				"loaded state dict contains a parameter group that doesn't match the size of optimizer's group: group 0 has 2 parameters, expected 4"},
			{"setting", func(d optim.StateDict) { group(d)["eps"] = "small" }, "group 0: eps is small (string), expected a number"},
			{"betas", func(d optim.StateDict) { group(d)["betas"] = []float64{1} }, "group 0: betas is a []float64, expected a list of 2 numbers"},
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
	}{optim.NewSGD(params, 0.1, optim.SGDOptions{Momentum: 0.9}), optim.NewAdamW(params, 0.1)} {
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
		o := optim.SGDOptions{Momentum: 0.9}
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
		for _, opt := range []func([]torch.Tensor) optim.Scaled{
			func(p []torch.Tensor) optim.Scaled {
				return optim.NewSGD(p, 0.1, optim.SGDOptions{Momentum: 0.9, Dampening: 0.5})
			},
			func(p []torch.Tensor) optim.Scaled {
				return optim.NewSGD(p, 0.1, optim.SGDOptions{Momentum: 0.9, Dampening: 0.5, Unfused: true})
			},
			func(p []torch.Tensor) optim.Scaled { return optim.NewAdam(p, 0.1) },
		} {
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
		matrix := []torch.Tensor{torch.Ones(2, 2).SetRequiresGrad(true)}
		for _, c := range []struct {
			want string
			fn   func()
		}{
			{"sgd: optimizer got an empty parameter list", func() { optim.NewSGD(nil, 0.1) }},
			{"sgd: Invalid learning rate: -1.0", func() { optim.NewSGD(list, -1) }},
			{"sgd: Nesterov momentum requires a momentum and zero dampening", func() { optim.NewSGD(list, 1, optim.SGDOptions{Nesterov: true}) }},
			{"sgd: Invalid momentum value: -0.5", func() { optim.NewSGD(list, 1, optim.SGDOptions{Momentum: -0.5}) }},
			{"sgd: Invalid weight_decay value: -1.0", func() { optim.NewSGD(list, 1, optim.SGDOptions{WeightDecay: -1}) }},
			{"sgd: some parameters appear in more than one parameter group", func() { optim.NewSGD(list, 1).AddGroup(list, 1) }},
			{"adam: optimizer contains a parameter group with duplicate parameters", func() { optim.NewAdam([]torch.Tensor{p, p}, 1) }},
			{"adam: parameter 1 is undefined", func() { optim.NewAdam([]torch.Tensor{p, {}}, 1) }},
			{"adam: can't optimize a non-leaf Tensor", func() { optim.NewAdam([]torch.Tensor{p.MulScalar(2)}, 1) }},
			{"adam: Invalid beta parameter at index 0: 1.0", func() { optim.NewAdam(list, 1, optim.AdamOptions{Betas: new([2]float64{1, 0})}) }},
			{"adamw: Invalid beta parameter at index 1: 1.0", func() { optim.NewAdamW(list, 1, optim.AdamOptions{Betas: new([2]float64{0.9, 1})}) }},
			{"adamw: Invalid epsilon value: -1.0", func() { optim.NewAdamW(list, 1, optim.AdamOptions{Eps: new(-1.0)}) }},
			{"adamw: Invalid weight_decay value: -1.0", func() { optim.NewAdamW(list, 1, optim.AdamOptions{WeightDecay: new(-1.0)}) }},
			{"adadelta: Invalid rho value: 1.1", func() { optim.NewAdadelta(list, 1, optim.AdadeltaOptions{Rho: new(1.1)}) }},
			{"adafactor: epsilon1 should be >= 0 but is: -1e-30",
				func() { optim.NewAdafactor(list, 1, optim.AdafactorOptions{Eps: [2]*float64{new(-1e-30)}}) }},
			{"adafactor: Clipping threshold d should be >= 1 but is: 0.0",
				func() { optim.NewAdafactor(list, 1, optim.AdafactorOptions{D: new(0.0)}) }},
			{"adafactor: beta2_decay should be <= 0 but is: 0.8",
				func() { optim.NewAdafactor(list, 1, optim.AdafactorOptions{Beta2Decay: new(0.8)}) }},
			{"adagrad: Invalid lr_decay value: -0.5", func() { optim.NewAdagrad(list, 1, optim.AdagradOptions{LRDecay: -0.5}) }},
			{"adamax: Invalid beta parameter at index 1: 1.0",
				func() { optim.NewAdamax(list, 1, optim.AdamaxOptions{Betas: new([2]float64{0.5, 1})}) }},
			{"asgd: Invalid weight_decay value: -0.5", func() { optim.NewASGD(list, 1, optim.ASGDOptions{WeightDecay: -0.5}) }},
			{"nadam: Invalid momentum_decay value: -0.2", func() { optim.NewNAdam(list, 1, optim.NAdamOptions{MomentumDecay: new(-0.2)}) }},
			{"radam: Invalid weight_decay value: -1.0", func() { optim.NewRAdam(list, 1, optim.RAdamOptions{WeightDecay: -1}) }},
			{"rmsprop: Invalid momentum value: -1.0", func() { optim.NewRMSprop(list, 1, optim.RMSpropOptions{Momentum: -1}) }},
			{"rprop: Invalid eta values: 1.0, 0.5", func() { optim.NewRprop(list, 1, optim.RpropOptions{Etas: [2]float64{1, 0.5}}) }},
			{"muon: Muon only supports 2D parameters whereas we found a parameter with size: [1]", func() { optim.NewMuon(list, 1) }},
			{"muon: Adjust learning rate function arbitrary is not supported",
				func() { optim.NewMuon(matrix, 1, optim.MuonOptions{AdjustLR: "arbitrary"}) }},
			{"muon: momentum should be >= 0 but is: -1.0", func() { optim.NewMuon(matrix, 1, optim.MuonOptions{Momentum: new(-1.0)}) }},
			{"sparse_adam: SparseAdam does not support dense gradients, please consider Adam instead", func() {
				p.SetGrad(torch.Ones(1))
				optim.NewSparseAdam(list, 1).Step()
			}},
			{"adam: it does not support sparse gradients", func() {
				p.SetGrad(torch.Ones(1).ToSparse())
				optim.NewAdam(list, 1).Step()
			}},
		} {
			require.EqualError(t, torch.Try(c.fn), "torch: "+c.want)
		}
	})
}

func ExampleSGD() {
	torch.Scope(func() {
		x := torch.FromSlice([]float32{4}).SetRequiresGrad(true)
		opt := optim.NewSGD([]torch.Tensor{x}, 0.25, optim.SGDOptions{Momentum: 0.5})
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
	//   group 0: 1 parameters, lr 0.25, momentum 0.5, dampening 0, weight_decay 0, nesterov false, maximize false, fused true
}

// The settings may have been JSON: the numbers of parameters are floats then.
func TestStateDictsSurviveJSON(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		params := []torch.Tensor{torch.TensorOptions{RequiresGrad: true}.Ones(2)}
		opt := optim.NewSGD(params, 0.1, optim.SGDOptions{Momentum: 0.9})
		defer opt.Close()
		params[0].Sum().Backward()
		opt.Step()
		d := opt.StateDict()
		text, err := json.Marshal(d["param_groups"])
		require.NoError(t, err)
		var groups []any
		require.NoError(t, json.Unmarshal(text, &groups))
		d["param_groups"] = groups
		require.NoError(t, opt.LoadStateDict(d))
		groups[0].(map[string]any)["params"] = []any{0.5}
		require.ErrorContains(t, opt.LoadStateDict(d), "expected a number for each parameter")
	})
}
