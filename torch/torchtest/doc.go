// Package torchtest helps to test code that computes with tensors.
//
//	func TestLayer(t *testing.T) {
//		torchtest.NoLeaks(t)
//		torchtest.EachDevice(t, func(t *testing.T, dev torch.Device) {
//			got := layer.Forward(input.To(dev))
//			torchtest.AllClose(t, got, want.To(dev))
//		})
//	}
//
// # Comparing
//
// [AllClose] allows what PyTorch's own tests allow for the dtype, [Equal] allows nothing:
// not even a different zero or NaN. Both want the same shape, dtype and device, stop the
// test at a difference, and say how many elements differ and where.
//
// # Leaks
//
// [NoLeaks] compares the open tensors and the bytes of host memory before and after a
// test; both must come back exactly. Build with -tags torchdebug to read where each
// tensor that is left over was made.
package torchtest
