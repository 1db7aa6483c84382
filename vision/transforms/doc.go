// Package transforms changes images for training and inference: torchvision.transforms.v2, with its names and defaults.
//
//	train := transforms.Compose{
//		transforms.RandomResizedCrop{Size: transforms.Square(224)},
//		transforms.RandomHorizontalFlip{},
//		transforms.ToDType{Scale: true},
//		transforms.Normalize{Mean: mean, Std: std},
//	}
//	x := transforms.Image(train, img, r)                                          // an image alone
//	s := train.Apply(transforms.Sample{Image: img, Boxes: boxes, Masks: masks}, r) // with what lies in it
//
// Images are [..., C, H, W], uint8 or floating-point, on the CPU or a CUDA device; what is drawn is drawn once for a batch, as in
// torchvision. With the same parameters the results are torchvision's to the bit on the CPU; bytes are resized as bytes there, which
// on a processor without AVX2 torchvision does not do: it may then differ by one level.
//
// Randomness comes from a *rand.Rand of math/rand/v2 that the caller seeds, so a sample can be made again: the loaders of torch/data
// hand one to each batch. It is not torch's generator: the same seed draws other numbers than in Python.
//
// Nothing is changed in place, and only the result is left to the caller.
//
// # In one pass
//
// [ClassificationTrain] makes batches of JPEG files, of which it decodes the part that it needs, and [CropFlipNormalize] of small
// images: several times as fast as one transform after the other, with the same bits. The functions Each… draw for every image of a
// batch, on any device.
package transforms
