package lr

import (
	"fmt"
	"math"
)

// PlateauOptions are the arguments of [ReduceOnPlateau]. In a [Plateau] the pointers are never
// nil.
type PlateauOptions struct {
	Max       bool     // the metric should rise, not fall
	Factor    float64  // of the rate; default 0.1
	Patience  *int     // steps without progress that are tolerated; default 10
	Threshold *float64 // how much better is better; default 1e-4
	Absolute  bool     // Threshold is a difference, not a part of the best
	Cooldown  int      // steps after a reduction that do not count; default 0
	MinLR     float64  // the lowest rate; default 0
	Eps       *float64 // reductions by no more than this are left out; default 1e-8
}

// Plateau lowers the learning rate when a metric stops improving.
type Plateau struct {
	opt      Target
	o        PlateauOptions
	best     float64
	bad      int // steps without progress
	cooldown int // steps that still do not count
	done     int
}

// ReduceOnPlateau multiplies the rate by a factor when a metric has not become better for
// some steps: PyTorch's ReduceLROnPlateau.
//
//	sched := lr.ReduceOnPlateau(opt, lr.PlateauOptions{Patience: new(5)})
//	for … {
//		sched.Step(validate(model))
//	}
func ReduceOnPlateau(opt Target, options ...PlateauOptions) *Plateau {
	p := &Plateau{opt: opt, best: math.Inf(1)}
	if len(options) > 0 {
		p.o = options[0]
	}
	if p.o.Max {
		p.best = math.Inf(-1)
	}
	orDefault(&p.o.Factor, 0.1)
	p.o.Patience, p.o.Threshold, p.o.Eps = orNew(p.o.Patience, 10), orNew(p.o.Threshold, 1e-4), orNew(p.o.Eps, 1e-8)
	want(p.o.Factor < 1, "reduce_lr_on_plateau", "Factor should be < 1.0.", p.o.Factor)
	return p
}

func orNew[T any](v *T, def T) *T {
	if v != nil {
		def = *v
	}
	return &def
}

// Step takes the metric of a step, a validation loss for example, and lowers the rates if it
// is time.
func (p *Plateau) Step(metric float64) {
	p.done++
	p.bad++
	if p.better(metric) {
		p.best, p.bad = metric, 0
	}
	if p.cooldown > 0 {
		p.cooldown--
		p.bad = 0
	}
	if p.bad <= *p.o.Patience {
		return
	}
	p.cooldown, p.bad = p.o.Cooldown, 0
	for _, g := range p.opt.ParamGroups() {
		if lower := max(g.LR*p.o.Factor, p.o.MinLR); g.LR-lower > *p.o.Eps {
			g.LR = lower
		}
	}
}

func (p *Plateau) better(metric float64) bool {
	switch threshold := *p.o.Threshold; {
	case p.o.Max && p.o.Absolute:
		return metric > p.best+threshold
	case p.o.Max:
		return metric > p.best*(threshold+1)
	case p.o.Absolute:
		return metric < p.best-threshold
	default:
		return metric < p.best*(1-threshold)
	}
}

// Steps is how often Step was called.
func (p *Plateau) Steps() int { return p.done }

// LastLR are the rates of the groups now.
func (p *Plateau) LastLR() (rates []float64) {
	for _, g := range p.opt.ParamGroups() {
		rates = append(rates, g.LR)
	}
	return rates
}

// StateDict is the state of the schedule, under PyTorch's names. The rates are in the
// optimizer's state.
func (p *Plateau) StateDict() map[string]any {
	return map[string]any{"best": p.best, "num_bad_epochs": p.bad, "cooldown_counter": p.cooldown, "last_epoch": p.done,
		"_last_lr": p.LastLR()}
}

// LoadStateDict restores a state that StateDict or PyTorch's state_dict made; as in PyTorch
// the rates are in the optimizer's own state. If the state does not fit, nothing changes.
func (p *Plateau) LoadStateDict(state map[string]any) error {
	var values [4]float64
	for i, key := range []string{"best", "num_bad_epochs", "cooldown_counter", "last_epoch"} {
		v, ok := number(state[key])
		if !ok || i > 0 && (v < 0 || v != math.Trunc(v)) {
			return fmt.Errorf("lr: %s of the state is %v", key, state[key])
		}
		values[i] = v
	}
	p.best, p.bad, p.cooldown, p.done = values[0], int(values[1]), int(values[2]), int(values[3])
	return nil
}
