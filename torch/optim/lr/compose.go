package lr

import (
	"slices"

	"github.com/libtorch-go/libtorch/torch"
)

// Sequential runs one schedule after the other: the next begins at each milestone, a number
// of steps. All must be of one optimizer, none composed itself, and there is one milestone
// less than schedules. Otherwise it panics with a *torch.Error.
//
//	warmup := lr.Linear(opt, 0.01, 1, 500)
//	sched := lr.Sequential([]*lr.Schedule{warmup, lr.CosineAnnealing(opt, 9500, 0)}, []int{500})
func Sequential(parts []*Schedule, milestones []int) *Schedule {
	const op = "sequential_lr"
	opt := sameOptimizer(op, "SequentialLR expects at least one scheduler, but got no scheduler.", parts)
	if len(milestones) != len(parts)-1 {
		torch.Throw(op, torch.KindValue, "Sequential Schedulers expects number of schedulers provided to be one more "+
			"than the number of milestone points, but got number of schedulers %d and the number of milestones to be equal to %d",
			len(parts), len(milestones))
	}
	for _, part := range parts {
		if part.parts != nil { // PyTorch takes the first step of such a part twice, or fails at it
			torch.Throw(op, torch.KindNotImplemented, "a composed schedule cannot be part of a sequence")
		}
		part.done-- // undoes the step that the constructor made
	}
	s := &Schedule{opt: opt, base: initialRates(opt), parts: slices.Clone(parts), milestones: append([]int{}, milestones...)}
	for i, g := range opt.ParamGroups()[:len(s.base)] {
		g.LR = s.base[i]
	}
	parts[0].step()
	return s
}

// stepPart steps the current part of a sequence.
func (s *Schedule) stepPart() {
	at := 0
	for at < len(s.milestones) && s.milestones[at] <= s.done {
		at++
	}
	part := s.parts[at]
	if at == 0 || s.milestones[at-1] != s.done {
		part.Step()
		return
	}
	part.done = 0
	part.turn()
	if part.enter != nil {
		part.apply(part.enter)
		return
	}
	part.apply(part.rule)
}

// Chained steps several schedules of one optimizer together: their factors multiply. It
// panics with a *torch.Error if there is none or if they are of several optimizers.
func Chained(parts ...*Schedule) *Schedule {
	opt := sameOptimizer("chained_scheduler", "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.", parts)
	return &Schedule{opt: opt, base: initialRates(opt), parts: slices.Clone(parts)}
}

func sameOptimizer(op, none string, parts []*Schedule) Target {
	if len(parts) == 0 {
		torch.Throw(op, torch.KindValue, "%s", none)
	}
	for i, part := range parts {
		if part.opt != parts[0].opt {
			torch.Throw(op, torch.KindValue, "all schedulers must belong to the same optimizer, but that at index %d has another", i)
		}
	}
	return parts[0].opt
}
