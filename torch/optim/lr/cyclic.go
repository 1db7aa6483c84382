package lr

import (
	"math"

	"github.com/libtorch-go/libtorch/cgo/libm"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// CyclicOptions are the rarer arguments of [Cyclic]; zero fields have PyTorch's defaults.
type CyclicOptions struct {
	Up            int                     // steps from the lowest rate to the highest; default 2000
	Down          int                     // steps back; default Up
	Halving       bool                    // every cycle is half as high as the one before: "triangular2"
	Gamma         float64                 // the height at a step is multiplied by Gamma^step: "exp_range"; default 1
	Scale         func(x float64) float64 // the height's factor at cycle x, counted from 1; in place of the two above
	ByStep        bool                    // Scale gets the step, not the cycle
	FixedMomentum bool                    // leave the momentum alone
	BaseMomentum  float64                 // where the rate is highest; default 0.8
	MaxMomentum   float64                 // where the rate is lowest; default 0.9
}

// Cyclic goes up and down between two rates along lines, while the momentum does the opposite
// (Smith, "Cyclical Learning Rates for Training Neural Networks", 2015). The optimizer's own
// rate does not matter. It panics with a *torch.Error if momentum should be cycled and there
// is none.
func Cyclic(opt Target, lowest, highest float64, options ...CyclicOptions) *Schedule {
	var o CyclicOptions
	if len(options) > 0 {
		o = options[0]
	}
	if o.Up == 0 {
		o.Up = 2000
	}
	if o.Down == 0 {
		o.Down = o.Up
	}
	orDefault(&o.BaseMomentum, 0.8)
	orDefault(&o.MaxMomentum, 0.9)
	want(o.Up > 0 && o.Down > 0, "cyclic_lr", "the numbers of steps must be positive", min(o.Up, o.Down))
	for _, g := range opt.ParamGroups() {
		g.LR = lowest
		wantMomentum("cyclic_lr", g, o.FixedMomentum)
	}
	s := start(opt, func(step int, g *optim.Group, _ float64) float64 {
		height := o.at(step)
		if !o.FixedMomentum {
			*g.Momentum() = o.MaxMomentum - height(o.MaxMomentum-o.BaseMomentum)
		}
		return lowest + height(highest-lowest)
	})
	for i := range s.base {
		s.base[i] = lowest
	}
	s.notes = func(int) variables { return variables{"_scale_fn_custom": nil} } // PyTorch's load_state_dict wants it
	return s
}

// at returns the height of a cycle at a step, as a part of the full height.
func (o *CyclicOptions) at(step int) func(height float64) float64 {
	total := float64(o.Up) + float64(o.Down)
	ratio := float64(o.Up) / total
	cycle := math.Floor(1 + float64(step)/total)
	x := 1 + float64(step)/total - cycle
	part := (x - 1) / (ratio - 1)
	if x <= ratio {
		part = x / ratio
	}
	scale := o.scale(cycle, float64(step))
	return func(height float64) float64 { return height * part * scale }
}

func (o *CyclicOptions) scale(cycle, step float64) float64 {
	switch {
	case o.Scale != nil && o.ByStep:
		return o.Scale(step)
	case o.Scale != nil:
		return o.Scale(cycle)
	case o.Halving:
		return 1 / libm.Pow(2, cycle-1)
	case o.Gamma != 0:
		return libm.Pow(o.Gamma, step)
	}
	return 1
}

// wantMomentum refuses a group that has no momentum to cycle.
func wantMomentum(schedule string, g *optim.Group, fixed bool) {
	if !fixed && g.Momentum() == nil {
		torch.Throw(schedule, torch.KindValue, "optimizer must support momentum or beta1 with `cycle_momentum` option enabled; set FixedMomentum")
	}
}

func orDefault(v *float64, def float64) {
	if *v == 0 {
		*v = def
	}
}
