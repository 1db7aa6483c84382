package amp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// fifty is one case of testdata/fifty.py.
type fifty struct {
	Kind    string         `json:"kind"`
	DType   string         `json:"dtype"`
	Options map[string]any `json:"options"`
}

// fifties are all cases: three optimizers, fused and not, in both dtypes.
func fifties() (list []string) {
	for kind, rest := range map[string]string{"SGD": `"lr": 0.1, "momentum": 0.9`, "Adam": `"lr": 0.01`, "AdamW": `"lr": 0.01`} {
		for _, fused := range []bool{true, false} {
			for _, dtype := range []string{"float16", "bfloat16"} {
				list = append(list, fmt.Sprintf(`{"kind": %q, "dtype": %q, "options": {%s, "fused": %v}}`, kind, dtype, rest, fused))
			}
		}
	}
	return list
}

// trainer is Trainer in testdata/fifty.py.
type trainer struct {
	dtype  torch.DType
	model  nn.Sequential
	opt    optim.Optimizer
	scaler *amp.GradScaler
	losses []float64
}

func newFifty(t *testing.T, c fifty, start peer.Tensors) *trainer {
	dtype, err := torch.ParseDType(c.DType)
	require.NoError(t, err)
	r := &trainer{dtype: dtype}
	r.model = nn.Sequential{nn.NewLinear(12, 32), nn.ReLU{}, nn.NewDropout(0.3), nn.NewLinear(32, 5)}
	params, lr, unfused := nn.Parameters(r.model), c.Options["lr"].(float64), c.Options["fused"] == false
	switch c.Kind {
	case "SGD":
		r.opt = optim.NewSGD(params, lr, optim.SGDOptions{Momentum: 0.9, Unfused: unfused})
	case "Adam":
		r.opt = optim.NewAdam(params, lr, optim.AdamOptions{Unfused: unfused})
	default:
		r.opt = optim.NewAdamW(params, lr, optim.AdamOptions{Unfused: unfused})
	}
	r.scaler = amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: dtype, GrowthInterval: 8})
	r.load(t, start)
	return r
}

func (r *trainer) load(t *testing.T, start peer.Tensors) {
	weights, state := peer.Tensors{}, map[int]map[string]any{}
	for name, value := range start {
		if key, ok := strings.CutPrefix(name, "model."); ok {
			weights[key] = value
		} else if key, ok := strings.CutPrefix(name, "optimizer."); ok {
			number, slot, _ := strings.Cut(key, ".")
			i, err := strconv.Atoi(number)
			require.NoError(t, err)
			if state[i] == nil {
				state[i] = map[string]any{}
			}
			state[i][slot] = value
		}
	}
	require.NoError(t, nn.LoadStateDict(r.model, weights))
	dict := r.opt.StateDict()
	dict["state"] = state
	require.NoError(t, r.opt.LoadStateDict(dict))
	if scale, ok := start["scale"]; ok {
		dict := r.scaler.StateDict()
		dict["scale"], dict["_growth_tracker"] = scale.Float64(), start["tracker"].Int()
		require.NoError(t, r.scaler.LoadStateDict(dict))
	}
	torch.DefaultGenerator(torch.CPU).SetState(start["rng"])
}

func (r *trainer) state() peer.Tensors {
	state := peer.Tensors{"rng": torch.DefaultGenerator(torch.CPU).State()}
	for name, value := range nn.StateDict(r.model) {
		state["model."+name] = value.Detach().Clone()
	}
	for i, slots := range r.opt.StateDict()["state"].(map[int]map[string]any) {
		for name, value := range slots {
			state[fmt.Sprint("optimizer.", i, ".", name)] = value.(torch.Tensor).Clone()
		}
	}
	if r.scaler.Enabled() {
		state["scale"] = torch.FromValue(float32(r.scaler.Scaling()))
		state["tracker"] = torch.FromValue(int64(r.scaler.StateDict()["_growth_tracker"].(int)))
	}
	return state
}

func (r *trainer) run(steps int) {
	for range steps {
		torch.Scope(func() {
			x, y := torch.RandN(16, 12), torch.RandInt(0, 5, []int{16})
			var loss torch.Tensor
			amp.Autocast(torch.CPU, r.dtype, func() { loss = F.CrossEntropy(r.model.Forward(x), y) })
			r.scaler.Scale(loss).Backward()
			r.scaler.Step(r.opt)
			r.opt.ZeroGrad()
			r.losses = append(r.losses, loss.Float64())
		})
	}
}

// Fifty steps in Python and fifty here, and the other way round, by way of files, are a
// hundred in Python: every loss, the weights, the optimizer, the scaler and the random
// numbers.
func TestFiftyAndFifty(t *testing.T) {
	torchtest.NoLeaks(t)
	peer.Command(t) // skips without Python, before the network is made
	torch.Scope(func() {
		torch.ManualSeed(3)
		inputs := peer.Tensors{}
		for name, value := range nn.StateDict(nn.Sequential{nn.NewLinear(12, 32), nn.ReLU{}, nn.NewDropout(0.3), nn.NewLinear(32, 5)}) {
			inputs["model."+name] = value
		}
		inputs["rng"] = torch.DefaultGenerator(torch.CPU).State()
		cases, halves := fifties(), peer.Tensors{}
		straight := peer.Run(t, "testdata/fifty.py", inputs, append([]string{"straight"}, cases...)...)
		for _, name := range cases {
			t.Run(name, func(t *testing.T) {
				var c fifty
				require.NoError(t, json.Unmarshal([]byte(name), &c))
				losses := torch.Values[float64](straight[name+"/losses"].To(torch.Float64))
				ours := newFifty(t, c, inputs)
				ours.run(50)
				require.Equal(t, losses[:50], ours.losses)
				for key, value := range ours.state() {
					halves[name+"/"+key] = value
				}
				theirs := newFifty(t, c, part(straight, name+"/half/"))
				theirs.run(50)
				require.Equal(t, losses[50:], theirs.losses)
				requireEqual(t, part(straight, name+"/end/"), theirs.state())
			})
		}
		resumed := peer.Run(t, "testdata/fifty.py", halves, append([]string{"resume"}, cases...)...)
		for _, name := range cases {
			torchtest.Equal(t, resumed[name+"/losses"], straight[name+"/losses"].Narrow(0, 50, 50))
			requireEqual(t, part(straight, name+"/end/"), part(resumed, name+"/end/"))
		}
	})
}

// part returns the tensors whose names begin with prefix, under names without it.
func part(all peer.Tensors, prefix string) peer.Tensors {
	own := peer.Tensors{}
	for name, value := range all {
		if name, ok := strings.CutPrefix(name, prefix); ok {
			own[name] = value
		}
	}
	return own
}

func requireEqual(t *testing.T, want, got peer.Tensors) {
	t.Helper()
	require.Greater(t, len(want), 4)
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
	for name := range want {
		torchtest.Equal(t, got[name], want[name])
	}
}
