// Package export captures, reads, checks, prints, compiles, runs and writes the programs of PyTorch's torch.export, files that
// end in .pt2, without Python:
//
//	program, err := export.Load("model.pt2")
//	defer program.Close()
//	fmt.Println(program)
//	out, err := program.Run(x)
//
// A program is data: a [Graph] of nodes, each an operator of libtorch by name with its arguments; a [Signature], which says
// which of the graph's inputs are parameters, buffers, constants and what the caller gives; the tensors themselves; and
// the sizes that may differ from call to call, with their ranges. All of it is plain Go, to be looked at and changed;
// [Program.Verify] tells whether it is sound.
//
// [Program.Run] returns the tensors of a program's results, [Program.Call] the results as Python's program.module() returns
// them: tuples and lists are []any, dictionaries map[string]any. Both compute what Python computes, to the bit. [Program.Module]
// is a program that was verified and is ready to run many times, by several goroutines at once unless it changes its buffers.
//
//	module, err := program.Module()
//	out, err := module.Run(x, map[string]torch.Tensor{"mask": mask}, torch.Arg("scale", s))
//
// # One call
//
// [Compile] makes a program ready to run in one call of C++, from operator to operator without Go in between:
//
//	compiled, err := export.Compile(program)
//	defer compiled.Close()
//	torch.Inference(func() { out, err = compiled.Run(x) }) // from any number of goroutines
//
// Passes make it fast first. Batch norms become part of the weights beside them; convolutions and large linear layers become
// oneDNN's or, of 3 x 3, of signals, volumes and groups, and for small images, our own, with the activation or the sum behind them
// and weights that lie as they are read; images lie with their channels last from the first convolution to the result; attention,
// which a model may spell out, recurrent layers (LSTM, GRU) and group norms are computed by kernels of ours; what depends on weights
// alone, is never read or is computed twice is left out; and memory that nothing reads any more is written to again. Results differ
// from Python's by rounding, about one in a million. [CompileOptions].Exact makes only the passes that keep the bits, DType computes
// in bfloat16 or, on a card, float16, and Int8 in whole numbers of eight bits, with the ranges that [Calibrate] finds, which also
// tells the layers that need float32; Weights keeps those of linear layers in fewer bits, for what few rows meet. Printing the
// compiled program shows what they did. [Program.To] moves a program to a card first, where it becomes graphs of CUDA's.
// Where autograd records, a run computes the program as it is. [Compiled.RunContext] and [Module.RunContext] end a run with
// its context.
//
// [CompileStep] does the same for a step of training, a function of Go's with backward and the optimizer's work in it.
//
// # Models of Go's
//
// [Export] captures a model that is written in Go as a program, which Python's torch.export.load runs as well: it runs once, and
// the operators that it calls are written down.
//
//	program, err := export.Export(model, []any{x})
//	err = program.Save("model.pt2")
//
// # Files of strangers
//
// A program has no code, and this package runs none: operators are looked up by name in libtorch, and only those of aten that
// compute are allowed, and those of PT2E that quantize, which are made of them. One that reads files is refused by name, and so are
// operators of other libraries unless LoadOptions.Operators names them. What a file says of sizes is compared with the file before
// anything is allocated. An error is one line that can be logged, whatever the file says. A program may still ask for much: loops
// without an end are for [Compiled.RunContext] and [CalibrateContext], constants that take long to compute for [CompileContext],
// memory for torch.SetMemoryLimits.
package export
