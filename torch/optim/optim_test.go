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

// spec is a case of testdata/optim.py: an optimizer and its settings by PyTorch's names.
type spec struct {
	Kind    string         `json:"kind"`
	Set     string         `json:"set"`
	Options map[string]any `json:"options"`
	Second  map[string]any `json:"second,omitempty"` // of a second group, where they differ
	Scaled  bool           `json:"scaled,omitempty"`
	Tensor  bool           `json:"tensor,omitempty"` // Python has the learning rate in a tensor
}

// extra are the cases that PyTorch's test database lacks.
var extra = []string{
	`{"kind": "SGD", "set": "mixed", "options": {"lr": 0.1, "momentum": 0.9, "fused": true}, "scaled": true}`,
	`{"kind": "SGD", "set": "mixed", "options": {"lr": 0.1, "momentum": 0.8, "dampening": 0.3, "maximize": true, "fused": true}}`,
	`{"kind": "SGD", "set": "mixed", "options": {"lr": 0.1, "momentum": 0.9, "fused": true}, "second": {"lr": 0.01, "momentum": ` +
		`0.0, "weight_decay": 0.1}}`,
	`{"kind": "Adam", "set": "mixed", "options": {"lr": 0.01, "fused": true}, "scaled": true}`,
	`{"kind": "Adam", "set": "mixed", "options": {"lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-4, "weight_decay": 0.1, ` +
		`"amsgrad": true, "maximize": true, "fused": true}}`,
	`{"kind": "AdamW", "set": "mixed", "options": {"lr": 0.01, "weight_decay": 0.0, "amsgrad": true, "fused": true}, "second": ` +
		`{"lr": 0.1, "weight_decay": 0.5}, "scaled": true}`,
	`{"kind": "Adagrad", "set": "mixed", "options": {"lr": 0.1, "lr_decay": 0.01, "fused": true}, "scaled": true}`,
	`{"kind": "RMSprop", "set": "mixed", "options": {"lr": 0.01, "foreach": false}, "second": {"lr": 0.1, "weight_decay": 0.5}}`,
	`{"kind": "ASGD", "set": "mixed", "options": {"lr": 0.02, "t0": 20, "foreach": false}}`,
	`{"kind": "RAdam", "set": "mixed", "options": {"lr": 0.02, "betas": [0.8, 0.5], "foreach": false}}`,
	`{"kind": "Muon", "set": "matrices", "options": {"lr": 0.02, "nesterov": false, "adjust_lr_fn": "match_rms_adamw"}}`,
	`{"kind": "Adafactor", "set": "mixed", "options": {"lr": 0.02, "eps": [1e-3, 1e-2], "foreach": false}}`,
}

// trainer is what all optimizers of this test can do.
type trainer interface {
	optim.Optimizer
	Close()
}

// grouped is a trainer with options of type O.
type grouped[O any] interface {
	trainer
	AddGroup(params []torch.Tensor, lr float64, opts ...O)
}

// maker makes an optimizer with the options of a spec.
type maker func(params []torch.Tensor, s spec) trainer

// by makes optimizers by their constructor.
func by[O any, T grouped[O]](construct func([]torch.Tensor, float64, ...O) T) maker {
	return func(params []torch.Tensor, s spec) trainer {
		first := params
		if s.Second != nil {
			first = params[:2]
		}
		opt := construct(first, s.Options["lr"].(float64), *fill[O](s.Options))
		if s.Second != nil {
			all := maps.Clone(s.Options)
			maps.Copy(all, s.Second)
			opt.AddGroup(params[2:], all["lr"].(float64), *fill[O](all))
		}
		return opt
	}
}

