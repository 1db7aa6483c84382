package lr

import (
	"math"

	"github.com/libtorch-go/libtorch/cgo/libm"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// OneCycleOptions are the rarer arguments of [OneCycle]; zero fields have PyTorch's defaults.
type OneCycleOptions struct {
	PctStart       float64 // part of the steps in which the rate rises; default 0.3
	Linear         bool    // rise and fall along lines rather than cosines
	ThreePhase     bool    // fall to the first rate as fast as it rose, then to the last
	FixedMomentum  bool    // leave the momentum alone
	BaseMomentum   float64 // where the rate is highest; default 0.85
	MaxMomentum    float64 // where the rate is lowest; default 0.95
	DivFactor      float64 // the first rate is the highest divided by this; default 25
	FinalDivFactor float64 // the last rate is the first divided by this; default 1e4
}

func (o *OneCycleOptions) setDefaults() {
	orDefault(&o.PctStart, 0.3)
	orDefault(&o.BaseMomentum, 0.85)
	orDefault(&o.MaxMomentum, 0.95)
	orDefault(&o.DivFactor, 25)
	orDefault(&o.FinalDivFactor, 1e4)
}

// phase is a part of a cycle: up to step end, from one rate and momentum to others. The
// numbers say which of the rates first, highest, last, and of the momenta.
type phase struct {
	end                  float64
	fromLR, toLR         float64
	fromMoment, toMoment float64
}

// OneCycle raises the rate from highest/25 to highest and lowers it to almost nothing, within
// the given number of steps, while the momentum does the opposite: super-convergence (Smith
// and Topin 2017). The optimizer's own rate and momentum do not matter. It panics with a
// *torch.Error when stepped past the end, or where momentum is to be cycled and there is
// none.
func OneCycle(opt Target, highest float64, steps int, options ...OneCycleOptions) *Schedule {
	var o OneCycleOptions
	if len(options) > 0 {
		o = options[0]
	}
	o.setDefaults()
	want(steps > 0, "one_cycle_lr", "the number of steps must be positive", steps)
	want(o.PctStart > 0 && o.PctStart <= 1, "one_cycle_lr", "PctStart must be above 0 and at most 1", o.PctStart)
	first := highest / o.DivFactor
	phases := o.phases(float64(steps), first, highest, first/o.FinalDivFactor)
	for _, g := range opt.ParamGroups() {
		g.InitialLR = first
		wantMomentum("one_cycle_lr", g, o.FixedMomentum)
	}
	return start(opt, func(step int, g *optim.Group, _ float64) float64 {
		if step > steps {
			torch.Throw("one_cycle_lr", torch.KindValue, "the schedule has %d steps; this would be step %d", steps, step)
		}
		p, at := find(phases, float64(step))
		if !o.FixedMomentum {
			*g.Momentum() = o.between(p.fromMoment, p.toMoment, at)
		}
		return o.between(p.fromLR, p.toLR, at)
	})
}

func (o *OneCycleOptions) phases(steps, first, highest, last float64) []phase {
	top := o.PctStart*steps - 1
	up := phase{top, first, highest, o.MaxMomentum, o.BaseMomentum}
	if !o.ThreePhase {
		return []phase{up, {steps - 1, highest, last, o.BaseMomentum, o.MaxMomentum}}
	}
	return []phase{up, {2*o.PctStart*steps - 2, highest, first, o.BaseMomentum, o.MaxMomentum},
		{steps - 1, first, last, o.MaxMomentum, o.MaxMomentum}}
}

// find returns the phase that a step lies in, and how far into it as a part of 1.
func find(phases []phase, step float64) (phase, float64) {
	begin := 0.0
	for i, p := range phases {
		if step <= p.end || i == len(phases)-1 {
			return p, (step - begin) / (p.end - begin)
		}
		begin = p.end
	}
	panic("unreachable: there is always a last phase")
}

// between is the value of a curve from one value to another.
func (o *OneCycleOptions) between(from, to, at float64) float64 {
	if o.Linear {
		return (to-from)*at + from
	}
	return to + (from-to)/2*(libm.Cos(math.Pi*at)+1)
}
