package optim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// layout is a case of testdata/layouts.py: how parameters and gradients lie in memory, by the
// words of lay, and what happens to them at the fourth step.
type layout struct {
	Kind    string         `json:"kind"`
	Options map[string]any `json:"options"`
	Param   string         `json:"param"`
	Grad    string         `json:"grad"`
	Shape   []int          `json:"shape"`
	DTypes  []string       `json:"dtypes"`
	Event   string         `json:"event"`
}

var layoutOptimizers = []string{
	`{"kind": "SGD", "options": {"lr": 0.1}}`,
	`{"kind": "SGD", "options": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}}`,
	`{"kind": "SGD", "options": {"lr": 0.1, "momentum": 0.9, "nesterov": true, "maximize": true}}`,
	`{"kind": "Adam", "options": {"lr": 0.01, "weight_decay": 0.01}}`,
	`{"kind": "Adam", "options": {"lr": 0.01, "amsgrad": true}}`,
	`{"kind": "AdamW", "options": {"lr": 0.01}}`,
	`{"kind": "Adagrad", "options": {"lr": 0.1, "lr_decay": 0.01}}`,
	`{"kind": "Adadelta", "options": {"lr": 1.0}}`,
	`{"kind": "Adafactor", "options": {"lr": 0.01}}`,
	`{"kind": "Adamax", "options": {"lr": 0.01, "weight_decay": 0.01}}`,
	`{"kind": "ASGD", "options": {"lr": 0.01, "t0": 4}}`,
	`{"kind": "Muon", "options": {"lr": 0.01}}`,
	`{"kind": "NAdam", "options": {"lr": 0.01}}`,
	`{"kind": "RAdam", "options": {"lr": 0.01}}`,
	`{"kind": "RMSprop", "options": {"lr": 0.01, "momentum": 0.9, "centered": true}}`,
	`{"kind": "Rprop", "options": {"lr": 0.01}}`,
	`{"kind": "SparseAdam", "options": {"lr": 0.01}}`,
	`{"kind": "LBFGS", "options": {"lr": 0.1, "max_iter": 3}}`,
}

var (
	flat, deep = []int{4, 6}, []int{2, 3, 4, 2}
	singles    = []string{"float32", "float32", "float32"}
	doubles    = []string{"float64", "float64", "float64"}
	halves     = []string{"float16", "float16", "float16"}
	brains     = []string{"bfloat16", "bfloat16", "bfloat16"}
	mixed      = []string{"float32", "float64", "bfloat16"}
	complexes  = []string{"complex64", "complex64", "complex64"}
)

