// Package ops has what networks for images are made of beside torch/nn, and what detectors do with boxes:
// torchvision.ops.
//
//	stem := ops.NewConv2dNormActivation(3, 32, ops.Conv2dNormActivationOptions{Stride: 2})
//	se := ops.NewSqueezeExcitation(64, 16)
//	kept := ops.NMS(boxes, scores, 0.5)
//
// Layers have torchvision's parameter names and, after the same seed, its initial values. Boxes are [N, 4], each x1, y1, x2,
// y2 with x1 < x2 and y1 < y2, unless a function says otherwise. They need no library but libtorch; where torchvision's is
// installed, [UseTorchvision] has its kernels do the work.
package ops
