// Package train is what the small trainers among the examples share: flags, a loop with its
// progress, the accuracy of a classifier. So each example shows only what is special about
// it.
//
//	f := train.NewFlags("linear", "linear fits a plane to noisy points.", train.Defaults{Epochs: 20, Batch: 32, LR: 0.05})
//	if err := f.Parse(args, out); err != nil {
//		return err
//	}
//	return f.Run(func() error {
//		…
//		return f.Loop(ctx, loader, func(b data.Batch) torch.Tensor {
//			loss := F.MSELoss(model.Forward(b.Input), b.Target)
//			loss.Backward()
//			opt.Step()
//			opt.ZeroGrad()
//			return loss
//		})
//	})
package train