var layouts = []layout{
	{Param: "dense", Grad: "dense", Shape: flat},
	{Param: "dense", Grad: "transposed", Shape: flat},
	{Param: "transposed", Grad: "dense", Shape: flat},
	{Param: "transposed", Grad: "transposed", Shape: flat},
	{Param: "narrow", Grad: "dense", Shape: flat},
	{Param: "dense", Grad: "narrow", Shape: flat},
	{Param: "narrow", Grad: "narrow", Shape: flat},
	{Param: "spread", Grad: "dense", Shape: flat},
	{Param: "dense", Grad: "spread", Shape: flat},
	{Param: "offset", Grad: "offset", Shape: flat},
	{Param: "dense", Grad: "expanded", Shape: flat},
	{Param: "transposed", Grad: "expanded", Shape: flat},
	{Param: "dense", Grad: "overlapping", Shape: flat},
	{Param: "expanded", Grad: "dense", Shape: flat},
	{Param: "overlapping", Grad: "dense", Shape: flat},
	{Param: "dense", Grad: "neg", Shape: flat},
	{Param: "dense", Grad: "parameter", Shape: flat},
	{Param: "offset", Grad: "shifted", Shape: flat},
	{Param: "transposed", Grad: "dense", Shape: []int{4, 1}},
	{Param: "dense", Grad: "dense", Shape: []int{7}},
	{Param: "dense", Grad: "dense", Shape: []int{}},
	{Param: "spread", Grad: "dense", Shape: []int{}},
	{Param: "dense", Grad: "dense", Shape: []int{0}},
	{Param: "dense", Grad: "transposed", Shape: []int{0, 3}},
	{Param: "dense", Grad: "dense", Shape: deep},
	{Param: "channels_last", Grad: "channels_last", Shape: deep},
	{Param: "channels_last", Grad: "dense", Shape: deep},
	{Param: "dense", Grad: "channels_last", Shape: deep},
	{Param: "dense", Grad: "dense", Shape: deep, Event: "channels_last"},
	{Param: "channels_last", Grad: "dense", Shape: deep, Event: "dense"},
	{Param: "dense", Grad: "dense", Shape: deep, Event: "grad channels_last"},
	{Param: "channels_last", Grad: "channels_last", Shape: deep, Event: "dense"},
	{Param: "dense", Grad: "dense", Shape: flat, Event: "transposed"},
	{Param: "dense", Grad: "transposed", Shape: flat, Event: "transposed"},
	{Param: "dense", Grad: "dense", Shape: flat, Event: "narrow"},
	{Param: "dense", Grad: "dense", Shape: flat, Event: "expanded"},
	{Param: "dense", Grad: "dense", Shape: flat, Event: "shape"},
	{Param: "dense", Grad: "dense", Shape: flat, Event: "stale"},
	{Param: "dense", Grad: "dense", Shape: flat, Event: "double"},
	{Param: "dense", Grad: "dense", Shape: flat, Event: "grad expanded"},
	{Param: "dense", Grad: "dense", Shape: flat, Event: "grad parameter"},
	{Param: "dense", Grad: "transposed", Shape: flat, Event: "grad dense"},
	{Param: "dense", Grad: "dense", Shape: flat, Event: "grad late"},
	{Param: "dense", Grad: "transposed", Shape: flat, Event: "grad late"},
	{Param: "dense", Grad: "sparse", Shape: flat},
	{Param: "transposed", Grad: "sparse", Shape: flat},
	{Param: "dense", Grad: "uncoalesced", Shape: flat},
	{Param: "dense", Grad: "sparse", Shape: flat, Event: "grad dense"},
	{Param: "dense", Grad: "dense", Shape: flat, Event: "grad sparse"},
	{Param: "dense", Grad: "sparse", Shape: []int{9}},
	{Param: "dense", Grad: "dense", Shape: flat, DTypes: doubles},
	{Param: "dense", Grad: "transposed", Shape: flat, DTypes: doubles},
	{Param: "dense", Grad: "dense", Shape: flat, DTypes: halves},
	{Param: "narrow", Grad: "transposed", Shape: flat, DTypes: halves},
	{Param: "dense", Grad: "dense", Shape: flat, DTypes: brains},
	{Param: "transposed", Grad: "dense", Shape: flat, DTypes: brains},
	{Param: "dense", Grad: "dense", Shape: flat, DTypes: mixed},
	{Param: "narrow", Grad: "transposed", Shape: flat, DTypes: mixed},
	{Param: "dense", Grad: "dense", Shape: flat, DTypes: complexes},
	{Param: "transposed", Grad: "dense", Shape: flat, DTypes: complexes},
	{Param: "narrow", Grad: "expanded", Shape: flat, DTypes: complexes},
	{Param: "dense", Grad: "conj", Shape: flat, DTypes: complexes},
}

// allLayouts are all layouts under all optimizers, those with a fused kernel with it and
// without: JSON, as names of the results.
func allLayouts(t *testing.T) (names []string) {
	for _, text := range layoutOptimizers {
		for _, c := range layouts {
			require.NoError(t, json.Unmarshal([]byte(text), &c))
			if c.DTypes == nil {
				c.DTypes = singles
			}
			if c.Kind == "LBFGS" && (c.DTypes[2] == "float16" || c.DTypes[2] == "bfloat16") {
				continue // equal in float32 and float64 alone
			}
			for _, fused := range []bool{true, false} {
				if slices.Contains([]string{"SGD", "Adam", "AdamW", "Adagrad"}, c.Kind) {
					c.Options = maps.Clone(c.Options)
					c.Options["fused"] = fused
				} else if fused {
					continue
				}
				name, err := json.Marshal(c)
				require.NoError(t, err)
				names = append(names, string(name))
			}
		}
	}
	return names
}

// Every layout that PyTorch's optimizers take gives their bits: those of fused=True while
// parameter, gradient and state lie in memory alike, else those of the default. Where PyTorch
// raises an error, there is one at the same step.
func TestLayoutsEqualPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(5)
		inputs := peer.Tensors{"values": torch.TensorOptions{DType: torch.Float64}.RandN(4000)}
		names := allLayouts(t)
		cases := filepath.Join(t.TempDir(), "cases")
		require.NoError(t, os.WriteFile(cases, []byte(strings.Join(names, "\n")), 0o600))
		want := split(peer.Run(t, "testdata/layouts.py", inputs, cases))
		failed := 0
		for _, name := range names {
			var c layout
			require.NoError(t, json.Unmarshal([]byte(name), &c))
			var got peer.Tensors
			torch.Scope(func() {
				got = newLayoutCase(c, inputs["values"]).run(t)
				if more(c) && want[name]["error"].Defined() {
					return
				}
				if !assert.ElementsMatch(t, slices.Collect(maps.Keys(want[name])), slices.Collect(maps.Keys(got)), name) {
					return
				}
				for key, value := range got {
					if key == "error" { // constructors complain of some that Python's steps do
						require.LessOrEqual(t, value.Int(), want[name][key].Int(), name)
					} else if !same(value, want[name][key]) {
						t.Errorf("%s: %s is\n%v, in Python\n%v", name, key, value, want[name][key])
					}
				}
			})
			if got["error"].Defined() {
				failed++
			}
		}
		reliability.AtLeast(t, "combinations of optimizers and layouts", len(names)-failed, 400)
		reliability.Note(t, "combinations that are errors, in Python too", failed)
	})
}

