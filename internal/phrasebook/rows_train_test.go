package phrasebook

import (
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/optim/swa"
)

// train makes three steps and returns the parameters.
func train(opt optim.Optimizer) []torch.Tensor {
	for range 3 {
		opt.ZeroGrad()
		F.MSELoss(linear.Forward(x), y).Backward()
		opt.Step()
	}
	return nn.Parameters(linear)
}

var optimizers = chapter{
	title: "Optimizers",
	before: `def train(opt):
    for _ in range(3):
        opt.zero_grad()
        F.mse_loss(linear(x), y).backward()
        opt.step()
    return list(linear.parameters())

`,
	python: `x, y = torch.randn(8, 3), torch.randn(8, 1)
linear = nn.Linear(3, 1)
opt = optim.SGD(linear.parameters(), lr=0.1)`,
	setup: func() {
		x, y = torch.RandN(8, 3), torch.RandN(8, 1)
		linear = nn.NewLinear(3, 1)
		opt = optim.NewSGD(nn.Parameters(linear), 0.1)
	},
	phrases: []phrase{
		{"train(optim.SGD(linear.parameters(), lr=0.1, fused=True))", func() any {
			return train(optim.NewSGD(nn.Parameters(linear), 0.1))
		}},
		{"train(optim.SGD(linear.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True, fused=True))", func() any {
			return train(optim.NewSGD(nn.Parameters(linear), 0.1, optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4, Nesterov: true}))
		}},
		{"train(optim.SGD(linear.parameters(), lr=0.1, momentum=0.9))", func() any {
			return train(optim.NewSGD(nn.Parameters(linear), 0.1, optim.SGDOptions{Momentum: 0.9, Unfused: true}))
		}},
		{"train(optim.Adam(linear.parameters(), lr=1e-3, fused=True))", func() any {
			return train(optim.NewAdam(nn.Parameters(linear), 1e-3))
		}},
		{"train(optim.AdamW(linear.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True))", func() any {
			return train(optim.NewAdamW(nn.Parameters(linear), 1e-3, optim.AdamOptions{Betas: &[2]float64{0.9, 0.95}, WeightDecay: new(0.1)}))
		}},
		{"train(optim.RMSprop(linear.parameters(), lr=1e-2))", func() any { return train(optim.NewRMSprop(nn.Parameters(linear), 1e-2)) }},
		{"train(optim.Adagrad(linear.parameters(), lr=1e-2, fused=True))", func() any {
			return train(optim.NewAdagrad(nn.Parameters(linear), 1e-2))
		}},
		{"train(optim.NAdam(linear.parameters(), lr=1e-3))", func() any { return train(optim.NewNAdam(nn.Parameters(linear), 1e-3)) }},
		{`opt = optim.LBFGS(linear.parameters(), lr=0.5)

def closure():
    opt.zero_grad()
    loss = F.mse_loss(linear(x), y)
    loss.backward()
    return loss

opt.step(closure)` + hidden + "list(linear.parameters())", func() any {
			opt := optim.NewLBFGS(nn.Parameters(linear), 0.5)
			opt.Step(func() torch.Tensor {
				opt.ZeroGrad()
				loss := F.MSELoss(linear.Forward(x), y)
				loss.Backward()
				return loss
			})
			return nn.Parameters(linear)
		}},
		{"opt.param_groups[0]['lr']", func() any { return opt.ParamGroups()[0].LR }},
		{`for g in opt.param_groups:
    g['lr'] *= 0.1` + hidden + "opt.param_groups[0]['lr']", func() any {
			for _, g := range opt.ParamGroups() {
				g.LR *= 0.1
			}
			return opt.ParamGroups()[0].LR
		}},
		{`opt = optim.AdamW([linear.weight], lr=1e-3, fused=True)
opt.add_param_group({'params': [linear.bias], 'weight_decay': 0.0})
train(opt)`, func() any {
			opt := optim.NewAdamW([]torch.Tensor{linear.Weight}, 1e-3)
			opt.AddGroup([]torch.Tensor{linear.Bias}, 1e-3, optim.AdamOptions{WeightDecay: new(0.0)})
			return train(opt)
		}},
		{`linear(x).sum().backward()
opt.zero_grad()` + hidden + "linear.weight.grad", func() any {
			linear.Forward(x).Sum().Backward()
			opt.ZeroGrad()
			return linear.Weight.Grad()
		}},
		{`other = optim.SGD(linear.parameters(), lr=0.5)
other.load_state_dict(opt.state_dict())` + hidden + "other.param_groups[0]['lr']", func() any {
			other := optim.NewSGD(nn.Parameters(linear), 0.5)
			err := other.LoadStateDict(opt.StateDict())
			if err != nil {
				return err
			}
			return other.ParamGroups()[0].LR
		}},
		{`ema = optim.swa_utils.AveragedModel(linear, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9))
ema.update_parameters(linear)
y = ema(x)`, func() any {
			ema := swa.NewAveragedModel(linear, swa.Options{MultiAvgFn: swa.EMAMultiAvgFn(0.9)})
			ema.UpdateParameters(linear)
			y = ema.Forward(x)
			return y
		}},
	},
}

