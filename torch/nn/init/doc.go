// Package nninit fills tensors with initial values: PyTorch's torch.nn.init. (Go reserves
// the name init.)
//
//	nninit.KaimingNormal(conv.Weight, nninit.KaimingOptions{Mode: nninit.FanOut, Nonlinearity: nninit.ReLU})
//	nninit.Constant(bn.Weight, 1)
//
// Every function overwrites its tensor without recording it for autograd, and returns it.
// After the same seed the numbers are those that PyTorch 2.11 draws.
package nninit
