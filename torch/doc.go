// Package torch gives Go programs the tensors of PyTorch: the same operators, the same
// numbers to the last bit, on the same libtorch, without Python in the process.
//
//	x := torch.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
//	y := x.MatMul(x.T()).Add(torch.Eye(2)).ReLU()
//	fmt.Println(y)
//
// # Tensors
//
// A [Tensor] is a small value that refers to an array of one [DType] on one [Device]. It
// is made of Go values ([FromSlice], [FromValue]), by a factory ([Zeros], [RandN],
// [Arange]; a [TensorOptions] says of what dtype and where), or by an operator. [Values],
// [Tensor.Item] and fmt bring it back.
//
// Operators carry PyTorch's names in Go's spelling: add is [Tensor.Add], add_ is
// [Tensor.AddInPlace], cross_entropy_loss is [CrossEntropyLoss]. Overloads end in what
// sets them apart: [Tensor.AddScalar], [Tensor.SumDim]. Required arguments are positional;
// a trailing options struct, which may be left out, holds the others, and the zero value
// of each field is PyTorch's default. docs/ops.tsv lists every operator with its Go name.
// What has no method of its own runs by name: [Call].
//
// # Memory
//
// libtorch's memory is not Go's. There are three ways to give it back, and one rule: a
// program that allocates in a loop does so in a [Scope].
//
//   - Scope(fn) frees everything made in fn when fn ends.
//   - [Tensor.Close] frees one tensor now.
//   - What is neither scoped nor closed is freed by the garbage collector, which is told
//     of libtorch's bytes and runs when they grow.
//
// [Tensor.Keep] lets a tensor out of its scope; [Unscoped] makes tensors outside of it. Using
// a tensor that is gone panics with a clear *[Error], never with a crash. [Stats] and
// [Scopes] count what is alive, and a program built with -tags torchdebug knows where it was
// made. [SetMemoryLimits] says how much is too much. docs/memory.md is the guide.
//
// # Errors
//
// Mathematics panics, edges return errors. An operator that is given shapes that do not
// fit, or that runs out of memory, panics with an *[Error] and with nothing else; [Try]
// turns that into an error value, [Recover] into the error of the function that defers it, and
// errors.Is knows its kind ([ErrOutOfMemory]). What touches files, devices or the network
// returns an error in the usual way.
//
//	err := torch.Try(func() { x.MatMul(x) })
//	// torch: matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) (with float32[2, 3], float32[2, 3])
//
// Arguments over which libtorch would end the process, read outside memory or never come
// back are refused before it sees them. Shapes and numbers are looked at everywhere, the
// elements of indices only on the CPU: no call waits for a device without saying so.
//
// # Autograd
//
// Operations on tensors that require gradients are recorded; [Tensor.Backward] computes
// gradients and leaves them in [Tensor.Grad]. Modes are functions that run a function:
// [NoGrad], [Inference], [WithAutocast]. They hold for the code inside, on whatever goroutine
// it runs, and end with it. docs/mixedprecision.md is the guide to autocast.
//
// Go takes part in the backward pass by hooks ([Tensor.RegisterHook]) and by operations whose
// derivative is written in Go ([Function]); what panics there comes back from Backward as an
// error. [DetectAnomaly] finds the line of the program that a NaN or a failure comes from.
//
// # Goroutines
//
// Tensors may be read from any goroutine. As with maps, a tensor that one goroutine
// writes must not be used by another at the same time; a program built with -race reports
// it where one is, as it does for variables. Modes belong to the goroutine that entered
// them; [Go] hands them on.
//
// Any number of goroutines may compute. As many as there are processors are let into heavy
// operations at a time ([SetConcurrency]); a server holds its requests to a fixed set of
// threads with [Lanes]. [Unhealthy] tells a server when its card is lost, [Shutdown] ends the
// use of libtorch in a process that lives on. docs/goroutines.md is the guide; docs/performance.md
// has threads, memory formats and malloc.
//
// # Devices
//
// [CPU], [CUDA](0): [Tensor.To] moves a tensor, TensorOptions make it there.
// [DefaultDevice] is the card where there is one. Package torch/cuda controls it.
//
// # libtorch
//
// Nothing is linked and nothing happens at start-up. The first operation opens libtorch;
// [Load] does so by hand and returns an error that says where it was sought. In a checkout
// ./build.sh installs it, in a module of one's own `go tool libtorch install` (command
// cmd/libtorch, which also says what is missing and packs programs for other machines);
// LIBTORCH_GO_HOME names another place. docs/deployment.md is the guide.
package torch
