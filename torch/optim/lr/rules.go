package lr

import (
	"math"

	"github.com/libtorch-go/libtorch/cgo"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// Lambda multiplies the base rate by factor(step).
func Lambda(opt optim.Optimizer, factor func(step int) float64) *Schedule {
	return start(opt, func(step int, _ *optim.Group, base float64) float64 { return base * factor(step) })
}

// Step multiplies the rate by gamma every size steps.
func Step(opt optim.Optimizer, size int, gamma float64) *Schedule {
	want(size > 0, "step_lr", "the number of steps must be positive", size)
	return start(opt, func(step int, g *optim.Group, _ float64) float64 {
		if step == 0 || step%size != 0 {
			return g.LR
		}
		return g.LR * gamma
	})
}

// MultiStep multiplies the rate by gamma at each milestone, a number of steps.
func MultiStep(opt optim.Optimizer, milestones []int, gamma float64) *Schedule {
	times := map[int]int{}
	for _, m := range milestones {
		times[m]++
	}
	return start(opt, func(step int, g *optim.Group, _ float64) float64 {
		if times[step] == 0 {
			return g.LR
		}
		return g.LR * cgo.Pow(gamma, float64(times[step]))
	})
}

// Exponential multiplies the rate by gamma at every step.
func Exponential(opt optim.Optimizer, gamma float64) *Schedule {
	return start(opt, func(step int, g *optim.Group, _ float64) float64 {
		if step == 0 {
			return g.LR
		}
		return g.LR * gamma
	})
}

// Linear goes from first times the base rate to last times the base rate in so many steps: a
// warm-up where first is small.
func Linear(opt optim.Optimizer, first, last float64, steps int) *Schedule {
	want(first > 0 && first <= 1, "linear_lr", "the first factor must be above 0 and at most 1", first)
	want(last >= 0 && last <= 1, "linear_lr", "the last factor must lie between 0 and 1", last)
	total := float64(steps)
	return start(opt, func(step int, g *optim.Group, _ float64) float64 {
		switch {
		case step == 0:
			return g.LR * first
		case step > steps:
			return g.LR
		}
		return g.LR * (1 + (last-first)/(total*first+float64(step-1)*(last-first)))
	})
}

// CosineAnnealing goes from the base rate to lowest along half a cosine, in so many steps,
// and back again if it is stepped on.
func CosineAnnealing(opt optim.Optimizer, steps int, lowest float64) *Schedule {
	want(steps > 0, "cosine_annealing_lr", "the number of steps must be positive", steps)
	period := float64(steps)
	return start(opt, func(step int, g *optim.Group, base float64) float64 {
		t := float64(step)
		switch {
		case step == 0:
			return g.LR
		case (step-1-steps)%(2*steps) == 0:
			return g.LR + (base-lowest)*(1-cgo.Cos(math.Pi/period))/2
		}
		return (1+cgo.Cos(math.Pi*t/period))/(1+cgo.Cos(math.Pi*(t-1)/period))*(g.LR-lowest) + lowest
	})
}

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
	for _, d := range []struct {
		field *float64
		value float64
	}{{&o.PctStart, 0.3}, {&o.BaseMomentum, 0.85}, {&o.MaxMomentum, 0.95}, {&o.DivFactor, 25}, {&o.FinalDivFactor, 1e4}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
}

// phase is a part of a cycle: up to step end, from one rate and momentum to others. The
// numbers say which of the rates first, highest, last, and of the momenta.
type phase struct {
	end                  float64
	fromLR, toLR         float64
	fromMoment, toMoment float64
}

// OneCycle raises the rate from highest/25 to highest and lowers it to almost nothing, within
// so many steps in all, while the momentum does the opposite: super-convergence (Smith and
// Topin 2017). The optimizer's own rate and momentum do not matter. It panics with a
// *torch.Error when stepped past the end, or where momentum is to be cycled and there is
// none.
func OneCycle(opt optim.Optimizer, highest float64, steps int, options ...OneCycleOptions) *Schedule {
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
		if !o.FixedMomentum && g.Momentum() == nil {
			torch.Throw("one_cycle_lr", torch.KindValue, "the optimizer has no momentum to cycle; set FixedMomentum")
		}
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
	return []phase{up, {2*o.PctStart*steps - 2, highest, first, o.BaseMomentum, o.MaxMomentum}, {steps - 1, first, last, o.MaxMomentum, o.MaxMomentum}}
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

// between is where a curve from one value to another stands.
func (o *OneCycleOptions) between(from, to, at float64) float64 {
	if o.Linear {
		return (to-from)*at + from
	}
	return to + (from-to)/2*(cgo.Cos(math.Pi*at)+1)
}
