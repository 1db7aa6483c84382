package leaks

import (
	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
)

// stepper is what most optimizers are.
type stepper interface {
	optim.Optimizer
	StateDict() optim.StateDict
	LoadStateDict(optim.StateDict) error
	Close()
	String() string
	Step()
}

// steps makes an optimizer of a parameter, steps, and hands its state to another one.
func steps[O stepper](make func(params []torch.Tensor) O, more ...func(opt O, params []torch.Tensor)) {
	params := []torch.Tensor{parameter(2, 2)}
	opt, other := make(params), make(params)
	params[0].Sum().Backward()
	opt.Step()
	for _, fn := range more {
		fn(opt, []torch.Tensor{parameter(3, 3)})
	}
	if len(more) == 0 {
		check(other.LoadStateDict(opt.StateDict()))
	}
	_ = opt.String()
	opt.ZeroGrad()
	opt.ParamGroups()[0].Momentum()
	opt.ParamGroups()[0].WriteLR()
	opt.Close()
	other.Close()
}

// scaled steps by a scale and the flag that GradScaler keeps.
func scaled(opt optim.Scaled) {
	opt.StepScaled(torch.Ones(1), torch.Zeros(1))
}

var optimCases = cases{
	"ASGD": func() {
		steps(func(p []torch.Tensor) *optim.ASGD { return optim.NewASGD(p, 0.1) })
	},
	"groups": func() {
		steps(func(p []torch.Tensor) *optim.SGD { return optim.NewSGD(p, 0.1) },
			func(o *optim.SGD, p []torch.Tensor) { o.AddGroup(p, 0.1); scaled(o) })
		steps(func(p []torch.Tensor) *optim.Adagrad { return optim.NewAdagrad(p, 0.1) },
			func(o *optim.Adagrad, p []torch.Tensor) { o.AddGroup(p, 0.1); scaled(o) })
		steps(func(p []torch.Tensor) *optim.Adam { return optim.NewAdam(p, 0.1) },
			func(o *optim.Adam, p []torch.Tensor) { o.AddGroup(p, 0.1); scaled(o) })
	},
	"Adadelta":  func() { steps(func(p []torch.Tensor) *optim.Adadelta { return optim.NewAdadelta(p, 0.1) }) },
	"Adafactor": func() { steps(func(p []torch.Tensor) *optim.Adafactor { return optim.NewAdafactor(p, 0.1) }) },
	"Adagrad":   func() { steps(func(p []torch.Tensor) *optim.Adagrad { return optim.NewAdagrad(p, 0.1) }) },
	"Adam":      func() { steps(func(p []torch.Tensor) *optim.Adam { return optim.NewAdam(p, 0.1) }) },
	"AdamW":     func() { steps(func(p []torch.Tensor) *optim.AdamW { return optim.NewAdamW(p, 0.1) }) },
	"Adamax":    func() { steps(func(p []torch.Tensor) *optim.Adamax { return optim.NewAdamax(p, 0.1) }) },
	"Muon":      func() { steps(func(p []torch.Tensor) *optim.Muon { return optim.NewMuon(p, 0.1) }) },
	"NAdam":     func() { steps(func(p []torch.Tensor) *optim.NAdam { return optim.NewNAdam(p, 0.1) }) },
	"RAdam":     func() { steps(func(p []torch.Tensor) *optim.RAdam { return optim.NewRAdam(p, 0.1) }) },
	"RMSprop":   func() { steps(func(p []torch.Tensor) *optim.RMSprop { return optim.NewRMSprop(p, 0.1) }) },
	"Rprop":     func() { steps(func(p []torch.Tensor) *optim.Rprop { return optim.NewRprop(p, 0.1) }) },
	"SGD":       func() { steps(func(p []torch.Tensor) *optim.SGD { return optim.NewSGD(p, 0.1) }) },
	"SparseAdam": func() {
		w := parameter(4, 2)
		opt := optim.NewSparseAdam([]torch.Tensor{w}, 0.1)
		w.SetGrad(torch.Eye(4).Narrow(1, 0, 2).ToSparse())
		opt.Step()
		opt.Close()
	},
	"LBFGS": func() {
		w := parameter(2)
		opt := optim.NewLBFGS([]torch.Tensor{w}, 0.1)
		opt.Step(func() torch.Tensor {
			opt.ZeroGrad()
			loss := w.Mul(w).Sum()
			loss.Backward()
			return loss
		})
		check(opt.LoadStateDict(opt.StateDict()))
		opt.Close()
	},
	"GradScaler": func() {
		w := parameter(2)
		opt := optim.NewSGD([]torch.Tensor{w}, 0.1)
		s := amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16})
		amp.Autocast(torch.CPU, torch.Float16, func() { amp.Disabled(torch.CPU, func() { s.Scale(w.Sum()).Backward() }) })
		s.Unscale(opt)
		_ = s.Step(opt).Skipped()
		_, _ = s.Enabled(), s.Scaling()
		check(s.LoadStateDict(s.StateDict()))
		s.Close()
		opt.Close()
	},
}

