package amp_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

func TestAutocast(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x := torch.Ones(2, 2)
		product := func() torch.DType { return x.MatMul(x).DType() }
		require.Equal(t, torch.Float32, product())
		for asked, want := range map[torch.DType]torch.DType{
			torch.DType{}: torch.BFloat16, torch.BFloat16: torch.BFloat16, torch.Float16: torch.Float16, torch.Float32: torch.Float32,
		} {
			amp.Autocast(torch.CPU, asked, func() {
				require.Equal(t, want, product(), asked)
				require.Equal(t, torch.Float32, x.Softmax(1).DType())
				amp.Disabled(torch.CPU, func() {
					require.Equal(t, torch.Float32, product())
					amp.Autocast(torch.CPU, torch.Float16, func() { require.Equal(t, torch.Float16, product()) })
					require.Equal(t, torch.Float32, product())
				})
				require.Equal(t, want, product(), "the outer mode is back")
			})
			require.Equal(t, torch.Float32, product())
		}
		require.Panics(t, func() { amp.Autocast(torch.CPU, torch.DType{}, func() { panic("out") }) })
		require.Equal(t, torch.Float32, product(), "a panic ends the mode")
	})
}

// Weights are cast once in the outermost region, which shows where one changes in between, and
// at every use without the cache.
func TestAutocastCache(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		x, w := torch.Ones(1, 1), torch.Ones(1, 1).SetRequiresGrad(true)
		product := func() float64 { return x.MM(w).Float64() }
		set := func(v int) { torch.NoGrad(func() { w.FillInPlace(v) }) }
		amp.Autocast(torch.CPU, torch.DType{}, func() {
			require.Equal(t, 1.0, product())
			set(2)
			require.Equal(t, 1.0, product(), "the cast weight of before")
			amp.Autocast(torch.CPU, torch.DType{}, func() { require.Equal(t, 1.0, product()) })
			amp.Disabled(torch.CPU, func() { require.Equal(t, 2.0, product()) })
			require.Equal(t, 1.0, product(), "the end of an inner region forgets nothing")
		})
		amp.Autocast(torch.CPU, torch.DType{}, func() { require.Equal(t, 2.0, product(), "that of the outermost does") })
		torch.WithAutocast(torch.AutocastMode{Device: torch.CPU, Enabled: true, NoCache: true}, func() {
			require.Equal(t, torch.BFloat16, x.MM(w).DType())
			set(3)
			require.Equal(t, 3.0, product())
		})
	})
}

// plain wraps an optimizer so that it is no longer an optim.Scaled.
type plain struct{ optim.Optimizer }

var scalerOptions = amp.GradScalerOptions{DType: torch.Float16, InitScale: 1024, GrowthFactor: 1.5, BackoffFactor: 0.25, GrowthInterval: 3}

const steps = 1000

// newGrads are gradients [steps, 2, 5], infinite or NaN at every tenth step or so, in one of
// the parameters or in both. The first is finite: in Python a momentum that begins with an
// infinity holds whatever was in memory.
func newGrads() torch.Tensor {
	torch.ManualSeed(2)
	grads := torch.RandN(steps, 2, 5)
	for i, step := range torch.Values[int](torch.RandInt(1, steps, []int{steps / 10})) {
		grads.At(step, i%2, i%5).Set([]float64{math.Inf(1), math.Inf(-1), math.NaN()}[i%3])
	}
	grads.At(31).Set(math.Inf(-1))
	return grads
}

var scalerModes = []string{"fused", "plain", "clip", "two", "accumulate"}

// A thousand steps, half of them after a state from Python was loaded, and the other way
// round: after every step scale, growth tracker, skipped steps and parameters equal
// Python's.
func TestScalerEqualsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		grads := newGrads()
		want := peer.Run(t, "testdata/scaler.py", peer.Tensors{"grads": grads}, scalerModes...)
		for _, mode := range scalerModes {
			t.Run(mode, func(t *testing.T) {
				r, skips := newRun(mode), 0
				scales, trackers := torch.Values[float64](want[mode+"/scale"]), torch.Values[int](want[mode+"/tracker"])
				for step := range steps {
					torch.Scope(func() {
						if step == steps/2 {
							torchtest.Equal(t, want[mode+"/half"], toNumbers(r.scaler.StateDict()))
							other := newRun(mode)
							require.NoError(t, other.scaler.LoadStateDict(fromNumbers(want[mode+"/half"])))
							other.params, other.opts, r = r.params, r.opts, other
						}
						skipped := r.step(grads.Index(step))
						require.Equal(t, !finite(grads.Index(step)), skipped, "step %d", step)
						state := r.scaler.StateDict()
						require.Equal(t, scales[step], state["scale"], "step %d", step)
						require.Equal(t, trackers[step], state["_growth_tracker"], "step %d", step)
						torchtest.Equal(t, torch.Stack(r.params), want[mode+"/params"].Index(step))
						if skipped {
							skips++
						}
					})
				}
				require.Greater(t, skips, steps/20)
			})
		}
		rest := peer.Tensors{"grads": grads.Narrow(0, steps/2, steps/2), "state": want["fused/half"]}
		for name, got := range peer.Run(t, "testdata/scaler.py", rest, "fused") {
			if name == "fused/scale" || name == "fused/tracker" {
				torchtest.Equal(t, got, want[name].Narrow(0, steps/2, steps/2))
			}
		}
	})
}

