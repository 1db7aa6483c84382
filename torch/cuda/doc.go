// Package cuda controls the card: it lists devices and what they hold, and has streams,
// events and graphs, and the switches of cuDNN and cuBLAS.
//
// The parts that need a card have not been run on one yet, except for libtorch itself:
// they were written from libtorch's headers, and internal/gpusuite will test them.
//
// Everything here can be called on a machine without a card. Queries return "none"; calls that
// need a device panic with a *torch.Error or return an error that matches torch.ErrNoCUDA.
// [Unavailable] says why CUDA cannot be used: ErrNoDriver, ErrMissingLibrary,
// ErrVersionMismatch, ErrHidden or ErrNoDevice, each with advice on what to do.
//
// Tensors are moved to a card by torch.CUDA(i), not by this package.
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
// libtorch keeps freed memory for the next tensor: [MemoryStats] and [MemorySummary] tell how much,
// [EmptyCache] gives it back, [SetMemoryFraction] limits it. Copies from the host wait unless the
// memory is pinned (torch.TensorOptions.PinMemory, Tensor.PinMemory, data.LoaderOptions) and
// torch.NonBlocking is given; the pinned memory must not change before the stream has copied it.
// [DumpSnapshot] writes a file for PyTorch's memory viewer.
//
// # Graphs
//
// [Graphed] makes a graph of a step, which is then submitted with one call. This helps if the
// host is slower than the card, as in small networks and small batches.
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
// [Compile] compiles CUDA C++ source at run time into kernels, which [Kernel.Launch] runs on
// tensors. torch/library turns them into operators with a derivative.
package cuda
