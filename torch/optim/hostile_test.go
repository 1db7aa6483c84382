package optim_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/reliability"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// hostileValues are what a mutation puts in the place of any value.
func hostileValues(closed torch.Tensor) []func() any {
	tensor := func(t func() torch.Tensor) func() any { return func() any { return t() } }
	value := func(v any) func() any { return func() any { return v } }
	return []func() any{
		value(nil), value("text"), value(""), value(true), value(false), value(math.NaN()), value(math.Inf(1)), value(-1.0), value(0.0),
		value(1e308),
		value(math.MaxInt), value(math.MinInt), value(-1), value(uint64(math.MaxUint64)), value(float32(0.5)), value(complex(1, 2)),
		value(new(0.5)), value((*float64)(nil)),
		value([]float64{0.5, 0.5}), value([]any{nil, nil}), value([]any{"a", "b"}), value([]any{}), value([0]int{}),
		value(map[string]any{}), value(map[any]any{1: 2}),
		value(struct{}{}), value(func() {}), value(make(chan int)), value([]torch.Tensor{{}}), value(torch.Tensor{}), value(closed),
		value(&closed),
		tensor(func() torch.Tensor { return torch.RandN(3) }),
		tensor(func() torch.Tensor { return torch.RandN(2, 3).SetRequiresGrad(true) }),
		tensor(func() torch.Tensor { return torch.RandN(2, 3).T() }),
		tensor(func() torch.Tensor { return torch.RandN(1).Expand(2, 3) }),
		tensor(func() torch.Tensor { return torch.TensorOptions{DType: torch.Int64}.Ones(2, 3) }),
		tensor(func() torch.Tensor { return torch.TensorOptions{DType: torch.Bool}.Ones(2, 3) }),
		tensor(func() torch.Tensor { return torch.TensorOptions{DType: torch.Complex64}.Ones(2, 3) }),
		tensor(func() torch.Tensor { return torch.TensorOptions{DType: torch.Complex64}.Ones() }),
		tensor(func() torch.Tensor { return torch.TensorOptions{DType: torch.Float16}.Ones(2, 3) }),
		tensor(func() torch.Tensor { return torch.TensorOptions{Device: torch.Meta}.Ones(2, 3) }),
		tensor(func() torch.Tensor { return torch.TensorOptions{Device: torch.Meta}.Ones() }),
		tensor(func() torch.Tensor { return torch.Ones(2, 3).ToSparse() }),
		tensor(func() torch.Tensor { return torch.Ones(2, 3).ToSparseCSR() }),
		tensor(func() torch.Tensor { return aten.QuantizePerTensor(torch.Ones(2, 3), 0.1, 0, torch.QInt8) }),
		tensor(func() torch.Tensor { return aten.QuantizePerTensor(torch.Ones(), 0.1, 0, torch.QInt8) }),
		tensor(func() torch.Tensor { return torch.FromValue(math.NaN()) }),
		tensor(func() torch.Tensor { return torch.FromValue(-7.0) }),
		tensor(func() torch.Tensor { return torch.FromValue(int64(math.MaxInt64)) }),
		tensor(func() torch.Tensor { return torch.Full([]int{2, 3}, math.NaN()) }),
		tensor(func() torch.Tensor { return torch.Zeros(0) }),
		tensor(func() torch.Tensor { return torch.Zeros(6) }),
	}
}

// A hostile state dict is taken or refused as a whole: where it is refused, the optimizer
// steps on as one that never saw it, and no tensor is left.
func TestHostileStateDicts(t *testing.T) {
	torchtest.NoLeaks(t)
	total, refused, kinds := reliability.Size(100_000, 3_000), 0, slices.Sorted(maps.Keys(hostileOptimizers))
	r := rand.New(rand.NewPCG(1, 2))
	torch.Scope(func() {
		closed := torch.Ones(2, 3)
		closed.Close()
		values := hostileValues(closed)
		for i, kind := range kinds {
			n := total/len(kinds) + min(1, max(0, total%len(kinds)-i))
			before := torch.Stats().Unscoped
			torch.Scope(func() {
				refused += attack(t, kind, n, r, values)
			})
			require.LessOrEqual(t, torch.Stats().Unscoped, before, "%s leaves tensors", kind)
		}
	})
	reliability.Note(t, "hostile state dicts for optimizers", total)
	reliability.Note(t, "hostile state dicts for optimizers that were refused", refused)
	require.Greater(t, refused, total/2)
	require.Less(t, refused, total)
}

// hostileTarget is an optimizer with a way to step it once.
type hostileTarget struct {
	trainer
	params []torch.Tensor
	step   func()
}

