// Package imageio brings images from files and requests into tensors, and tensors into files:
// the small part of torchvision.io and torchvision.utils that programs begin with.
//
//	img, err := imageio.Decode(http.MaxBytesReader(w, r.Body, 8<<20)) // uint8 [3, H, W]
//	…
//	err = imageio.Save("digits.png", imageio.Grid(samples))           // samples [N, C, H, W] from 0 to 1
//
// JPEG, PNG and GIF are read by Go's own decoders, so a file from a stranger gives an error at
// worst. Their JPEG decoder may differ from libjpeg's, which Python uses, by a few units in a
// pixel.
package imageio
