// Package transforms changes batches of images [N, C, H, W], on whatever device they are and
// of whatever dtype, a few operations for the whole batch rather than a call for each image:
//
//	images = transforms.RandomCrop(images, 32, 4, r)
//	images = transforms.RandomHorizontalFlip(images, r)
//	images = transforms.Normalize(images.To(torch.Float32), mean, std)
//
// Randomness comes from a *rand.Rand of math/rand/v2 that the caller seeds, so a batch can be
// made again. Nothing is changed in place, and only the result is left to the caller.
package transforms
