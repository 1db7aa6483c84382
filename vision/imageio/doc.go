// Package imageio brings images from files and requests into tensors, and tensors into files: torchvision.io.
//
//	img, err := imageio.Decode(http.MaxBytesReader(w, r.Body, 8<<20)) // uint8 [3, H, W]
//	…
//	err = imageio.Save("digits.png", imageio.Grid(samples))           // samples [N, C, H, W] from 0 to 1
//
// JPEG is decoded and encoded by libjpeg-turbo, which torchvision and Pillow use too, so the bytes are theirs. The library is opened at
// run time: beside the shim, from the system (libjpeg.so.8, libjpeg.so.62), or the file that $LIBTORCH_GO_JPEG names. Where there is
// none, or the variable is "off", Go's decoder takes its place, which takes five times as long and differs from libjpeg's by 0.9 levels
// in the mean of 2,000 photos, in single pixels by many; [JPEGLibrary] tells which it is. PNG, GIF (its first frame) and WebP are read
// by decoders in Go, to the bytes that torchvision makes of them.
//
// A file from a stranger gives an image or an error that is [ErrFormat]. Before memory is taken, an image is held against
// MaxPixels and against what a file of its length can hold at most.
package imageio
