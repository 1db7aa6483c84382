// Package jit loads, runs, changes and writes TorchScript modules, the files of Python's torch.jit.save, without Python:
//
//	m, err := jit.LoadTrusted("model.pt", jit.LoadOptions{SHA256: "9f2c…"})
//	defer m.Close()
//	out, err := m.Forward(x)
//	y := out.(torch.Tensor)
//
// libtorch reads and runs them: modules that were scripted and modules that were traced, with Python's results to the bit. Where
// Python can export a program with torch.export, package torch/export runs that instead: a program is data, which cannot
// harm, and export.Compile makes it faster. TorchScript is for models that exist already, and for those that branch and loop over
// their data.
//
// # Files are programs
//
// Whoever wrote the file decides what the process does. So loading says "trusted" in its name, and LoadOptions.SHA256 pins the file:
// libtorch sees the very bytes that were summed up, and sees them only then. Before that the file is checked as far as data can be:
// sums of all records, pickles, tensors against their storages, how deep source nests. A damaged file is an error that matches
// [ErrFormat]. [Inspect] has a file of unknown origin loaded by a child process with limits of memory and time first. None of this
// makes a program of strangers safe: what its code does nobody checks.
//
// [Confine] is for those: child processes load such a file and run it, and may do nothing but compute.
//
// # Values
//
// Methods take and return these:
//
//	TorchScript                      Go
//	None, an Optional without value  nil
//	Tensor                           torch.Tensor
//	bool, int, float, complex, str   bool, int, float64, complex128, string
//	List[Tensor], List[int] …        []torch.Tensor, []int, []float64, []bool, []string, else []any
//	Tuple, NamedTuple                jit.Tuple
//	Dict[str, Tensor], Dict[int, …]  map[string]torch.Tensor, map[int]float64 …, else map[string]any
//	device                           torch.Device
//	dtype, layout (as arguments)     torch.DType, torch.Layout
//
// Lists and dicts are copied, tensors are not. Arguments may be of any slice or map type with such elements, an int where a float
// is expected, a []any where a tuple is. A dict made of a map has its keys in order. torch.Arg names an argument. Objects of
// TorchScript's classes cannot be returned; modules are got by [Module.Submodule].
//
// # Errors
//
// Errors of calls are *torch.Error, with the method in Op: "Net.forward". What TorchScript raised wraps an [Exception], which has
// the class, the message and the traceback; ValueError, IndexError, TypeError and NotImplementedError match torch.ErrValue and so
// on, exhausted memory torch.ErrOutOfMemory. Arguments that do not fit are told with the method's schema.
//
// # Many goroutines
//
// A module may be called by any number of goroutines at once, unless its methods change its attributes, or a list or dict in
// one (a counter, a cache): libtorch does not guard these. Loading finds out by looking at the code, and then lets one goroutine
// in after the other. What changes a module (SetAttribute, To, Train, LoadStateDict) waits until no call runs. So a call must
// not lead back to the same module, by way of an operator that was registered in Go.
//
// libtorch watches the first call of a method and compiles what it learnt in the second, which takes long: [Module.Warm] does
// both before the first request. What it learns depends on modes. A module whose first calls recorded gradients cannot be
// called in torch.Inference afterwards (an error, in Python too); torch.NoGrad can always be used.
//
// # Training
//
// Gradients go through calls. [Module.Parameters] are what an optimizer takes; [Module.Train] and [Module.Eval] set the mode.
// torch.NoGrad, torch.Inference and autocast hold inside.
//
// # Sources
//
// [Define] compiles TorchScript written by hand, so that a Go program can make a file for Python as well. Classes are better made by
// Python: the compiler checks less of what is written by hand, and a few errors in a source end the process.
package jit
