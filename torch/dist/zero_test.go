package dist_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// learner is a model and its optimizer on a rank.
type learner struct {
	ddp    *dist.DDP[model]
	opt    optim.Optimizer
	inner  optim.Optimizer // in opt, where that is divided
	scaler *amp.GradScaler
}

func (l *learner) close() {
	l.ddp.Close()
	nn.Close(l.ddp.Module)
	l.opt.(interface{ Close() }).Close()
	l.scaler.Close()
}

// learns makes a learner with an optimizer that is divided, or not.
func learns(g *dist.Group, in peer.Tensors, divided bool, made func(params []torch.Tensor) optim.Optimizer) (l *learner, err error) {
	torch.Unscoped(func() {
		l = &learner{scaler: amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{InitScale: 1024})}
		m := newNet()
		state := maps.Collect(nn.StateDict(m))
		for name := range state {
			state[name] = in["net.state."+name]
		}
		if err = nn.LoadStateDict(m, state); err != nil {
			return
		}
		if l.ddp, err = dist.NewDDP(g, m); err != nil {
			return
		}
		l.inner = made(nn.Parameters(l.ddp))
		if l.opt = l.inner; divided {
			l.opt, err = dist.NewZeRO(g, l.opt)
		}
	})
	return l, err
}

// trains makes steps, with a loss that is scaled or not.
func (l *learner) trains(in peer.Tensors, rank, first, last int, scaled bool) {
	for step := first; step < last; step++ {
		torch.Scope(func() {
			x, y := in["net.x"].Select(0, step).Select(0, rank), in["net.y"].Select(0, step).Select(0, rank)
			out := l.ddp.Call(func(m model) []torch.Tensor { return []torch.Tensor{m.Forward(x, false)} })
			loss := F.CrossEntropy(out[0], y)
			if scaled {
				l.scaler.Scale(loss).Backward()
				l.scaler.Step(l.opt)
			} else {
				loss.Backward()
				l.opt.Step()
			}
			l.opt.ZeroGrad()
		})
	}
}

func (l *learner) same(t *testing.T, as *learner, about string) {
	want := nn.Parameters(as.ddp)
	for i, p := range nn.Parameters(l.ddp) {
		require.True(t, p.Equal(want[i]), "%s: parameter %d", about, i)
	}
}

// flat are the tensors of an optimizer's state, by number and name.
func flat(d optim.StateDict) peer.Tensors {
	list := peer.Tensors{}
	for n, slots := range d["state"].(map[int]map[string]any) {
		for name, v := range slots {
			x, ok := v.(torch.Tensor)
			if !ok {
				x = torch.FromValue(v.(int))
			}
			list[fmt.Sprintf("%d.%s", n, name)] = x
		}
	}
	return list
}

func bytesOf(list peer.Tensors) (n int) {
	for _, t := range list {
		n += t.NumEl() * t.DType().Size()
	}
	return n
}

// A divided optimizer comes to the bits of the whole one, with a part of its state.
func TestZeROEqualsTheWhole(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	for name, c := range map[string]struct {
		made   func(params []torch.Tensor) optim.Optimizer
		scaled bool
	}{
		"SGD":   {made: func(p []torch.Tensor) optim.Optimizer { return optim.NewSGD(p, 0.05, optim.SGDOptions{Momentum: 0.9}) }},
		"AdamW": {made: func(p []torch.Tensor) optim.Optimizer { return optim.NewAdamW(p, 1e-3) }, scaled: true},
		"RAdam": {made: func(p []torch.Tensor) optim.Optimizer { return optim.NewRAdam(p, 1e-3) }, scaled: true},
		"two groups": {made: func(p []torch.Tensor) optim.Optimizer {
			opt := optim.NewRMSprop(p[:3], 1e-3, optim.RMSpropOptions{Momentum: 0.5})
			opt.AddGroup(p[3:], 1e-2)
			return opt
		}},
	} {
		torch.Scope(func() {
			in := inputs(2)
			ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
				whole, err := learns(g, in, false, c.made)
				if err != nil {
					return err
				}
				defer whole.close()
				divided, err := learns(g, in, true, c.made)
				if err != nil {
					return err
				}
				defer divided.close()
				whole.trains(in, g.Rank(), 0, steps, c.scaled)
				divided.trains(in, g.Rank(), 0, steps, c.scaled)
				divided.same(t, whole, name)

				zero, want := divided.opt.(*dist.ZeRO), flat(whole.opt.StateDict())
				require.Error(t, torch.Try(func() { zero.StateDict() }))
				require.LessOrEqual(t, float64(bytesOf(flat(divided.inner.StateDict()))), (0.5+0.15)*float64(bytesOf(want)), name)
				for to := range 2 {
					if err := zero.Consolidate(ctx, to); err != nil {
						return err
					}
					if g.Rank() != to {
						continue
					}
					got := flat(zero.StateDict())
					require.Len(t, got, len(want), name)
					for key, x := range want {
						require.True(t, got[key].Equal(x), "%s: %s", name, key)
					}
				}
				return g.Barrier().Wait(ctx)
			})
		})
	}
}