// stateNames is STATE of testdata/scaler.py.
var stateNames = []string{"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}

func toNumbers(state map[string]any) torch.Tensor {
	var list []float64
	for _, name := range stateNames {
		n, isInt := state[name].(int)
		if f, ok := state[name].(float64); ok && !isInt {
			list = append(list, f)
			continue
		}
		list = append(list, float64(n))
	}
	return torch.FromSlice(list)
}

func fromNumbers(numbers torch.Tensor) map[string]any {
	state := map[string]any{}
	for i, f := range torch.Values[float64](numbers) {
		state[stateNames[i]] = f
	}
	return state
}

func finite(x torch.Tensor) bool { return x.IsFinite().All().Item().(bool) }

// run holds what run in testdata/scaler.py works with.
type run struct {
	mode   string
	params []torch.Tensor
	opts   []optim.Optimizer
	scaler *amp.GradScaler
}

func newRun(mode string) *run {
	r := &run{mode: mode, scaler: amp.NewGradScaler(torch.CPU, scalerOptions)}
	r.params = []torch.Tensor{torch.Ones(5).SetRequiresGrad(true), torch.Ones(5).SetRequiresGrad(true)}
	groups := [][]torch.Tensor{r.params}
	if mode == "two" {
		groups = [][]torch.Tensor{r.params[:1], r.params[1:]}
	}
	for _, g := range groups {
		var opt optim.Optimizer = optim.NewSGD(g, 0.1, optim.SGDOptions{Momentum: 0.9})
		if mode == "plain" {
			opt = plain{opt}
		}
		r.opts = append(r.opts, opt)
	}
	return r
}

func (r *run) step(grads torch.Tensor) (skipped bool) {
	parts := []float64{1}
	if r.mode == "accumulate" {
		parts = []float64{0.25, 0.75}
	}
	for _, part := range parts {
		loss := r.params[0].Mul(grads.Index(0)).Sum().Add(r.params[1].Mul(grads.Index(1)).Sum())
		r.scaler.Scale(loss.MulScalar(part)).Backward()
	}
	if r.mode == "clip" {
		r.scaler.Unscale(r.opts[0])
		clip(torch.Grads(r.params))
	}
	outcome := r.scaler.Step(r.opts...)
	for _, opt := range r.opts {
		opt.ZeroGrad()
	}
	return outcome.Skipped()
}

// clip shortens gradients whose norm is above 2, as PyTorch's clip_grad_norm_ does.
func clip(grads []torch.Tensor) {
	torch.NoGrad(func() {
		norm := torch.Stack(aten.ForeachNorm(grads)).Norm()
		factor := norm.AddScalar(1e-6).Reciprocal().MulScalar(2).ClampMax(1)
		aten.ForeachMulTensorInPlace(grads, factor)
	})
}

func TestWhoScales(t *testing.T) {
	for _, c := range []struct {
		dev     torch.Device
		options amp.GradScalerOptions
		want    bool
	}{
		{torch.CPU, amp.GradScalerOptions{}, false}, // the CPU's default is bfloat16
		{torch.CUDA(0), amp.GradScalerOptions{}, true},
		{torch.CPU, amp.GradScalerOptions{DType: torch.Float16}, true},
		{torch.CUDA(0), amp.GradScalerOptions{DType: torch.BFloat16}, false},
		{torch.CUDA(0), amp.GradScalerOptions{DType: torch.Float32}, false},
		{torch.CUDA(0), amp.GradScalerOptions{Disabled: true}, false},
	} {
		require.Equal(t, c.want, amp.NewGradScaler(c.dev, c.options).Enabled(), "%v %+v", c.dev, c.options)
	}
}

func TestScalerThatDoesNothing(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		s := amp.NewGradScaler(torch.CPU)
		p := torch.Ones(1).SetRequiresGrad(true)
		opt := optim.NewSGD([]torch.Tensor{p}, 0.5)
		loss := p.Sum()
		require.True(t, s.Scale(loss).Is(loss))
		loss.Backward()
		s.Unscale(opt)
		s.Unscale(opt)
		require.False(t, s.Step(opt).Skipped())
		require.Equal(t, 0.5, p.Float64())
		require.Equal(t, 1.0, s.Scaling())
		require.Empty(t, s.StateDict())
		require.NoError(t, s.LoadStateDict(map[string]any{"scale": "?"}))
	})
}

