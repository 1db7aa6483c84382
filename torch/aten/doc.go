// Package aten holds the operators of libtorch that PyTorch keeps to itself: the ones
// whose names begin with an underscore, the gradients (…Backward), the kernels of one
// backend (CuDNN…, MKLDNN…, quantized ones), and copies of views. Optimizers and modules
// are built on some of them; programs rarely need this package.
//
//	aten.ForeachAddInPlace(params, updates)    // _foreach_add_.List
//	aten.ForeachMulScalarInPlace(momenta, 0.9) // _foreach_mul_.Scalar
//
// Every function is generated from libtorch's own list of operators and says in its
// comment which one it calls. The rules are those of package torch: required arguments by
// position, the rest in a struct whose zero value means PyTorch's defaults, panics with
// *torch.Error, results that belong to the caller's scope. Unlike there, an operator may
// change or vanish between versions of libtorch; one that the loaded version lacks
// panics with an error of kind torch.KindNotImplemented.
//
// Names follow PyTorch's without the underscore, in MixedCaps, with the overload as a
// suffix where several exist and InPlace for those that write to their first argument:
// _foreach_mul_.Scalar is [ForeachMulScalarInPlace]. What users of PyTorch find in torch,
// in torch.nn.functional or on a tensor is in package torch.
package aten
