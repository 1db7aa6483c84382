// Package swa averages the weights of models over the steps of a training: PyTorch's
// torch.optim.swa_utils.
//
//	ema := swa.NewAveragedModel(model, swa.Options{MultiAvgFn: swa.EMAMultiAvgFn(0.999)})
//	for … {
//		loss.Backward()
//		opt.Step()
//		ema.UpdateParameters(model)
//	}
//	y := ema.Forward(x)
//
// Without options the average is that of all models seen, each with the same weight:
// stochastic weight averaging (Izmailov et al., "Averaging Weights Leads to Wider Optima and
// Better Generalization", 2018), in whose last part the learning rate stays the same: lr.SWA
// is its schedule, PyTorch's SWALR. Batch normalisations want the statistics of the averaged
// model: [UpdateBN], or Options.UseBuffers.
//
// An [AveragedModel] is a module; in a state dict it has PyTorch's names, n_averaged and those
// of the model after "module.".
package swa