// more tells where we take what PyTorch's optimizer does not: L-BFGS gradients of other layouts
// than it can view as vectors, Adafactor parameters without elements, whose root mean square is
// 0/0.
func more(c layout) bool {
	return c.Kind == "LBFGS" || c.Kind == "Adafactor" && slices.Contains(c.Shape, 0)
}

// layoutCase is Case in testdata/layouts.py.
type layoutCase struct {
	layout
	values torch.Tensor
	at     int
	params []torch.Tensor
	opt    trainer
	lbfgs  *optim.LBFGS
}

func newLayoutCase(c layout, values torch.Tensor) *layoutCase {
	l := &layoutCase{layout: c, values: values}
	for i := range 3 {
		how := c.Param
		if i == 0 {
			how = "dense"
		}
		l.params = append(l.params, lay(l.draw(i, c.Shape, l.dtype(i)), how, torch.Tensor{}).SetRequiresGrad(true))
	}
	return l
}

func (l *layoutCase) dtype(i int) torch.DType {
	return map[string]torch.DType{"float32": torch.Float32, "float64": torch.Float64, "float16": torch.Float16, "bfloat16": torch.BFloat16,
		"complex64": torch.Complex64}[l.DTypes[i]]
}

func (l *layoutCase) draw(_ int, shape []int, dtype torch.DType) torch.Tensor {
	n := 1
	for _, size := range shape {
		n *= size
	}
	part := func(at int, dtype torch.DType) torch.Tensor {
		return l.values.Narrow(0, at, n).To(dtype).View(shape...)
	}
	var x torch.Tensor
	if dtype == torch.Complex64 {
		x = torch.Complex(part(l.at, torch.Float32), part(l.at+1, torch.Float32))
	} else {
		x = part(l.at, dtype)
	}
	l.at = (l.at + n) % 3000
	return x
}

func lay(x torch.Tensor, how string, p torch.Tensor) torch.Tensor {
	switch how {
	case "transposed":
		return x.Transpose(-1, -2).Contiguous().Transpose(-1, -2)
	case "channels_last":
		return x.Contiguous(torch.ChannelsLast)
	case "narrow":
		return torch.Cat([]torch.Tensor{x, x}, -1).Narrow(-1, 0, x.Size(-1))
	case "spread":
		return torch.Stack([]torch.Tensor{x, x}, -1).Select(-1, 0)
	case "offset":
		buffer := torch.Cat([]torch.Tensor{torch.TensorOptions{DType: x.DType()}.Zeros(3), x.Reshape(-1)})
		return buffer.Narrow(0, 3, x.NumEl()).View(x.Shape()...)
	case "expanded":
		return x.Narrow(0, 0, 1).Expand(x.Shape()...)
	case "overlapping":
		ones := slices.Repeat([]int{1}, x.Dim())
		return x.Reshape(-1).Clone().AsStrided(x.Shape(), ones)
	case "sparse":
		return x.Abs().ClampMin(0.5).SubScalar(0.5).ToSparse()
	case "uncoalesced":
		s := lay(x, "sparse", p)
		indices, values := aten.Indices(s), aten.Values(s)
		return torch.SparseCOOTensorSize(torch.Cat([]torch.Tensor{indices, indices}, 1),
			torch.Cat([]torch.Tensor{values, values.MulScalar(0.3)}), x.Shape())
	case "conj":
		return x.Clone().Conj()
	case "neg":
		return aten.NegView(x.Clone())
	case "parameter":
		return p.Detach()
	case "shifted":
		return p.Detach().AsStrided(p.Shape(), p.Stride(), 2)
	}
	return x.Clone()
}

