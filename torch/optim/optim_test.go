package optim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// settings are an optimizer's options by PyTorch's names.
type settings map[string]any

// spec is what testdata/optim.py makes an optimizer of.
type spec struct {
	Kind    string   `json:"kind"`
	Options settings `json:"options"`
	Second  settings `json:"second,omitempty"` // of a second group
	Scaled  bool     `json:"scaled,omitempty"`
	make    func(params []torch.Tensor) optim.Scaled
}

func (s spec) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func sgd(lr float64, o *optim.SGDOptions) func([]torch.Tensor) optim.Scaled {
	return func(p []torch.Tensor) optim.Scaled { return optim.NewSGD(p, lr, o) }
}

func adam(lr float64, o *optim.AdamOptions) func([]torch.Tensor) optim.Scaled {
	return func(p []torch.Tensor) optim.Scaled { return optim.NewAdam(p, lr, o) }
}

func adamW(lr float64, o *optim.AdamOptions) func([]torch.Tensor) optim.Scaled {
	return func(p []torch.Tensor) optim.Scaled { return optim.NewAdamW(p, lr, o) }
}

var specs = []spec{
	{"sgd", settings{"lr": 0.1}, nil, false, sgd(0.1, nil)},
	{"sgd", settings{"lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": true}, nil, false,
		sgd(0.1, &optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4, Nesterov: true})},
	{"sgd", settings{"lr": 0.1, "momentum": 0.8, "dampening": 0.3, "maximize": true}, nil, false,
		sgd(0.1, &optim.SGDOptions{Momentum: 0.8, Dampening: 0.3, Maximize: true})},
	{"sgd", settings{"lr": 0.1, "momentum": 0.9}, nil, true, sgd(0.1, &optim.SGDOptions{Momentum: 0.9})},
	{"sgd", settings{"lr": 0.1, "momentum": 0.9}, settings{"lr": 0.01, "momentum": 0.0, "weight_decay": 0.1}, false, func(p []torch.Tensor) optim.Scaled {
		opt := optim.NewSGD(p[:2], 0.1, &optim.SGDOptions{Momentum: 0.9})
		opt.AddGroup(p[2:], 0.01, &optim.SGDOptions{WeightDecay: 0.1})
		return opt
	}},
	{"adam", settings{"lr": 0.01}, nil, false, adam(0.01, nil)},
	{"adam", settings{"lr": 0.01, "betas": []float64{0.8, 0.95}, "eps": 1e-4, "weight_decay": 0.1, "amsgrad": true, "maximize": true}, nil, false,
		adam(0.01, &optim.AdamOptions{Betas: [2]float64{0.8, 0.95}, Eps: new(1e-4), WeightDecay: new(0.1), AMSGrad: true, Maximize: true})},
	{"adam", settings{"lr": 0.01}, nil, true, adam(0.01, nil)},
	{"adamw", settings{"lr": 0.01}, nil, false, adamW(0.01, nil)},
	{"adamw", settings{"lr": 0.01, "weight_decay": 0.0, "amsgrad": true}, settings{"lr": 0.1, "weight_decay": 0.5}, true, func(p []torch.Tensor) optim.Scaled {
		opt := optim.NewAdamW(p[:2], 0.01, &optim.AdamOptions{WeightDecay: new(0.0), AMSGrad: true})
		opt.AddGroup(p[2:], 0.1, &optim.AdamOptions{WeightDecay: new(0.5), AMSGrad: true})
		return opt
	}},
}

const steps = 10

// newInputs makes four parameters, one of them float64, and gradients for every step.
func newInputs() peer.Tensors {
	torch.ManualSeed(11)
	inputs := peer.Tensors{}
	for i, shape := range [][]int{{5, 3}, {40}, {2, 2, 2}, {7}} {
		dtype := torch.Float32
		if i == 2 {
			dtype = torch.Float64
		}
		inputs[fmt.Sprint("p", i)] = torch.TensorOptions{DType: dtype}.RandN(shape...)
		for step := range steps {
			inputs[fmt.Sprintf("g%d.%d", step, i)] = torch.TensorOptions{DType: dtype}.RandN(shape...)
		}
	}
	return inputs
}

func parameters(inputs peer.Tensors) (list []torch.Tensor) {
	for i := range 4 {
		list = append(list, inputs[fmt.Sprint("p", i)].Clone().SetRequiresGrad(true))
	}
	return list
}

func setGradients(inputs peer.Tensors, params []torch.Tensor, step int) {
	for i, p := range params {
		if i != 3 || step%3 != 1 { // the last parameter often has none
			p.SetGrad(inputs[fmt.Sprintf("g%d.%d", step, i)].Clone())
		}
	}
}

// All steps in Go, and half of them in Python and the other half in Go, arrive where Python
// does.
func TestStepsEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := newInputs()
		var args []string
		for _, s := range specs {
			args = append(args, s.String())
		}
		want := peer.Run(t, "testdata/optim.py", inputs, args...)
		for _, s := range specs {
			t.Run(s.String(), func(t *testing.T) {
				params := parameters(inputs)
				opt := s.make(params)
				for step := range steps {
					torch.Scope(func() { takeStep(opt, inputs, params, step, s.Scaled) })
				}
				compare(t, opt, params, pick(want, s.String()+"/"))
				goOn(t, s, inputs, want)
			})
		}
	})
}

// takeStep is one round of run in testdata/optim.py.
func takeStep(opt optim.Scaled, inputs peer.Tensors, params []torch.Tensor, step int, scaled bool) {
	setGradients(inputs, params, step)
	if !scaled {
		opt.Step()
	} else {
		found := float32(0)
		if step == 3 || step == 4 {
			found = 1
		}
		opt.StepScaled(torch.FromValue(float32(4)), torch.FromValue(found))
	}
	opt.ZeroGrad()
}

// pick are the results of one spec, those of half the way left out.
func pick(all peer.Tensors, prefix string) peer.Tensors {
	picked := peer.Tensors{}
	for name, value := range all {
		if name, ok := strings.CutPrefix(name, prefix); ok && !strings.HasPrefix(name, "half ") {
			picked[name] = value
		}
	}
	return picked
}

// compare holds parameters and state dict against what state in testdata/optim.py returned.
func compare(t *testing.T, opt optim.Optimizer, params []torch.Tensor, want peer.Tensors) {
	t.Helper()
	got := peer.Tensors{}
	for i, p := range params {
		got[fmt.Sprint("param ", i)] = p
	}
	dict := opt.StateDict()
	for i, state := range dict["state"].(map[int]map[string]any) {
		for name, value := range state {
			got[fmt.Sprint("state ", i, " ", name)] = value.(torch.Tensor)
		}
	}
	for i, group := range dict["param_groups"].([]map[string]any) {
		for name, value := range group {
			if value != nil {
				got[fmt.Sprint("group ", i, " ", name)] = numbers(value)
			}
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
	for name, value := range got {
		torchtest.Equal(t, value, want[name])
	}
}

// numbers turns a setting into a float64 tensor, as testdata/optim.py does.
func numbers(v any) torch.Tensor {
	switch from := reflect.ValueOf(v); {
	case from.Kind() == reflect.Bool:
		if from.Bool() {
			return torch.FromValue(1.0)
		}
		return torch.FromValue(0.0)
	case from.CanInt():
		return torch.FromValue(float64(from.Int()))
	case from.CanFloat():
		return torch.FromValue(from.Float())
	default:
		list := make([]float64, from.Len())
		for i := range list {
			list[i] = numbers(from.Index(i).Interface()).Float64()
		}
		return torch.FromSlice(list)
	}
}
