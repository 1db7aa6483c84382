package lr

import (
	"fmt"
	"maps"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// Target is what schedules need of an optimizer; all of them are one.
type Target interface{ ParamGroups() []*optim.Group }

// Schedule sets the learning rates of an optimizer's groups, step by step.
type Schedule struct {
	opt   Target
	rule  rule
	enter rule                     // the rates where a [Sequential] schedule comes to this one; nil stands for the rule
	notes func(step int) variables // what PyTorch's state dict says besides; may be nil
	cycle *cycle                   // of a schedule with restarts
	base  []float64                // of each group: its rate before the schedule
	done  int                      // steps so far, PyTorch's last_epoch; -1 in a sequence that is not there yet

	before  int  // steps that the optimizer had made when its first schedule came
	stepped bool // Step was called

	parts      []*Schedule // of composed schedules, which have no rule
	milestones []int       // nil where all parts step together
}

// A rule is the learning rate of a group at a step, given the group's base rate. It may read
// the group's present rate, and set its momentum.
type rule func(step int, g *optim.Group, base float64) float64

type variables = map[string]any

// start makes a schedule and sets the first rates.
func start(opt Target, r rule) *Schedule {
	before := stepsBefore(opt)
	s := &Schedule{opt: opt, rule: r, base: initialRates(opt), before: before}
	s.apply(r)
	return s
}

// counter is an optimizer that counts its steps, as those of package optim do.
type counter interface{ Steps() int }

// stepsBefore is what counts as no step of an optimizer for a schedule's first step: the steps
// before there was any schedule.
func stepsBefore(opt Target) int {
	c, ok := opt.(counter)
	if groups := opt.ParamGroups(); !ok || len(groups) > 0 && groups[0].InitialLR != 0 {
		return 0
	}
	return c.Steps()
}

// first warns, at the first step of a schedule, where the optimizer has made none: the first rate
// was never used.
func (s *Schedule) first() {
	c, ok := s.opt.(counter)
	if s.stepped || s.parts != nil || s.cycle != nil { // PyTorch asks neither composed schedules nor those with restarts
		return
	}
	if s.stepped = true; !ok || c.Steps() > s.before {
		return
	}
	torch.Warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. " +
		"In PyTorch 1.1.0 and later, you should call them in the opposite order: " +
		"`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this " +
		"will result in PyTorch skipping the first value of the learning rate schedule. " +
		"See more details at " +
		"https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")
}

// initialRates are the rates of all groups before their first schedule.
func initialRates(opt Target) (rates []float64) {
	for _, g := range opt.ParamGroups() {
		if g.InitialLR == 0 {
			g.InitialLR = g.LR
		}
		rates = append(rates, g.InitialLR)
	}
	return rates
}

func (s *Schedule) apply(r rule) {
	for i, g := range s.opt.ParamGroups()[:len(s.base)] {
		g.LR = r(s.done, g, s.base[i])
	}
}

// Step sets the rates for the next step. It panics with a *torch.Error past the end of a
// schedule that has one, and warns where the optimizer has not made a step before the first.
func (s *Schedule) Step() {
	s.first()
	s.step()
}

func (s *Schedule) step() {
	s.done++
	switch {
	case s.parts == nil:
		s.turn()
		s.apply(s.rule)
	case s.milestones == nil:
		for _, part := range s.parts {
			part.Step()
		}
	default:
		s.stepPart()
	}
}

// turn moves the cycle of a schedule that has one.
func (s *Schedule) turn() {
	if s.cycle != nil {
		s.cycle.next(s.done)
	}
}

// Steps is how often Step was called, or what the last [Schedule.StepTo] made of it.
func (s *Schedule) Steps() int { return s.done }

// LastLR are the rates of the groups now.
func (s *Schedule) LastLR() []float64 {
	rates := make([]float64, len(s.base))
	for i, g := range s.opt.ParamGroups()[:len(s.base)] {
		rates[i] = g.LR
	}
	return rates
}