// schedule makes a schedule for an optimizer, and steps.
func schedule(make func(opt lr.Target) *lr.Schedule) func() {
	return func() {
		opt := optim.NewSGD([]torch.Tensor{parameter(2)}, 0.1, optim.SGDOptions{Momentum: 0.9})
		s := make(opt)
		s.Step()
		_, _ = s.LastLR(), s.Steps()
		check(s.LoadStateDict(s.StateDict()))
		opt.Close()
	}
}

var scheduleCases = cases{
	"Chained": schedule(func(o lr.Target) *lr.Schedule { return lr.Chained(lr.Constant(o, 0.5, 2), lr.Exponential(o, 0.9)) }),
	"Sequential": schedule(func(o lr.Target) *lr.Schedule {
		return lr.Sequential([]*lr.Schedule{lr.Constant(o, 0.5, 2), lr.Exponential(o, 0.9)}, []int{2})
	}),
	"CosineAnnealing": schedule(func(o lr.Target) *lr.Schedule { return lr.CosineAnnealing(o, 5, 0) }),
	"CosineAnnealingWarmRestarts": schedule(func(o lr.Target) *lr.Schedule {
		s := lr.CosineAnnealingWarmRestarts(o, 5, 1, 0)
		s.StepTo(1.5)
		return s
	}),
	"Cyclic":         schedule(func(o lr.Target) *lr.Schedule { return lr.Cyclic(o, 0.1, 0.2) }),
	"Lambda":         schedule(func(o lr.Target) *lr.Schedule { return lr.Lambda(o, func(int) float64 { return 1 }) }),
	"Linear":         schedule(func(o lr.Target) *lr.Schedule { return lr.Linear(o, 0.5, 1, 3) }),
	"MultiStep":      schedule(func(o lr.Target) *lr.Schedule { return lr.MultiStep(o, []int{2}, 0.1) }),
	"Multiplicative": schedule(func(o lr.Target) *lr.Schedule { return lr.Multiplicative(o, func(int) float64 { return 1 }) }),
	"OneCycle":       schedule(func(o lr.Target) *lr.Schedule { return lr.OneCycle(o, 0.2, 5) }),
	"Polynomial":     schedule(func(o lr.Target) *lr.Schedule { return lr.Polynomial(o, 5, 1) }),
	"SWA":            schedule(func(o lr.Target) *lr.Schedule { return lr.SWA(o, 0.05) }),
	"Step":           schedule(func(o lr.Target) *lr.Schedule { return lr.Step(o, 2, 0.1) }),
	"ReduceOnPlateau": func() {
		opt := optim.NewSGD([]torch.Tensor{parameter(2)}, 0.1)
		p := lr.ReduceOnPlateau(opt)
		p.Step(1)
		_, _ = p.LastLR(), p.Steps()
		check(p.LoadStateDict(p.StateDict()))
		opt.Close()
	},
}
