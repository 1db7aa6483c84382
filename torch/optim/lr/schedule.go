package lr

import (
	"fmt"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// Schedule sets the learning rates of an optimizer's groups, step by step.
type Schedule struct {
	opt  optim.Optimizer
	rule rule
	base []float64 // of each group: its rate before the schedule
	done int       // steps so far; PyTorch's last_epoch
}

// A rule is the learning rate of a group at a step, given the group's base rate. It may read
// the group's present rate, and set its momentum.
type rule func(step int, g *optim.Group, base float64) float64

// start makes a schedule and sets the first rates.
func start(opt optim.Optimizer, r rule) *Schedule {
	s := &Schedule{opt: opt, rule: r}
	for _, g := range opt.ParamGroups() {
		if g.InitialLR == 0 {
			g.InitialLR = g.LR
		}
		s.base = append(s.base, g.InitialLR)
	}
	s.apply()
	return s
}

func (s *Schedule) apply() {
	for i, g := range s.opt.ParamGroups()[:len(s.base)] {
		g.LR = s.rule(s.done, g, s.base[i])
	}
}

// Step sets the rates for the next step. It panics with a *torch.Error past the end of a
// schedule that has one.
func (s *Schedule) Step() {
	s.done++
	s.apply()
}

// Steps is how often Step was called.
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
// which the next ones may be computed from.
func (s *Schedule) StateDict() map[string]any {
	return map[string]any{"last_epoch": s.done, "base_lrs": append([]float64(nil), s.base...), "_last_lr": s.LastLR()}
}

// LoadStateDict takes the schedule to where StateDict, or PyTorch's state_dict, says. Numbers
// may have been through JSON. Where the state does not fit nothing changes.
func (s *Schedule) LoadStateDict(state map[string]any) error {
	done, ok := number(state["last_epoch"])
	if !ok || done < 0 || done != float64(int(done)) {
		return fmt.Errorf("lr: last_epoch of the state is %v, expected a count of steps", state["last_epoch"])
	}
	base, err := s.rates(state, "base_lrs")
	if err != nil {
		return err
	}
	last, err := s.rates(state, "_last_lr")
	if err != nil {
		return err
	}
	s.done, s.base = int(done), base
	for i, g := range s.opt.ParamGroups()[:len(base)] {
		g.LR, g.InitialLR = last[i], base[i]
	}
	return nil
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
