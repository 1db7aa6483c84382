package dist_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// walks trains a model of one weight, which is 1, on inputs of 1: each step makes it smaller by lr times the gradient. It returns
// the weight, and what Join does.
func walks(g *dist.Group, batches int, hook bool, lr float64, opts ...dist.JoinOptions) (float64, error) {
	m := nn.NewLinear(1, 1, nn.LinearOptions{NoBias: true})
	defer nn.Close(m)
	torch.NoGrad(func() { m.Weight.FillInPlace(1) })
	ddp, err := dist.NewDDP(g, m)
	if err != nil {
		return 0, err
	}
	defer ddp.Close()
	if hook {
		ddp.RegisterCommHook(mean(g))
	}
	opt := optim.NewSGD(nn.Parameters(ddp), lr)
	defer opt.Close()
	err = ddp.Join(func() error {
		for range batches {
			torch.Scope(func() {
				ddp.Forward(torch.Ones(1, 1)).Sum().Backward()
				opt.Step()
				opt.ZeroGrad()
			})
		}
		return nil
	}, opts...)
	return m.Weight.Float64(), err
}

// Rank 0 has no batch, 1 has one, 2 has two: the steps are 2/3 and 1/3 of the learning rate, or all of it.
func TestJoin(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, c := range map[string]struct {
		hook bool
		o    dist.JoinOptions
		want float64
	}{
		"by the size of the group":    {want: 1 - 0.3*(2./3+1./3)},
		"by the ranks with inputs":    {o: dist.JoinOptions{EffectiveWorldSize: true}, want: 1 - 0.3*2},
		"with a hook of Go's":         {hook: true, want: 1 - 0.3*(2./3+1./3)},
		"and ends where all end well": {o: dist.JoinOptions{Disable: true}, want: 1 - 0.3*2},
	} {
		ranks(t, 3, patience, func(ctx context.Context, g *dist.Group) error {
			batches := g.Rank()
			if c.o.Disable {
				batches = 2
			}
			got, err := walks(g, batches, c.hook, 0.3, c.o)
			require.InDelta(t, c.want, got, 1e-6, name)
			return errors.Join(err, g.Barrier().Wait(ctx))
		})
	}
}

func TestJoinThrows(t *testing.T) {
	torchtest.NoLeaks(t)
	ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
		_, err := walks(g, 1+g.Rank(), false, 0.1, dist.JoinOptions{ThrowOnEarlyTermination: true})
		require.ErrorIs(t, err, dist.ErrUneven)
		require.ErrorIs(t, err, torch.ErrDist)
		require.ErrorContains(t, err, []string{"this rank has no inputs left", "another rank has no inputs left"}[g.Rank()])
		_, err = walks(g, 2, false, 0.1, dist.JoinOptions{ThrowOnEarlyTermination: true})
		return errors.Join(err, g.Barrier().Wait(ctx))
	})
}

func TestJoinMistakes(t *testing.T) {
	torchtest.NoLeaks(t)
	ranks(t, 2, patience, func(ctx context.Context, g *dist.Group) error {
		require.ErrorContains(t, dist.Join(nil, nil), "no models")
		require.ErrorContains(t, dist.Join([]dist.Joinable{&dist.ZeRO{}}, nil), "NewZeRO")
		part, err := g.NewGroup(ctx, 0, 1)
		if err != nil {
			return err
		}
		defer part.Close()
		var list []dist.Joinable
		for _, group := range []*dist.Group{g, part} {
			m := nn.NewLinear(1, 1)
			defer nn.Close(m)
			ddp, err := dist.NewDDP(group, m)
			if err != nil {
				return err
			}
			defer ddp.Close()
			list = append(list, ddp)
		}
		require.ErrorContains(t, dist.Join(list, nil), "of one group")
		failed := errors.New("the file is missing")
		require.ErrorIs(t, dist.Join(list[:1], func() error { return failed }), failed)
		require.ErrorContains(t, dist.Join(list[:1], func() error { torch.Ones(2).Add(torch.Ones(3)); return nil }), "size")
		return g.Barrier().Wait(ctx)
	})
}

func TestPowerSGDMistakes(t *testing.T) {
	torchtest.NoLeaks(t)
	ranks(t, 1, patience, func(ctx context.Context, g *dist.Group) error {
		for says, o := range map[string]dist.PowerSGDOptions{
			"must be positive": {MatrixApproximationRank: -1},
			"at least 2":       {StartIter: 1, NoWarmStart: true},
		} {
			_, err := dist.NewPowerSGD(g, o)
			require.ErrorContains(t, err, says)
		}
		power, err := dist.NewPowerSGD(g, dist.PowerSGDOptions{StartIter: 1, NoWarmStart: true, NoErrorFeedback: true})
		if err != nil {
			return err
		}
		defer power.Close()
		for range 3 { // the second pass and the third send 20 numbers of 100, which is enough for a product of two vectors
			outer := torch.RandN(10, 1).Mul(torch.RandN(1, 10))
			grads := outer.Clone().View(-1)
			power.Hook(dist.GradBucket{Buffer: grads, Gradients: []torch.Tensor{grads.View(10, 10)}, Last: true})
			torchtest.AllClose(t, grads, outer.View(-1))
		}
		before, after := power.CompressionStats()
		require.Equal(t, []int{200, 40}, []int{before, after})
		return nil
	})
}