func (l *layoutCase) run(t *testing.T) peer.Tensors {
	results := peer.Tensors{}
	step := -1
	err := torch.Try(func() {
		s := spec{Kind: l.Kind, Options: l.Options}
		if l.Kind == "LBFGS" {
			l.lbfgs = optim.NewLBFGS(l.params, 0.1, *fill[optim.LBFGSOptions](l.Options))
			defer l.lbfgs.Close()
		} else {
			l.opt = makers[l.Kind](l.params, s)
			defer l.opt.Close()
		}
		for step = range 10 {
			torch.NoGrad(func() { l.step(step) })
		}
		for i, p := range l.params {
			results[fmt.Sprint("param ", i)] = dense(p)
		}
		if l.opt != nil {
			for i, state := range l.opt.StateDict()["state"].(map[int]map[string]any) {
				for name, value := range state {
					results[fmt.Sprint("state ", i, " ", name)] = dense(tensor(value))
				}
			}
		}
	})
	if err != nil {
		return peer.Tensors{"error": torch.FromValue(int64(step))}
	}
	return results
}

func (l *layoutCase) step(step int) {
	if step == 3 && l.Event != "" && l.Event != "stale" && !strings.HasPrefix(l.Event, "grad ") {
		for i, p := range l.params[1:] {
			p.SetGrad(torch.Tensor{})
			switch l.Event {
			case "shape":
				p.SetData(l.draw(i, []int{3, 2}, l.dtype(i+1)))
			case "double":
				p.SetData(p.Detach().To(torch.Float64))
			default:
				p.SetData(lay(p.Detach(), l.Event, p))
			}
		}
	}
	if l.lbfgs != nil {
		l.lbfgs.Step(func() torch.Tensor {
			l.setGradients(step)
			return l.draw(0, l.Shape, l.dtype(0)).Abs().Sum()
		})
		return
	}
	l.setGradients(step)
	if l.Event == "stale" && step == 3 {
		l.params[1].SetData(l.draw(1, []int{3, 2}, l.dtype(1)))
	}
	l.opt.Step()
}

func (l *layoutCase) setGradients(step int) {
	for i, p := range l.params {
		how, event := l.Grad, strings.TrimPrefix(l.Event, "grad ")
		switch {
		case i == 0 && l.Kind == "SparseAdam":
			how = "sparse"
		case i == 0:
			how = "dense"
		case event == l.Event:
		case event == "late":
			if step < 2 {
				continue
			}
		case event == "dense":
			if step%2 == 1 {
				how = event
			}
		case step >= 3:
			how = event
		}
		p.SetGrad(lay(l.draw(i, p.Shape(), p.DType()), how, p))
	}
}

func dense(x torch.Tensor) torch.Tensor {
	if x = x.Detach(); x.Layout() != torch.Strided {
		x = x.ToDense()
	}
	return x.ResolveConj().ResolveNeg().Contiguous().Clone()
}

// The kernels themselves, typed and by name, refuse what they would walk over wrongly.
func TestFusedKernelsRefuse(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		square := torch.Ones(3, 3)
		for name, grad := range map[string]torch.Tensor{
			"transposed": torch.Ones(3, 3).T(), "expanded": torch.Ones(1).Expand(3, 3),
			"dtype": torch.TensorOptions{DType: torch.Float64}.Ones(3, 3),
			"shape": torch.Ones(3), "sparse": torch.Ones(3, 3).ToSparse(), "shared": square.View(9).View(3, 3),
			"negative": aten.NegView(torch.Ones(3, 3)),
		} {
			params, grads := []torch.Tensor{square}, []torch.Tensor{grad}
			for _, step := range []func(){
				func() { aten.FusedSGDInPlace(params, grads, nil, 0, 0, 1, 0, false, false, false) },
				func() {
					torch.Call("_fused_sgd_", params, grads, []torch.Tensor{}, 0.0, 0.0, 1.0, 0.0, false, false, false)
				},
			} {
				require.ErrorContains(t, torch.Try(step), "do not lie in memory alike", name)
			}
			require.Equal(t, 9.0, square.Sum().Float64(), name)
		}
	})
}

// Options may change between steps, also into what no step can be made with.
func TestOptionsThatCannotBe(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p := torch.Ones(2, 2).SetRequiresGrad(true)
		p.SetGrad(torch.Ones(2, 2))
		list := []torch.Tensor{p}
		adam, muon := optim.NewAdam(list, 0.1), optim.NewMuon(list, 0.1)
		adam.ParamGroups()[0].Options.(*optim.AdamOptions).Eps = nil
		require.EqualError(t, torch.Try(adam.Step), "torch: adam: the options of a group have nil for eps, expected a number")
		adam.ParamGroups()[0].Options = nil
		require.ErrorContains(t, torch.Try(adam.Step), "the options of a group are of type <nil>, expected *optim.AdamOptions")
		muon.ParamGroups()[0].Options.(*optim.MuonOptions).NSSteps = math.MaxInt
		require.ErrorContains(t, torch.Try(muon.Step), "Number of steps must be less than 100")
		adam.Close()
		muon.Close()
	})
}
