// Package library registers operators: PyTorch's torch.library, and torch.ops.load_library.
//
// An operator has a name in a namespace, a schema, a kernel for each kind of device and,
// optionally, a derivative. Once registered it is like those of libtorch: torch.Call runs it by
// its name, on any goroutine, modules use it, autograd differentiates it, autocast and torch.Meta
// know it.
//
//	lib := library.New("mylib")
//	defer lib.Close()
//	lib.Define("scale(Tensor x, float factor) -> Tensor").
//		Impl(library.CPU|library.CUDA, func(x torch.Tensor, factor float64) torch.Tensor {
//			return x.MulScalar(factor)
//		}).
//		Fake(func(x torch.Tensor, _ float64) torch.Tensor { return torch.EmptyLike(x) }).
//		Autograd(library.Formula{
//			Setup: func(ctx *torch.FunctionCtx, args, _ []any) { ctx.State = args[1] },
//			Backward: func(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
//				return []torch.Tensor{grads[0].MulScalar(ctx.State)}
//			},
//		})
//	y := torch.Call("mylib::scale", x, 3.0)[0].(torch.Tensor)
//
// # Where kernels come from
//
// A kernel is a Go function ([Operator.Impl]), which may call operators, launch a CUDA kernel
// (torch/cuda.Compile) or read the tensor's values; or it is C++, from another library ([Load])
// or from source (torch/cpp.LoadInline). One operator may mix them: [Library.Operator] gives an
// operator from C++ a Go kernel for another device, or a derivative.
//
// # Errors
//
// A wrong schema or name panics with a *torch.Error when it is registered. A failure in a
// kernel comes back from the call of the operator.
package library