// StateDict is where the schedule stands: PyTorch's last_epoch and base_lrs, and the rates,
// which the next ones may be computed from; of composed schedules also the states of their
// parts, as _schedulers. Functions and arguments are not in it.
func (s *Schedule) StateDict() map[string]any {
	dict := variables{"_last_lr": s.LastLR()}
	if s.parts == nil || s.milestones != nil {
		dict["last_epoch"] = s.done
	}
	if s.parts == nil {
		dict["base_lrs"] = slices.Clone(s.base)
		if s.notes != nil {
			maps.Copy(dict, s.notes(max(s.done, 0)))
		}
		return dict
	}
	var states []any
	for _, part := range s.parts {
		states = append(states, part.StateDict())
	}
	dict["_schedulers"] = states
	return dict
}

// LoadStateDict takes the schedule to where StateDict, or PyTorch's state_dict, says. Numbers
// may have been through JSON. Where the state does not fit nothing changes.
func (s *Schedule) LoadStateDict(state map[string]any) error {
	loaded, err := s.parse(state, 0)
	if err != nil {
		return err
	}
	last, err := s.rates(state, "_last_lr")
	if err != nil {
		return err
	}
	s.take(loaded)
	for i, g := range s.opt.ParamGroups()[:len(last)] {
		g.LR = last[i]
	}
	return nil
}

// parse reads a state into a schedule of its own that has made no fewer steps than least.
func (s *Schedule) parse(state map[string]any, least float64) (*Schedule, error) {
	loaded := &Schedule{base: s.base, done: s.done, stepped: true}
	if s.parts == nil || s.milestones != nil {
		done, ok := number(state["last_epoch"])
		if !ok || done < least || done != float64(int(done)) {
			return nil, fmt.Errorf("lr: last_epoch of the state is %v, expected a count of steps", state["last_epoch"])
		}
		loaded.done = int(done)
	}
	if s.parts == nil {
		var err error
		if loaded.base, err = s.rates(state, "base_lrs"); err == nil && s.cycle != nil {
			loaded.cycle, err = s.cycle.parse(state)
		}
		return loaded, err
	}
	states, _ := state["_schedulers"].([]any)
	if len(states) != len(s.parts) {
		return nil, fmt.Errorf("lr: the state has %d _schedulers, expected %d", len(states), len(s.parts))
	}
	for i, part := range s.parts {
		dict, _ := states[i].(map[string]any)
		own, err := part.parse(dict, -1)
		if err != nil {
			return nil, fmt.Errorf("lr: _schedulers[%d]: %w", i, err)
		}
		loaded.parts = append(loaded.parts, own)
	}
	return loaded, nil
}

func (s *Schedule) take(loaded *Schedule) {
	s.done, s.base, s.stepped = loaded.done, loaded.base, true
	if s.cycle != nil {
		*s.cycle = *loaded.cycle
	}
	for i, part := range s.parts {
		part.take(loaded.parts[i])
	}
	if s.parts == nil {
		for i, g := range s.opt.ParamGroups()[:len(s.base)] {
			g.InitialLR = s.base[i]
		}
	}
}

// rates reads a list with one rate for each group.
func (s *Schedule) rates(state map[string]any, key string) ([]float64, error) {
	var list []float64
	switch v := state[key].(type) {
	case []float64:
		list = append(list, v...)
	case []any:
		for _, item := range v {
			f, ok := number(item)
			if !ok {
				return nil, fmt.Errorf("lr: %s of the state holds %v, expected numbers", key, item)
			}
			list = append(list, f)
		}
	}
	if len(list) != len(s.base) {
		return nil, fmt.Errorf("lr: %s of the state is %v, expected one rate for each of %d groups", key, state[key], len(s.base))
	}
	return list, nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func want(ok bool, schedule, what string, got any) {
	if !ok {
		torch.Throw(schedule, torch.KindValue, "%s, got %v", what, got)
	}
}
