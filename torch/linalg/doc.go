// Package linalg has the operators of PyTorch's torch.linalg under their names there:
// linalg.SVD, linalg.Solve, linalg.MatrixNorm. They panic with a *torch.Error, as all tensor
// operations do; a matrix without the property that an operator needs is of torch.KindLinAlg.
//
//	u, s, vh := linalg.SVD(a, linalg.SVDOptions{Reduced: true})
//	x := linalg.Solve(a, b)
package linalg
