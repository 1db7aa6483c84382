package lr

import (
	"fmt"
	"math"

	"github.com/libtorch-go/libtorch/cgo/libm"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
)

// cycle is where a schedule with restarts stands: so far into a cycle of so many steps.
type cycle struct {
	period, factor int // the first cycle's length, and how many times longer each next one is
	at             float64
	length         int
}

// CosineAnnealingWarmRestarts goes from the base rate to lowest along half a cosine in period
// steps, jumps back and goes down again, each time in factor times as many steps (Loshchilov
// and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2016). It may be stepped
// by parts of an epoch; see [Schedule.StepTo].
func CosineAnnealingWarmRestarts(opt Target, period, factor int, lowest float64) *Schedule {
	want(period > 0, "cosine_annealing_warm_restarts", "Expected positive integer T_0", period)
	want(factor >= 1, "cosine_annealing_warm_restarts", "Expected integer T_mult >= 1", factor)
	c := &cycle{period: period, factor: factor, length: period}
	s := start(opt, func(_ int, _ *optim.Group, base float64) float64 {
		return lowest + (base-lowest)*(1+libm.Cos(math.Pi*c.at/float64(c.length)))/2
	})
	s.cycle = c
	s.notes = func(int) variables { return variables{"T_cur": c.at, "T_i": c.length} }
	return s
}

// next goes on by one step; step 0 begins.
func (c *cycle) next(step int) {
	if step == 0 {
		c.at, c.length = 0, c.period
		return
	}
	if c.at++; c.at >= float64(c.length) {
		c.at = math.Mod(c.at, float64(c.length))
		c.length *= c.factor
	}
}

// jump goes to a point in time.
func (c *cycle) jump(to float64) {
	first, factor := float64(c.period), float64(c.factor)
	switch {
	case to < first:
		c.at, c.length = to, c.period
	case c.factor == 1:
		c.at = math.Mod(to, first)
	default:
		longer := math.Trunc(libm.Log(to/first*(factor-1)+1) / libm.Log(factor))
		times := math.Round(libm.Pow(factor, longer))
		c.at, c.length = to-first*(times-1)/(factor-1), int(first*times)
	}
}

// StepTo sets the rates for a point in time, counted in steps of which it may be a part:
// scheduler.step(epoch + i/batches) in PyTorch. A Step after it goes on from there. It panics
// with a *torch.Error before 0, and where the schedule is not one of
// [CosineAnnealingWarmRestarts].
func (s *Schedule) StepTo(at float64) {
	if s.cycle == nil {
		torch.Throw("step_to", torch.KindNotImplemented, "only CosineAnnealingWarmRestarts can be stepped by parts")
	}
	want(at >= 0, "cosine_annealing_warm_restarts", "Expected non-negative epoch", at)
	s.cycle.jump(at)
	s.done = int(at)
	s.apply(s.rule)
}

// parse reads where a cycle stands from a state dict.
func (c *cycle) parse(state map[string]any) (*cycle, error) {
	at, ok := number(state["T_cur"])
	length, isNumber := number(state["T_i"])
	if !ok || !isNumber || math.IsNaN(at) || length < 1 || length != math.Trunc(length) {
		return nil, fmt.Errorf("lr: T_cur and T_i of the state are %v and %v, expected a place in a cycle and its length", state["T_cur"],
			state["T_i"])
	}
	return &cycle{c.period, c.factor, at, int(length)}, nil
}
