// Package cuda is the hand on the card: which devices there are and what they hold, streams,
// events and graphs, and the switches of cuDNN and cuBLAS.
//
// What needs a card has not been run on one yet, but for what libtorch itself does: it was
// written after libtorch's headers, and internal/gpusuite is to hold it.
//
// Everything here can be called on a machine without a card. Questions answer "none";
// what needs a device panics with a *torch.Error or returns an error that matches
// torch.ErrNoCUDA. [Unavailable] says why CUDA cannot be used: ErrNoDriver, ErrMissingLibrary,
// ErrVersionMismatch, ErrHidden or ErrNoDevice, each with what to do about it.
//
// Tensors get to a card by torch.CUDA(i): torch/cuda has nothing to do with that.
//
// # Streams and threads
//
// The current device and the current stream belong to the OS thread. [WithDevice] and
// [WithStream] set them for a function, and keep the goroutine on its thread for that time; without
// them every goroutine submits to the default stream of device 0, in the order of its calls.
// Streams, events and graphs themselves may be handed to other goroutines. Goroutines that torch.Go
// starts begin on the default stream.
//
// # Memory
//
// libtorch keeps freed memory for the next tensor: [MemoryStats] and [MemorySummary] tell how
// much, [EmptyCache] gives it back, [SetMemoryFraction] limits it. Copies from the host wait unless
// the memory is pinned (torch.TensorOptions.PinMemory, Tensor.PinMemory, data.LoaderOptions) and
// torch.NonBlocking is given; the pinned memory must not change before the stream has come by.
// [DumpSnapshot] writes a file for PyTorch's memory viewer.
//
// # Graphs
//
// [Graphed] makes a graph of a step, which is then submitted with one call: where the host is
// slower than the card, in small networks and small batches, that is what counts.
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
