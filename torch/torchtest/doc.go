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
// # Gradients
//
// [GradCheck] holds the backward pass of a function against finite differences, as
// PyTorch's gradcheck does, and says which element of which gradient is wrong.
// [CheckGradients] is the same for code that wants an error.
//
//	torchtest.GradCheck(t, func(in []torch.Tensor) []torch.Tensor {
//		return []torch.Tensor{layer.Forward(in[0])}
//	}, []torch.Tensor{input, layer.Weight})
//
// # Leaks
//
// [NoLeaks] compares the open tensors and the bytes of host memory before and after a
// test; both must come back exactly. Build with -tags torchdebug to read where each
// tensor that is left over was made.
package torchtest