var hostileOptimizers = func() map[string]func() hostileTarget {
	list := map[string]func() hostileTarget{}
	for kind, make := range makers {
		options := map[string]any{"lr": 0.1}
		switch kind {
		case "SGD", "RMSprop":
			options["momentum"] = 0.9
		}
		list[kind] = func() hostileTarget {
			params := hostileParams()
			opt := make(params, spec{Options: options})
			return hostileTarget{opt, params, func() {
				for _, p := range params {
					grad := p.Detach().MulScalar(0.5)
					if kind == "SparseAdam" {
						grad = grad.ToSparse()
					}
					p.SetGrad(grad)
				}
				opt.Step()
			}}
		}
	}
	list["LBFGS"] = func() hostileTarget {
		params := hostileParams()
		opt := optim.NewLBFGS(params, 0.1, optim.LBFGSOptions{MaxIter: 2})
		return hostileTarget{lbfgsTrainer{opt}, params, func() {
			opt.Step(func() torch.Tensor {
				opt.ZeroGrad()
				loss := params[0].Square().Sum().Add(params[1].Square().Sum())
				loss.Backward()
				return loss
			})
		}}
	}
	return list
}()

// lbfgsTrainer is an LBFGS as the other optimizers are.
type lbfgsTrainer struct{ *optim.LBFGS }

func (lbfgsTrainer) Step() {}

func hostileParams() []torch.Tensor {
	torch.ManualSeed(3)
	return []torch.Tensor{torch.RandN(2, 3).SetRequiresGrad(true), torch.RandN(2, 3).SetRequiresGrad(true)}
}

// attack loads n mutated state dicts into an optimizer and returns how many were refused.
func attack(t *testing.T, kind string, n int, r *rand.Rand, values []func() any) (refused int) {
	target, twin := hostileOptimizers[kind](), hostileOptimizers[kind]()
	defer func() { target.Close(); twin.Close() }()
	good := func(o hostileTarget) {
		torch.Scope(func() { o.step() })
	}
	good(target)
	good(twin)
	for range n {
		torch.Scope(func() {
			dict := mutated(target.StateDict(), r, values)
			before := torch.Stats()
			err := target.LoadStateDict(dict)
			if err == nil {
				_ = torch.Try(func() { torch.Scope(target.step) }) // whatever was taken, a step ends
				for i, p := range target.params {
					torch.NoGrad(func() { p.CopyInPlace(twin.params[i]) })
				}
				require.NoError(t, target.LoadStateDict(twin.StateDict()), "%s: what was taken can be replaced", kind)
				return
			}
			refused++
			require.LessOrEqual(t, torch.Stats().Unscoped, before.Unscoped, "%s: %v leaves tensors", kind, err)
			good(target)
			good(twin)
			for i := range target.params {
				require.Equal(t, torch.Values[float32](twin.params[i].Detach()), torch.Values[float32](target.params[i].Detach()),
					"%s: after %v", kind, err)
			}
		})
	}
	return refused
}

// mutated is a copy of a state dict with one to three values replaced, taken away or doubled.
func mutated(from optim.StateDict, r *rand.Rand, values []func() any) optim.StateDict {
	dict := copied(from).(optim.StateDict)
	for range 1 + r.IntN(3) {
		mutate(dict, r, values)
	}
	return dict
}

func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		to := map[string]any{}
		for k, x := range v {
			to[k] = copied(x)
		}
		return to
	case map[int]map[string]any:
		to := map[any]any{}
		for k, x := range v {
			to[k] = copied(x)
		}
		return to
	case []map[string]any:
		to := []any{}
		for _, x := range v {
			to = append(to, copied(x))
		}
		return to
	case []int:
		to := []any{}
		for _, x := range v {
			to = append(to, x)
		}
		return to
	}
	return v
}

// mutate changes one value of a tree, at any depth.
func mutate(v any, r *rand.Rand, values []func() any) {
	deeper := func(child any, put func(any), drop func()) {
		if r.IntN(8) > 0 {
			switch child.(type) {
			case map[string]any, map[any]any, []any:
				mutate(child, r, values)
				return
			}
		}
		if r.IntN(8) == 0 {
			drop()
			return
		}
		put(values[r.IntN(len(values))]())
	}
	switch v := v.(type) {
	case map[string]any:
		if keys := slices.Sorted(maps.Keys(v)); len(keys) > 0 {
			key := keys[r.IntN(len(keys))]
			deeper(v[key], func(x any) { v[key] = x }, func() { delete(v, key) })
		}
	case map[any]any:
		keys := make([]any, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b any) int { return len(fmt.Sprint(a)) - len(fmt.Sprint(b)) })
		if len(keys) > 0 {
			key := keys[r.IntN(len(keys))]
			deeper(v[key], func(x any) { v[key] = x }, func() { v[r.IntN(3)] = v[key]; delete(v, key) })
		}
	case []any:
		if len(v) > 0 {
			i := r.IntN(len(v))
			deeper(v[i], func(x any) { v[i] = x }, func() { v[i] = v[r.IntN(len(v))] })
		}
	}
}
