// Package windows makes window functions, the weights by which a piece of a signal is
// faded in and out before it is transformed: PyTorch's torch.signal.windows.
//
//	w := windows.Hann(512, windows.Options{Periodic: true})
//	spectrum := fft.RFFT(frame.Mul(w))
//
// Each function returns n weights, the largest of them 1 or (in a symmetric window of even
// length) just missed. Further numbers that a window needs are positional; [Options],
// which may be left out, holds the rest, and its zero value is PyTorch's default: a symmetric
// window, as filter design wants it, of float32 on the CPU.
//
// # Numbers
//
// Every window is computed by the operators that PyTorch's Python calls, in the same order,
// so the results agree to the last bit.
//
// # Errors
//
// A negative length, a dtype other than float32 and float64, a layout that is not strided
// or a parameter that a window cannot take panic with a *torch.Error of torch.KindValue, in
// PyTorch's words.
package windows
