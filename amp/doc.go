// Package amp computes in mixed precision: matrix products and convolutions in half the
// bits, sums and norms in float32, as PyTorch's torch.amp decides for every operation.
//
//	scaler := amp.NewGradScaler(dev)
//	for … {
//		var loss torch.Tensor
//		amp.Autocast(dev, torch.Float16, func() {
//			loss = F.CrossEntropy(model.Forward(x), y)
//		})
//		scaler.Scale(loss).Backward()
//		scaler.Step(opt)
//		opt.ZeroGrad()
//	}
//
// docs/mixedprecision.md is the guide.
//
// # Which dtype
//
// BFloat16 has float32's range and needs no scaling; CPUs and newer cards compute with it.
// Float16 is more precise, but gradients below 6e-8 vanish and values above 65504 overflow:
// it needs a [GradScaler]. Give both the same dtype: with bfloat16 and float32 the scaler
// does nothing and costs nothing.
//
// Backward belongs outside of [Autocast]: it computes in the types of the way forward by
// itself.
//
// # Clipping, accumulation, several optimizers
//
//	scaler.Unscale(opt)               // between Backward and Step: the true gradients
//	for _, g := range torch.Grads(params) {
//		g.ClampInPlace(-1, 1)
//	}
//	scaler.Step(opt)
//
// Gradients of several scaled losses may be summed up before the Step. Optimizers that share
// a scaler step together: scaler.Step(generator, critic).
package amp
