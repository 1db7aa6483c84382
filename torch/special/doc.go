// Package special has the operators of PyTorch's torch.special under their names there:
// special.Erf, special.Logit, special.Zeta. Many are methods of torch.Tensor too.
//
//	y := special.Expit(x)
package special
