// Package functional holds the functions behind the layers of package nn, without
// parameters of their own: PyTorch's torch.nn.functional. It is imported as F:
//
//	import F "github.com/libtorch-go/libtorch/torch/nn/functional"
//
//	h := F.ReLU(F.Conv2d(x, weight, bias, F.ConvOptions{Padding: 1}))
//	loss := F.CrossEntropy(logits, target)
//
// # Options
//
// What PyTorch gives a default is a field of one options struct, which stands behind all
// other arguments and may be left out; every zero field is PyTorch's default. Where zero is a
// value that PyTorch accepts and that is not its default, the field is a pointer:
// Eps: new(1e-3). Where PyTorch's default is true, the field is named for the contrary:
// CountExcludePad.
//
// An absent tensor is the zero torch.Tensor. A reduction is a torch.Reduction, the zero
// value of which is the mean.
//
// # Sizes
//
// A [Size] is an int, meant for every dimension, or a []int with one number for each. A
// [Factor] is the same for floating-point numbers:
//
//	F.MaxPool2d(x, 2)
//	F.MaxPool2d(x, []int{2, 1}, F.MaxPoolOptions{Stride: 2})
//	F.Interpolate(x, F.InterpolateOptions{ScaleFactor: 1.5, Mode: "bilinear"})
//
// # Functions with two results
//
// Where PyTorch returns indices on request there is a second function, named as PyTorch
// names it: [MaxPool2dWithIndices]. What PyTorch does in place on request is a method or a
// function of package torch: x.ReLUInPlace().
//
// # Numbers
//
// Every function calls the operators that PyTorch's Python calls, in the same order, so the
// results agree to the last bit. Under autocast it computes in the types that PyTorch would.
//
// # Errors and memory
//
// What does not fit panics with a *torch.Error, as all tensor operations do; torch.Try turns
// it into an error. What PyTorch's Python refuses is refused in the same words: its
// ValueError has torch.KindValue, its NotImplementedError torch.KindNotImplemented, its
// RuntimeError and AssertionError torch.KindGeneric. Functions close the intermediate
// tensors they make.
package functional
