// Package nnutils does things with the parameters of modules: PyTorch's torch.nn.utils.
//
//	loss.Backward()
//	norm := nnutils.ClipGradNorm(nn.Parameters(model), 1)
//	opt.Step()
//
// [ClipGradNorm] and [ClipGradValue] limit gradients between the backward pass and the step.
// With loss scaling the gradients are to be unscaled before: amp.GradScaler.Unscale.
//
// [ParametersToVector] and [VectorToParameters] see all parameters as one vector.
//
// [FuseConvBN] and [FuseLinearBN] make one layer of two, for inference.
//
// Normalised weights, torch.nn.utils.parametrizations, are in package parametrize.
package nnutils
