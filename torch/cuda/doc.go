// Package cuda is the hand on the card: which devices there are, what they hold, and the
// switches of cuDNN and cuBLAS.
//
// Everything here can be called on a machine without a card. Questions answer "none";
// what needs a device panics with a *torch.Error or returns an error that matches
// torch.ErrNoCUDA. [Unavailable] says why CUDA cannot be used.
//
// Tensors get to a card by torch.CUDA(i): torch/cuda has nothing to do with that.
//
// # Settings
//
// libtorch keeps its switches for the whole process, without locks. Set them once, at the
// start, before other goroutines compute:
//
//	cuda.Set(cuda.Settings{Benchmark: cuda.On, Deterministic: cuda.Off})
//
// [With] sets them for the duration of a function, for measurements.
//
// # Kernels
//
// [Compile] makes CUDA C++ source, given when the program runs, into kernels that [Kernel.Launch]
// runs on tensors. torch/library makes operators of them, with a derivative.
package cuda