var makers = map[string]maker{
	"Adadelta": by(optim.NewAdadelta), "Adafactor": by(optim.NewAdafactor), "Adagrad": by(optim.NewAdagrad), "Adam": by(optim.NewAdam),
	"AdamW": by(optim.NewAdamW), "Adamax": by(optim.NewAdamax), "ASGD": by(optim.NewASGD), "Muon": by(optim.NewMuon),
	"NAdam": by(optim.NewNAdam),
	"RAdam": by(optim.NewRAdam), "RMSprop": by(optim.NewRMSprop), "Rprop": by(optim.NewRprop), "SGD": by(optim.NewSGD),
	"SparseAdam": by(optim.NewSparseAdam),
}

// fill finds the fields of an options struct by PyTorch's names for them.
func fill[O any](options map[string]any) *O {
	o := new(O)
	for name, value := range options {
		switch name {
		case "lr", "foreach", "capturable", "differentiable":
			continue
		case "fused", "nesterov":
			if opposite := reflect.ValueOf(o).Elem().FieldByName(map[string]string{"fused": "Unfused",
				"nesterov": "NoNesterov"}[name]); opposite.IsValid() {
				opposite.SetBool(value == false)
				continue
			}
		case "adjust_lr_fn":
			name = "AdjustLR"
		}
		text, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		field := reflect.ValueOf(o).Elem().FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, strings.ReplaceAll(name, "_", "")) })
		if err := json.Unmarshal(text, field.Addr().Interface()); err != nil {
			panic(err)
		}
	}
	return o
}

const steps = 100

// newInputs makes sets of four parameters, and gradients for every step.
func newInputs() peer.Tensors {
	torch.ManualSeed(11)
	inputs := peer.Tensors{}
	for set, shapes := range map[string][][]int{"mixed": {{5, 3}, {40}, {2, 2, 2}, {7}}, "complex": {{5, 3}, {40}, {2, 2, 2}, {7}},
		"matrices": {{5, 3}, {3, 6}, {4, 4}, {2, 7}}} {
		for i, shape := range shapes {
			dtype := torch.Float32
			switch {
			case set == "complex":
				dtype = torch.Complex64
			case i == 2:
				dtype = torch.Float64
			}
			inputs[fmt.Sprint(set, " p", i)] = torch.TensorOptions{DType: dtype}.RandN(shape...)
			inputs[fmt.Sprint(set, " g", i)] = torch.TensorOptions{DType: dtype}.RandN(append([]int{steps}, shape...)...)
		}
	}
	return inputs
}

func parameters(inputs peer.Tensors, set string) (list []torch.Tensor) {
	for i := range 4 {
		list = append(list, inputs[fmt.Sprint(set, " p", i)].Clone().SetRequiresGrad(true))
	}
	return list
}

// All steps in Go, and half of them in Python and the other half here, and the other way
// round, arrive where Python does.
func TestStepsEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := newInputs()
		want := split(peer.Run(t, "testdata/optim.py", inputs, append([]string{"run"}, extra...)...))
		require.Greater(t, len(want), 100)
		require.GreaterOrEqual(t, strings.Count(strings.Join(slices.Collect(maps.Keys(want)), "\n"), `"tensor": true`), 3)
		halves, names := peer.Tensors{}, []string{"resume"}
		maps.Copy(halves, inputs)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			s := parse(t, name)
			t.Run(name, func(t *testing.T) {
				params := parameters(inputs, s.Set)
				opt := makers[s.Kind](params, s)
				takeSteps(opt, inputs, params, s, 0, steps/2)
				if !s.Scaled {
					store(halves, fmt.Sprint(len(names)-1), opt, params)
					names = append(names, name)
				}
				takeSteps(opt, inputs, params, s, steps/2, steps)
				compare(t, opt, params, finals(want[name]))
				goOn(t, s, inputs, want[name])
				opt.Close()
			})
		}
		for name, got := range split(peer.Run(t, "testdata/optim.py", halves, names...)) {
			kind := parse(t, name).Kind
			for key, value := range got {
				if (kind == "NAdam" || kind == "ASGD") && (strings.HasPrefix(key, "state 2") || key == "param 2") {
					continue // PyTorch's own loading makes float64 of the numbers of float64 parameters
				}
				require.True(t, same(value, want[name][key]), "%s: resumed in Python: %s", name, key)
			}
		}
	})
}

