// Package optim trains parameters by their gradients: PyTorch's torch.optim.
//
//	opt := optim.NewSGD(nn.Parameters(model), 0.1, optim.SGDOptions{Momentum: 0.9, WeightDecay: 5e-4})
//	for … {
//		loss.Backward()
//		opt.Step()
//		opt.ZeroGrad()
//	}
//
// # Which
//
//	SGD                                    with momentum: images
//	Adam, AdamW                            nearly everything
//	NAdam, RAdam, Adamax                   relatives of Adam
//	Adagrad, Adadelta, RMSprop             its ancestors
//	Muon                                   matrices of hidden layers
//	Adafactor                              almost no memory
//	SparseAdam                             sparse gradients
//	Rprop, LBFGS                           full batches
//	ASGD                                   averages the parameters
//
// Every constructor takes the parameters, the learning rate and its options, which may be left
// out; zero fields stand for PyTorch's defaults. It panics with a *torch.Error and PyTorch's words
// if a setting or a parameter is not valid.
//
// # One call a step
//
// A step gathers the gradients in one call and updates all parameters of a group that share
// a device and a dtype together. [SGD], [Adam], [AdamW] and [Adagrad] do so by libtorch's
// fused kernels, in one more call: PyTorch's fused=True, whose numbers they equal to the last
// bit. ZeroGrad is one call too.
//
// PyTorch's own default on CPUs is different: separate operators, which round differently and
// take several times as long. With Unfused in their options the four optimizers compute like
// that, and so do all others, which have no kernel: one call for each operator and all
// parameters, bit for bit PyTorch's foreach=False.
//
// Fused kernels process a parameter, its gradient and its state as contiguous memory. Parameters
// for which that is impossible are updated by separate operators, with the bits of PyTorch's
// default, while the kernel updates the others of the group. These are complex numbers, views
// with gaps, and parameters whose gradients are transposed, expanded, sparse or otherwise laid
// out differently. A parameter may get another layout between steps (nn.To with ChannelsLast):
// the state follows it.
//
// PyTorch's capturable and differentiable are missing. A learning rate is a number; in a step of
// cuda.Graphed or export.CompileStep the fused kernels read it from a tensor, which each run writes ([Group.LRTensor]).
//
// # Groups
//
// Parameters with settings of their own form a [Group]. The settings may be changed between
// steps; packages lr does so with the learning rate.
//
//	opt.AddGroup(nn.Parameters(head), 1e-3)
//	opt.ParamGroups()[0].LR = 1e-4
//
// # State
//
// State tensors are made at the first step that needs them and belong to no scope; Close frees
// them. StateDict and LoadStateDict speak PyTorch's layout, so training goes on where Python
// left off, and the other way round. As in PyTorch a loaded state brings its settings,
// including whether to use the fused kernel: a state from Python's default continues unfused,
// with the same bits.
//
// # Mixed precision
//
// amp.GradScaler passes the loss scale, and whether a gradient was infinite, to the kernel
// through [Scaled], and never waits for the device. For other optimizers it checks the
// gradients itself.
package optim
