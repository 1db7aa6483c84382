// Package optim trains parameters by their gradients: PyTorch's torch.optim.
//
//	opt := optim.NewSGD(nn.Parameters(model), 0.1, &optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4})
//	for … {
//		loss.Backward()
//		opt.Step()
//		opt.ZeroGrad()
//	}
//
// # One call a step
//
// A step gathers the gradients in one call and updates all parameters of a group that share
// a device and a dtype in another, by libtorch's fused kernels: PyTorch's fused=True, whose
// numbers it equals to the last bit. ZeroGrad is one call too.
//
// # Groups
//
// Parameters with settings of their own form a [Group]. The settings may be changed between
// steps; packages lr does so with the learning rate.
//
//	opt.AddGroup(nn.Parameters(head), 1e-3, nil)
//	opt.ParamGroups()[0].LR = 1e-4
//
// # State
//
// State tensors are made at the first step that needs them and belong to no scope. StateDict
// and LoadStateDict speak PyTorch's layout, so training goes on where Python left off, and
// the other way round.
//
// # Mixed precision
//
// amp.GradScaler hands the loss scale and what it found to the kernel itself, through
// [Scaled], and never waits for the device.
package optim
