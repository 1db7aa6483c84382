// Package profiler finds out where a program's time and memory go: operator by operator, on
// all goroutines, on the host and on the card. It is libtorch's own profiler, over kineto, as
// Python has it in torch.profiler.
//
//	r, err := profiler.Profile(func(*profiler.Profiler) {
//		train(batch)
//	}, profiler.Options{RecordShapes: true})
//	…
//	defer r.Close()
//	fmt.Print(r.Table(profiler.TableOptions{SortBy: profiler.BySelfCPUTimeTotal, RowLimit: 20}))
//	err = r.ExportChromeTrace("trace.json.gz") // for ui.perfetto.dev or chrome://tracing
//
// # Recording
//
// [Profile] records while a function runs. [Start] and [Profiler.Stop] record where no single
// function does the work, for example in a server; any goroutine may call them. There is one
// profiler at a time in a process; a second Start fails with [ErrRunning].
//
// All goroutines are recorded, whichever OS thread they happen to be on. An operation is
// recorded whole or not at all: operations that are running when the profiler starts are
// left out, and the profiler waits for those that are running when it stops. A range
// that is still open ends with the recording.
//
// Recording costs an operator two or three microseconds, as in Python, more with shapes, and
// memory for as long as it lasts: a few hundred bytes an event. Long runs record a few
// steps now and then: [Schedule].
//
// # Ranges
//
// [Record] names a part of the program. The events inside are its children. The rest is the
// range's own time, which the program spends in Go.
//
//	profiler.Record("decode", func() { images = decode(files) })
//
// Ranges may stay in the code: without a profiler one costs a few nanoseconds. While one is open,
// the goroutine is locked to its OS thread.
//
// # Results
//
// [Result.Events] has every event with its place in the tree. [Result.KeyAverages] sums them
// up by name, or by name and shapes, and [Averages.Table] prints the sums as PyTorch does. [Result.ExportChromeTrace]
// writes kineto's trace, which has strides and the values of arguments as well.
//
// Times are wall-clock times. Memory is what was allocated minus what was freed between an event's
// start and end on its thread; it is negative if more was freed. Memory allocated or freed outside
// of all events is listed as [memory]. Freeing memory from before the recording is not counted, and
// libtorch says so on standard error. Python looks at all threads there, and charges an event with
// what others allocate meanwhile; otherwise the numbers are the same. Tensors of a [torch.Scope]
// are freed when it ends, those that are left to the garbage collector at some later call.
//
// # Cards
//
// Kernels, copies and the calls of the driver are recorded as activity [CUDA], by default where
// there is a card. They have events of their own, with a Device, and are listed among the Kernels
// of the operator that started them: its DeviceTime. Asking for CUDA without a card is an error,
// torch.ErrNoCUDA. On such a machine kineto looks for cards all the same, and says so once on
// standard error; the variable KINETO_LOG_LEVEL=9 silences it.
package profiler
