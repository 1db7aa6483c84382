package lr

import (
	"math"

	"github.com/libtorch-go/libtorch/cgo/libm"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// Lambda multiplies the base rate by factor(step).
func Lambda(opt Target, factor func(step int) float64) *Schedule {
	s := start(opt, func(step int, _ *optim.Group, base float64) float64 { return base * factor(step) })
	s.notes = s.lambdas
	return s
}

// Multiplicative multiplies the rate by factor(step) at every step.
func Multiplicative(opt Target, factor func(step int) float64) *Schedule {
	s := start(opt, func(step int, g *optim.Group, _ float64) float64 {
		if step == 0 {
			return g.LR
		}
		return g.LR * factor(step)
	})
	s.enter = func(step int, g *optim.Group, _ float64) float64 { return g.LR * factor(step) }
	s.notes = s.lambdas
	return s
}

// lambdas are PyTorch's note of the groups' functions, which it does not store either.
func (s *Schedule) lambdas(int) variables { return variables{"lr_lambdas": make([]any, len(s.base))} }

// unchanged is the base rate, from which most rules begin.
func unchanged(_ int, _ *optim.Group, base float64) float64 { return base }

// Step multiplies the rate by gamma every size steps.
func Step(opt Target, size int, gamma float64) *Schedule {
	want(size > 0, "step_lr", "the number of steps must be positive", size)
	s := start(opt, func(step int, g *optim.Group, _ float64) float64 {
		if step == 0 || step%size != 0 {
			return g.LR
		}
		return g.LR * gamma
	})
	s.enter = unchanged
	return s
}

// MultiStep multiplies the rate by gamma at each milestone, a number of steps.
func MultiStep(opt Target, milestones []int, gamma float64) *Schedule {
	times := map[int]int{}
	for _, m := range milestones {
		times[m]++
	}
	s := start(opt, func(step int, g *optim.Group, _ float64) float64 {
		if times[step] == 0 {
			return g.LR
		}
		return g.LR * libm.Pow(gamma, float64(times[step]))
	})
	s.enter = func(step int, _ *optim.Group, base float64) float64 {
		return base * libm.Pow(gamma, float64(times[step]))
	}
	return s
}

// Constant multiplies the rate by a factor for so many steps.
func Constant(opt Target, factor float64, steps int) *Schedule {
	want(factor >= 0 && factor <= 1, "constant_lr", "Constant multiplicative factor expected to be between 0 and 1.", factor)
	s := start(opt, func(step int, g *optim.Group, _ float64) float64 {
		switch step {
		case 0:
			return g.LR * factor
		case steps:
			return g.LR * (1 / factor)
		}
		return g.LR
	})
	s.enter = func(step int, _ *optim.Group, base float64) float64 {
		if step >= steps {
			return base * (factor + (1 - factor))
		}
		return base * factor
	}
	return s
}

// Polynomial goes from the base rate to 0 in so many steps: base * (1 - step/steps)^power.
func Polynomial(opt Target, steps int, power float64) *Schedule {
	total := float64(steps)
	s := start(opt, func(step int, g *optim.Group, _ float64) float64 {
		if step == 0 || step > steps {
			return g.LR
		}
		return g.LR * libm.Pow((1-float64(step)/total)/(1-float64(step-1)/total), power)
	})
	s.enter = unchanged
	return s
}

// Exponential multiplies the rate by gamma at every step.
func Exponential(opt Target, gamma float64) *Schedule {
	s := start(opt, func(step int, g *optim.Group, _ float64) float64 {
		if step == 0 {
			return g.LR
		}
		return g.LR * gamma
	})
	s.enter = unchanged
	return s
}

// Linear goes from first times the base rate to last times the base rate in so many steps: a
// warm-up where first is small.
func Linear(opt Target, first, last float64, steps int) *Schedule {
	want(first > 0 && first <= 1, "linear_lr", "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.", first)
	want(last >= 0 && last <= 1, "linear_lr", "Ending multiplicative factor expected to be between 0 and 1.", last)
	total := float64(steps)
	s := start(opt, func(step int, g *optim.Group, _ float64) float64 {
		switch {
		case step == 0:
			return g.LR * first
		case step > steps:
			return g.LR
		}
		return g.LR * (1 + (last-first)/(total*first+float64(step-1)*(last-first)))
	})
	s.enter = func(_ int, _ *optim.Group, base float64) float64 { return base * first }
	return s
}

// CosineAnnealing goes from the base rate to lowest along half a cosine, in so many steps,
// and back again if it is stepped on.
func CosineAnnealing(opt Target, steps int, lowest float64) *Schedule {
	want(steps > 0, "cosine_annealing_lr", "the number of steps must be positive", steps)
	period := float64(steps)
	s := start(opt, func(step int, g *optim.Group, base float64) float64 {
		t := float64(step)
		switch {
		case step == 0:
			return g.LR
		case (step-1-steps)%(2*steps) == 0:
			return g.LR + (base-lowest)*(1-libm.Cos(math.Pi/period))/2
		}
		return (1+libm.Cos(math.Pi*t/period))/(1+libm.Cos(math.Pi*(t-1)/period))*(g.LR-lowest) + lowest
	})
	s.enter = func(_ int, _ *optim.Group, base float64) float64 { return lowest + (base - lowest) } // not base: it rounds
	return s
}

// SWAOptions are the rarer arguments of [SWA].
type SWAOptions struct {
	Steps  *int // in which the rate goes to the new one; default 10
	Linear bool // along a line rather than a cosine
}

// SWA goes to a fixed rate and stays there: PyTorch's SWALR, for the part of training whose
// weights are averaged (Izmailov et al., "Averaging Weights Leads to Wider Optima and Better
// Generalization", 2018).
func SWA(opt Target, rate float64, options ...SWAOptions) *Schedule {
	var o SWAOptions
	if len(options) > 0 {
		o = options[0]
	}
	steps := *orNew(o.Steps, 10)
	want(steps >= 0, "swalr", "anneal_epochs must be equal or greater than 0", steps)
	alpha := func(step int) float64 {
		t := max(0, min(1, float64(step)/float64(max(1, steps))))
		if o.Linear {
			return t
		}
		return (1 - libm.Cos(math.Pi*t)) / 2
	}
	s := start(opt, func(step int, g *optim.Group, _ float64) float64 {
		if steps == 0 {
			step = max(1, step)
		}
		before, now, from := alpha(step-1), alpha(step), rate
		if before != 1 {
			from = (g.LR - before*rate) / (1 - before)
		}
		return rate*now + from*(1-now)
	})
	s.notes = func(step int) variables { return variables{"_step_count": step + 1} }
	return s
}
