// Package functional holds the functions behind the layers of package nn, without
// parameters of their own: PyTorch's torch.nn.functional. It is imported as F:
//
//	import F "github.com/libtorch-go/libtorch/torch/nn/functional"
//
//	h := F.ReLU(F.Conv2d(x, weight, bias, &F.ConvOptions{Padding: 1}))
//	loss := F.CrossEntropy(logits, target, nil)
//
// # Options
//
// What PyTorch takes as keyword arguments is a pointer to an options struct here; nil, and
// every zero field, stands for PyTorch's default. Where zero is a value that PyTorch
// accepts and that is not its default, the field is a pointer: Eps: new(1e-3).
//
// # Sizes
//
// A [Size] is an int, meant for every dimension, or a []int with one number for each:
//
//	F.MaxPool2d(x, 2, nil)
//	F.MaxPool2d(x, []int{2, 1}, &F.MaxPoolOptions{Stride: 2})
//
// # Numbers
//
// Every function calls the operators that PyTorch's Python calls, in the same order, so the
// results agree to the last bit. Under autocast it computes in the types that PyTorch would.
//
// # Errors and memory
//
// What does not fit panics with a *torch.Error, as all tensor operations do; torch.Try turns
// it into an error. Functions close the intermediate tensors they make.
package functional
