package optim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/internal/versions"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// search is a case of testdata/lbfgs.py.
type search struct {
	Options map[string]any `json:"options"`
	DType   string         `json:"dtype"`
}

func (s search) dtype() torch.DType {
	if s.DType == "float64" {
		return torch.Float64
	}
	return torch.Float32
}

func (s search) make(params []torch.Tensor) *optim.LBFGS {
	o := optim.LBFGSOptions{}
	if name, ok := s.Options["line_search_fn"].(string); ok {
		o.LineSearch = name
	}
	if n, ok := s.Options["max_iter"].(float64); ok {
		o.MaxIter = int(n)
	}
	if n, ok := s.Options["history_size"].(float64); ok {
		o.HistorySize = int(n)
	}
	if tolerance, ok := s.Options["tolerance_grad"].(float64); ok {
		o.ToleranceGrad = &tolerance
	}
	return optim.NewLBFGS(params, s.Options["lr"].(float64), o)
}

const searches = 6

func newNetwork() peer.Tensors {
	torch.ManualSeed(5)
	inputs := peer.Tensors{"x": torch.RandN(20, 3), "y": torch.RandN(20, 1)}
	for i, shape := range [][]int{{3, 5}, {5}, {5, 1}} {
		inputs[fmt.Sprint("p", i)] = torch.RandN(shape...)
	}
	return inputs
}

// minimize is go in testdata/lbfgs.py.
func minimize(opt *optim.LBFGS, inputs peer.Tensors, params []torch.Tensor, steps int) (losses []float64) {
	torch.Scope(func() {
		x, y := inputs["x"].To(params[0].DType()), inputs["y"].To(params[0].DType())
		for range steps {
			losses = append(losses, opt.Step(func() torch.Tensor {
				opt.ZeroGrad()
				loss := x.MatMul(params[0]).Add(params[1]).Tanh().MatMul(params[2]).Sub(y).Square().Mean()
				loss.Backward()
				return loss
			}))
		}
	})
	return losses
}

// searched is state in testdata/lbfgs.py.
func searched(opt *optim.LBFGS, params []torch.Tensor) peer.Tensors {
	results := peer.Tensors{}
	for i, p := range params {
		results[fmt.Sprint("param ", i)] = p.Detach().Clone()
	}
	for name, value := range opt.StateDict()["state"].(map[int]map[string]any)[0] {
		switch v := value.(type) {
		case torch.Tensor:
			results["state 0 "+name] = v.Clone()
		case int:
			results["state 0 "+name] = torch.FromValue(int64(v))
		case float64:
			results["state 0 "+name] = torch.FromValue(v)
		case []torch.Tensor:
			if len(v) > 0 {
				results["state 0 "+name] = torch.Stack(v)
			}
		case []any:
			var list []torch.Tensor
			for _, item := range v {
				list = append(list, item.(torch.Tensor))
			}
			if len(list) > 0 {
				results["state 0 "+name] = torch.Stack(list)
			}
		}
	}
	return results
}

func requireSame(t *testing.T, got, want peer.Tensors) {
	t.Helper()
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
	for name, value := range got {
		if !same(value, want[name]) {
			t.Error(name)
			torchtest.Equal(t, value, want[name])
		}
	}
}

// Six steps of twenty iterations here, and half of them in Python and the other half here, and the other way
// round, arrive where Python does.
func TestLBFGSEqualsPythons(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		inputs := newNetwork()
		all := split(peer.Run(t, "testdata/lbfgs.py", inputs, "run"))
		if versions.LBFGSMaximizes.Holds() {
			maps.DeleteFunc(all, func(name string, _ peer.Tensors) bool { return strings.Contains(name, `"maximize"`) })
		}
		require.Len(t, all, 12)
		halves, names := maps.Clone(inputs), []string{"resume"}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			var s search
			require.NoError(t, json.Unmarshal([]byte(name), &s))
			t.Run(name, func(t *testing.T) {
				want, half := peer.Tensors{}, peer.Tensors{}
				for key, value := range all[name] {
					if key, ok := strings.CutPrefix(key, "half "); ok {
						half[key] = value
					} else if key != "losses" {
						want[key] = value
					}
				}
				var params, others []torch.Tensor
				for i := range 3 {
					params = append(params, inputs[fmt.Sprint("p", i)].To(s.dtype(), torch.Copy).SetRequiresGrad(true))
					others = append(others, half[fmt.Sprint("param ", i)].Clone().SetRequiresGrad(true))
				}
				opt := s.make(params)
				losses := minimize(opt, inputs, params, searches/2)
				ours := searched(opt, params)
				requireSame(t, ours, half)
				for key, value := range ours {
					halves[fmt.Sprint(len(names)-1, " ", key)] = value
				}
				names = append(names, name)
				losses = append(losses, minimize(opt, inputs, params, searches-searches/2)...)
				requireSame(t, searched(opt, params), want)
				require.Equal(t, torch.Values[float64](all[name]["losses"]), losses)

				other := s.make(others)
				require.NoError(t, other.LoadStateDict(searchState(other, half)))
				minimize(other, inputs, others, searches-searches/2)
				requireSame(t, searched(other, others), want)
				opt.Close()
				other.Close()
			})
		}
		for name, got := range split(peer.Run(t, "testdata/lbfgs.py", halves, names...)) {
			for key, value := range got {
				require.True(t, same(value, all[name][key]), "%s: resumed in Python: %s", name, key)
			}
		}
	})
}

