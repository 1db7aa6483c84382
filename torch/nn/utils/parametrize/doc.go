// Package parametrize computes weights of modules from other tensors, which are trained in
// their place: PyTorch's torch.nn.utils.parametrizations and torch.nn.utils.parametrize.
//
//	type Critic struct {
//		Conv *parametrize.Module[*nn.Conv2d]
//		Head *parametrize.Module[*nn.Linear]
//	}
//
//	c := &Critic{
//		Conv: parametrize.SpectralNorm(nn.NewConv2d(3, 64, 4)),
//		Head: parametrize.SpectralNorm(nn.NewLinear(64, 1)),
//	}
//	y := nn.Chain(x, c.Conv, nn.ReLU{}, nn.Flatten{}, c.Head)
//
// [WeightNorm], [SpectralNorm] and [Orthogonal] are PyTorch's; [Register] takes any other
// [Parametrization]. The names in a state dict are PyTorch's too: weight becomes
// parametrizations.weight.original0 and so on, beside the module's other tensors.
//
// # Goroutines
//
// A [Module] computes the weights again in every Forward and lends them to a copy of
// the module, so that outside of training many goroutines may use it at once.
// [Module.With] computes them once for several uses: PyTorch's cached.
package parametrize