// The state of two ranks goes on in Python, in divided and in whole optimizers, and on another number of ranks.
func TestZeROStateTravels(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	const first = steps - 5
	made := func(p []torch.Tensor) optim.Optimizer { return optim.NewAdamW(p, 1e-3) }
	torch.Scope(func() {
		in, path, got := inputs(2), filepath.Join(t.TempDir(), "half.pt"), peer.Tensors{}
		defer func() {
			for _, x := range got {
				x.Close()
			}
		}()
		ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
			l, err := learns(g, in, true, made)
			if err != nil {
				return err
			}
			defer l.close()
			zero := l.opt.(*dist.ZeRO)
			l.trains(in, g.Rank(), 0, first, false)
			if err := zero.Consolidate(ctx, 0); err != nil {
				return err
			}
			if g.Rank() == 0 {
				if err := pt.Save(path, map[string]any{"model": nn.StateDict(l.ddp), "optimizer": zero.StateDict()}); err != nil {
					return err
				}
			}
			l.trains(in, g.Rank(), first, steps, false)
			if err := zero.Consolidate(ctx, 0); err != nil || g.Rank() != 0 {
				return err
			}
			for name, x := range nn.StateDict(l.ddp) {
				got["model."+name] = x.Clone().Keep()
			}
			for name, x := range flat(zero.StateDict()) {
				got[name] = x.Clone().Keep()
			}
			return nil
		})
		want := peer.Run(t, "testdata/zero.py", in, path, fmt.Sprint(first))
		require.Len(t, want, 2*len(got))
		for name, x := range want {
			_, name, _ := strings.Cut(name, ".")
			require.True(t, got[name].Reshape(-1).Equal(x.To(got[name].DType()).Reshape(-1)), name)
		}
		resharded(t, in, path, made)
	})
}

// resharded loads the state of two ranks on three, which have the same in the end.
func resharded(t *testing.T, in peer.Tensors, path string, made func([]torch.Tensor) optim.Optimizer) {
	v, err := pt.Load(path)
	require.NoError(t, err)
	state := v.(*pt.Dict).Dict("optimizer").Map()
	ranks(t, 3, patience, func(ctx context.Context, g *dist.Group) error {
		l, err := learns(g, in, true, made)
		if err != nil {
			return err
		}
		defer l.close()
		zero := l.opt.(*dist.ZeRO)
		if err := errors.Join(zero.LoadStateDict(state), zero.Consolidate(ctx, 2)); err != nil || g.Rank() != 2 {
			return err
		}
		want := state["state"].(map[any]any)
		got := zero.StateDict()["state"].(map[int]map[string]any)
		require.Len(t, got, len(want))
		for n, slots := range want {
			for name, x := range slots.(map[string]any) {
				require.True(t, got[n.(int)][name].(torch.Tensor).Equal(x.(torch.Tensor)), "%v.%v", n, name)
			}
		}
		return nil
	})
}

func TestZeROMistakes(t *testing.T) {
	torchtest.NoLeaks(t)
	made := func(p []torch.Tensor) optim.Optimizer { return optim.NewSGD(p, 0.1, optim.SGDOptions{Momentum: 0.9}) }
	torch.Scope(func() {
		var none dist.ZeRO
		require.ErrorContains(t, torch.Try(none.Step), "NewZeRO")
		require.ErrorContains(t, none.LoadStateDict(nil), "NewZeRO")
		require.ErrorContains(t, none.Consolidate(t.Context(), 0), "NewZeRO")
		in := inputs(2)
		ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
			_, err := dist.NewZeRO(g, nil)
			require.ErrorContains(t, err, "no optimizer")
			l, err := learns(g, in, true, made)
			if err != nil {
				return err
			}
			defer l.close()
			zero := l.opt.(*dist.ZeRO)
			l.trains(in, g.Rank(), 0, 1, false)
			require.ErrorContains(t, zero.Consolidate(ctx, 2), "from 0 to 1")
			require.ErrorContains(t, torch.Try(func() { zero.StateDict() }), "Consolidate(ctx, "+fmt.Sprint(g.Rank()))
			for _, d := range []optim.StateDict{nil, {"state": 1}, {"state": map[int]any{}, "param_groups": []any{1, 2}},
				{"state": map[int]any{}, "param_groups": []any{map[string]any{"params": []any{"a"}}}}} {
				require.ErrorContains(t, zero.LoadStateDict(d), "does not fit the optimizer")
			}
			require.NotEmpty(t, flat(l.inner.StateDict()), "nothing has changed")

			others := torch.Zeros(2 + g.Rank()).SetRequiresGrad(true)
			_, err = dist.NewZeRO(g, made([]torch.Tensor{others}))
			if g.Rank() == 0 { // the others compare theirs with its
				return err
			}
			require.ErrorIs(t, err, torch.ErrDist)
			return nil
		})
	})
}
