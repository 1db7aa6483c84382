// Package mkldnn holds the switches of oneDNN, the library (once MKL-DNN) that computes
// convolutions, recurrent layers and low-precision products on the CPU: PyTorch's
// torch.backends.mkldnn.
//
//	mkldnn.Set(mkldnn.Settings{Conv: mkldnn.BF16, MatMul: mkldnn.BF16})
//
// libtorch keeps them for the whole process, without locks: set them once, at the start,
// before other goroutines compute. [With] sets them for the duration of a function, for
// measurements. cmd/cudnnbench measures how much they gain.
package mkldnn
