// Package fft has the operators of PyTorch's torch.fft under their names there: fft.RFFT,
// fft.IFFT2, fft.FFTShift.
//
//	spectrum := fft.RFFT(signal, fft.RFFTOptions{Norm: "ortho"})
package fft