// split sorts results by the spec that they are of.
func split(all peer.Tensors) map[string]peer.Tensors {
	of := map[string]peer.Tensors{}
	for key, value := range all {
		name, rest, _ := strings.Cut(key, "/")
		if of[name] == nil {
			of[name] = peer.Tensors{}
		}
		of[name][rest] = value
	}
	return of
}

func parse(t *testing.T, name string) (s spec) {
	require.NoError(t, json.Unmarshal([]byte(name), &s))
	return s
}

// same is [torchtest.Equal] as a question.
func same(a, b torch.Tensor) bool {
	return a.DType() == b.DType() && slices.Equal(a.Shape(), b.Shape()) && slices.Equal(a.Bytes(), b.Bytes())
}

// takeSteps is go in testdata/optim.py.
func takeSteps(opt trainer, inputs peer.Tensors, params []torch.Tensor, s spec, from, to int) {
	for step := from; step < to; step++ {
		torch.Scope(func() {
			setGradients(inputs, params, s, step)
			if scaled, ok := opt.(optim.Scaled); ok && s.Scaled {
				found := float32(0)
				if step == 3 || step == 4 {
					found = 1
				}
				scaled.StepScaled(torch.FromValue(float32(4)), torch.FromValue(found))
			} else {
				opt.Step()
			}
			opt.ZeroGrad()
		})
	}
}

func setGradients(inputs peer.Tensors, params []torch.Tensor, s spec, step int) {
	for i, p := range params {
		if i == 3 && step%3 == 1 { // the last parameter often has none
			continue
		}
		grad := inputs[fmt.Sprint(s.Set, " g", i)].Index(step)
		if s.Kind == "SparseAdam" {
			p.SetGrad(grad.ClampMin(0.5).SubScalar(0.5).ToSparse())
		} else {
			p.SetGrad(grad.Clone())
		}
	}
}

// finals are the results of a spec, those of half the way left out.
func finals(all peer.Tensors) peer.Tensors {
	picked := maps.Clone(all)
	maps.DeleteFunc(picked, func(name string, _ torch.Tensor) bool { return strings.HasPrefix(name, "half ") })
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
			got[fmt.Sprint("state ", i, " ", name)] = tensor(value)
		}
	}
	for i, group := range dict["param_groups"].([]map[string]any) {
		for name, value := range group {
			if _, isText := value.(string); value != nil && !isText && name != "foreach" {
				got[fmt.Sprint("group ", i, " ", name)] = numbers(value)
			}
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
	for name, value := range got {
		if !same(value, want[name]) {
			t.Error(name)
			torchtest.Equal(t, value, want[name])
		}
	}
}

// store puts parameters and state where resume in testdata/optim.py looks for them.
func store(into peer.Tensors, prefix string, opt optim.Optimizer, params []torch.Tensor) {
	for i, p := range params {
		into[fmt.Sprint(prefix, " param ", i)] = p.Detach().Clone()
	}
	for i, state := range opt.StateDict()["state"].(map[int]map[string]any) {
		for name, value := range state {
			into[fmt.Sprint(prefix, " state ", i, " ", name)] = tensor(value).Clone()
		}
	}
}

// tensor is a value of a state: a tensor or an int.
func tensor(v any) torch.Tensor {
	if n, ok := v.(int); ok {
		return torch.FromValue(int64(n))
	}
	return v.(torch.Tensor)
}

// numbers turns a setting into a float64 tensor, as testdata/optim.py does.
func numbers(v any) torch.Tensor {
	switch from := reflect.ValueOf(v); {
	case !from.IsValid():
		return torch.FromValue(-1.0)
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