// searchState is a state dict in the types that a reader of Python's files would use.
func searchState(opt *optim.LBFGS, half peer.Tensors) optim.StateDict {
	dict, state := opt.StateDict(), map[any]any{}
	for key, value := range half {
		if key, ok := strings.CutPrefix(key, "state 0 "); ok {
			switch {
			case slices.Contains([]string{"old_dirs", "old_stps", "ro"}, key):
				var list []any
				for _, item := range value.Unbind() {
					list = append(list, item)
				}
				state[key] = list
			case key == "prev_loss":
				state[key] = value.Float64()
			case value.DType() == torch.Int64:
				state[key] = value.Int()
			case value.Dim() == 0 && value.DType() == torch.Float64 && key == "t" && value.Float64() == opt.ParamGroups()[0].LR:
				state[key] = value.Float64()
			default:
				state[key] = value
			}
		}
	}
	for _, name := range []string{"old_dirs", "old_stps", "ro"} {
		if state[name] == nil {
			state[name] = []any{}
		}
	}
	return optim.StateDict{"state": map[any]any{int64(0): state}, "param_groups": dict["param_groups"]}
}

func TestLBFGSComplains(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		params := []torch.Tensor{torch.Ones(2).SetRequiresGrad(true)}
		require.EqualError(t, torch.Try(func() { optim.NewLBFGS(params, 1, optim.LBFGSOptions{LineSearch: "armijo"}) }),
			"torch: lbfgs: only 'strong_wolfe' is supported")
		opt := optim.NewLBFGS(params, 1)
		defer opt.Close()
		step := func() float64 {
			return opt.Step(func() torch.Tensor {
				opt.ZeroGrad()
				loss := params[0].Square().Sum().Square().Add(params[0].Sum())
				loss.Backward()
				return loss
			})
		}
		require.Equal(t, 6.0, step())
		for _, c := range []struct {
			key   string
			value any
			want  string
		}{
			{"d", torch.Ones(3), "d has shape [3], expected [2]"},
			{"ro", []any{}, "old_dirs, old_stps and ro are not of one length"},
			{"t", "long", "t is long (string), expected a number"},
			{"prev_flat_grad", nil, "prev_flat_grad is nil, expected a tensor"},
		} {
			dict := opt.StateDict()
			states(dict)[0][c.key] = c.value
			require.EqualError(t, opt.LoadStateDict(dict), "optim: the state dict does not fit the optimizer: "+c.want)
			require.NoError(t, opt.LoadStateDict(opt.StateDict()))
		}
	})
}

func ExampleLBFGS() {
	torch.Scope(func() {
		x := torch.FromSlice([]float64{-1.5, 2}).SetRequiresGrad(true)
		opt := optim.NewLBFGS([]torch.Tensor{x}, 1, optim.LBFGSOptions{LineSearch: "strong_wolfe"})
		defer opt.Close()
		for range 3 {
			loss := opt.Step(func() torch.Tensor { // Rosenbrock's valley
				opt.ZeroGrad()
				a, b := x.Index(0), x.Index(1)
				loss := b.Sub(a.Square()).Square().MulScalar(100).Add(a.SubScalar(1).Square())
				loss.Backward()
				return loss
			})
			fmt.Printf("%.4f\n", loss)
		}
		fmt.Printf("%.3f\n", torch.Values[float64](x))
	})
	// Output:
	// 12.5000
	// 1.3071
	// 0.0000
	// [1.000 1.000]
}