func TestMisuse(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		p := torch.Ones(1).SetRequiresGrad(true)
		opt := optim.NewSGD([]torch.Tensor{p}, 0.5)
		const first = "no loss was scaled since the last step: call Scale(loss).Backward() first, and step optimizers that share a " +
			"scaler in one call"
		for _, c := range []struct {
			name string
			do   func(s *amp.GradScaler)
			want string
		}{
			{"step at once", func(s *amp.GradScaler) { s.Step(opt) }, "torch: step: " + first},
			{"unscale at once", func(s *amp.GradScaler) { s.Unscale(opt) }, "torch: unscale: " + first},
			{"step twice", func(s *amp.GradScaler) { s.Scale(p.Sum()).Backward(); s.Step(opt); s.Step(opt) }, "torch: step: " + first},
			{"unscale after step", func(s *amp.GradScaler) { s.Scale(p.Sum()).Backward(); s.Step(opt); s.Unscale(opt) }, "torch: unscale: " + first},
			{"unscale twice", func(s *amp.GradScaler) { s.Scale(p.Sum()).Backward(); s.Unscale(opt); s.Unscale(opt) },
				"torch: unscale: the gradients of this optimizer were unscaled already since the last step"},
			{"factors the wrong way round", func(*amp.GradScaler) {
				amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16, GrowthFactor: 0.5, BackoffFactor: 2})
			}, "torch: grad_scaler: the growth factor must be > 1 and the backoff factor < 1, got 0.5 and 2"},
			{"float16 gradients", func(s *amp.GradScaler) {
				half := torch.TensorOptions{DType: torch.Float16}.Ones(1).SetRequiresGrad(true)
				s.Scale(half.Sum()).Backward()
				s.Unscale(optim.NewSGD([]torch.Tensor{half}, 1))
			}, "torch: unscale: the gradients are float16; keep the parameters in float32 and let Autocast cast them"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := amp.NewGradScaler(torch.CPU, scalerOptions)
				require.EqualError(t, torch.Try(func() { torch.Scope(func() { c.do(s) }) }), c.want)
			})
		}
	})
}

func TestScalerState(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		grads := newGrads()
		a := newRun("fused")
		for step := range 10 {
			a.step(grads.Index(step))
		}
		state := a.scaler.StateDict()
		b, c := newRun("fused"), newRun("fused")
		require.NoError(t, b.scaler.LoadStateDict(state)) // before the first step
		c.step(grads.Index(5))
		require.NoError(t, c.scaler.LoadStateDict(state)) // after it
		require.Equal(t, state, b.scaler.StateDict())
		require.Equal(t, state, c.scaler.StateDict())
		for step := 10; step < 25; step++ {
			for _, r := range []*run{a, b, c} {
				r.step(grads.Index(step))
			}
			require.Equal(t, a.scaler.StateDict(), b.scaler.StateDict())
			require.Equal(t, a.scaler.StateDict(), c.scaler.StateDict())
		}
		before := a.scaler.StateDict()
		require.EqualError(t, a.scaler.LoadStateDict(nil), "amp: the scaler's state is empty: it was saved by a scaler that did nothing")
		state["growth_factor"] = "two"
		require.EqualError(t, a.scaler.LoadStateDict(state), `amp: the scaler's state has no number "growth_factor": two`)
		require.Equal(t, before, a.scaler.StateDict())
	})
}

// The scaler's tensors are made in the scope of the first step and must outlive it.
func TestScalerOutlivesScopes(t *testing.T) {
	torchtest.NoLeaks(t)
	p := torch.Ones(2).SetRequiresGrad(true)
	defer p.Close()
	opt := optim.NewSGD([]torch.Tensor{p}, 0.1)
	s := amp.NewGradScaler(torch.CPU, scalerOptions)
	var outcome amp.Outcome
	for range 4 {
		torch.Scope(func() {
			s.Scale(p.Sum()).Backward()
			outcome = s.Step(opt)
			opt.ZeroGrad()
		})
		require.False(t, outcome.Skipped())
	}
	require.Equal(t, 1536.0, s.Scaling())
	before := torch.Stats().Live()
	s.Close()
	require.Equal(t, before-3, torch.Stats().Live())
}

func Example() {
	torch.ManualSeed(0)
	net := nn.Sequential{nn.NewLinear(8, 16), nn.ReLU{}, nn.NewLinear(16, 2)}
	opt := optim.NewSGD(nn.Parameters(net), 0.5)
	scaler := amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16})
	var first, last float64
	for step := range 20 {
		torch.Scope(func() {
			x := torch.Eye(8)
			y := torch.FromSlice([]int{0, 1, 0, 1, 0, 1, 0, 1})
			var loss torch.Tensor
			amp.Autocast(torch.CPU, torch.Float16, func() { loss = F.CrossEntropy(net.Forward(x), y) })
			scaler.Scale(loss).Backward()
			scaler.Step(opt)
			opt.ZeroGrad()
			if last = loss.Float64(); step == 0 {
				first = last
			}
		})
	}
	fmt.Println(last < first/2, scaler.Scaling())
	// Output: true 65536
}
