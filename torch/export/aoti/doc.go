// Package aoti runs packages of AOTInductor, the files that torch._inductor.aoti_compile_and_package makes of a program of
// torch.export, without Python:
//
//	m, err := aoti.LoadTrusted("model.pt2", aoti.LoadOptions{SHA256: "9f2c…", Runners: 4})
//	defer m.Close()
//	out, err := m.Run(x)
//
// A package holds a shared library of machine code, for one kind of device and processor, beside its weights. libtorch's runner opens
// it; what it computes has the bits of Python's. Where the program itself is at hand, package torch/export runs that: it is data,
// works on any machine, and export.Compile makes it fast as well. This package is for what was compiled already.
//
// # Files are programs
//
// Whoever made the file decides what the process does. So loading says "trusted" in its name, and LoadOptions.SHA256 pins the file:
// what is opened are the very bytes that were summed up. [Inspect] tells what is in a file without running any of it. A damaged file
// is an error that matches [ErrFormat]. A package that needs instructions which the processor lacks is refused, because it would end
// the process.
//
// # Inputs are checked here
//
// The machine code takes whatever it is given: another dtype or size has it read elsewhere in memory. So each call compares number,
// dtype, device and shape with what the package says, and an input that does not fit is an [InputError]. Sizes that may vary have
// bounds, and those that vary together have a name in common ([Size]). A tensor with other strides than those that were compiled for
// is copied first. The package says all this in the C++ source beside the library. Where it has none, or does not say how two sizes go
// together, LoadOptions.Inputs does, and without them the package is refused.
//
// # Many goroutines
//
// LoadOptions.Runners calls compute at the same time, the others wait as goroutines. A model that changes its own buffers is not made
// for more than one.
//
// Gradients do not go through a package. What a run returns lives on when the model is closed.
package aoti