var opt *optim.SGD

// rates are the learning rates of six steps.
func rates(sched *lr.Schedule) (list []float64) {
	for range 6 {
		list = append(list, opt.ParamGroups()[0].LR)
		opt.Step()
		sched.Step()
	}
	return list
}

var schedules = chapter{
	title: "Learning rates",
	before: `def rates(sched):
    rates = []
    for _ in range(6):
        rates.append(opt.param_groups[0]["lr"])
        opt.step()
        sched.step()
    return rates

`,
	python: `linear = nn.Linear(3, 1)
opt = optim.SGD(linear.parameters(), lr=0.1, momentum=0.9)`,
	setup: func() {
		linear = nn.NewLinear(3, 1)
		opt = optim.NewSGD(nn.Parameters(linear), 0.1, optim.SGDOptions{Momentum: 0.9})
	},
	phrases: []phrase{
		{"rates(lr_scheduler.StepLR(opt, step_size=2, gamma=0.5))", func() any { return rates(lr.Step(opt, 2, 0.5)) }},
		{"rates(lr_scheduler.MultiStepLR(opt, [2, 4], gamma=0.1))", func() any { return rates(lr.MultiStep(opt, []int{2, 4}, 0.1)) }},
		{"rates(lr_scheduler.ExponentialLR(opt, 0.9))", func() any { return rates(lr.Exponential(opt, 0.9)) }},
		{"rates(lr_scheduler.CosineAnnealingLR(opt, T_max=6))", func() any { return rates(lr.CosineAnnealing(opt, 6, 0)) }},
		{"rates(lr_scheduler.CosineAnnealingWarmRestarts(opt, 3))", func() any { return rates(lr.CosineAnnealingWarmRestarts(opt, 3, 1, 0)) }},
		{"rates(lr_scheduler.OneCycleLR(opt, max_lr=0.4, total_steps=8))", func() any { return rates(lr.OneCycle(opt, 0.4, 8)) }},
		{"rates(lr_scheduler.LinearLR(opt, start_factor=0.1, total_iters=4))", func() any { return rates(lr.Linear(opt, 0.1, 1, 4)) }},
		{"rates(lr_scheduler.LambdaLR(opt, lambda step: 1 / (1 + step)))", func() any {
			return rates(lr.Lambda(opt, func(step int) float64 { return 1 / float64(1+step) }))
		}},
		{`warm = lr_scheduler.LinearLR(opt, 0.1, total_iters=2)
down = lr_scheduler.CosineAnnealingLR(opt, 4)
rates(lr_scheduler.SequentialLR(opt, [warm, down], milestones=[2]))`, func() any {
			warm := lr.Linear(opt, 0.1, 1, 2)
			down := lr.CosineAnnealing(opt, 4, 0)
			list := rates(lr.Sequential([]*lr.Schedule{warm, down}, []int{2}))
			return list
		}},
		{`sched = lr_scheduler.ReduceLROnPlateau(opt, patience=1)
for loss in [1.0, 1.0, 1.0]:
    sched.step(loss)` + hidden + "opt.param_groups[0]['lr']", func() any {
			sched := lr.ReduceOnPlateau(opt, lr.PlateauOptions{Patience: new(1)})
			for _, loss := range []float64{1, 1, 1} {
				sched.Step(loss)
			}
			return opt.ParamGroups()[0].LR
		}},
		{"lr_scheduler.StepLR(opt, 2).get_last_lr()", func() any { return lr.Step(opt, 2, 0.1).LastLR() }},
	},
}
