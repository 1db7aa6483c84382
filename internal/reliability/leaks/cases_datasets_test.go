package leaks

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/vision/datasets"
	"github.com/libtorch-go/libtorch/vision/imageio"
	"github.com/libtorch-go/libtorch/vision/transforms"
)

// collection is a file of a data set with a content, in a folder of the test's, which exists until the process ends.
func collection(content []byte, path ...string) (root string) {
	root = filepath.Join(os.TempDir(), "leaks.datasets")
	file := filepath.Join(append([]string{root}, path...)...)
	check(os.MkdirAll(filepath.Dir(file), 0o755))
	if _, err := os.Stat(file); err != nil {
		check(os.WriteFile(file, content, 0o644))
	}
	return root
}

// zeros8 is a file in the IDX format.
func zeros8(kind byte, width int, shape ...uint32) []byte {
	raw := []byte{0, 0, kind, byte(len(shape))}
	for _, side := range shape {
		raw, width = binary.BigEndian.AppendUint32(raw, side), width*int(side)
	}
	return append(raw, make([]byte, width)...)
}

var datasetCases = cases{
	"datasets of files": func() {
		ctx, photo := context.Background(), must(imageio.EncodePNG(torch.TensorOptions{DType: torch.Uint8}.Zeros(3, 4, 5)))
		root := collection(photo, "photos", "class", "1.png")
		photos := must(datasets.LoadImageFolder(filepath.Join(root, "photos"))).Subset([]int{0})
		must(photos.At(ctx, photos.Len()-1))
		source := photos.Batches(transforms.ClassificationTrain{Crop: 4}.Files)
		must(source.Batch(ctx, []int{0}, rand.New(rand.NewPCG(1, 2))))

		collection(photo, "val", "n01440764", "1.png")
		must(datasets.LoadImageNet(root, "val"))
		collection(photo, "imagenette2", "val", "n01440764", "1.jpeg")
		must(datasets.LoadImagenette(ctx, root, "val", datasets.ImagenetteOptions{}))
		collection(photo, "oxford-iiit-pet", "images", "Cat_1.jpg")
		collection([]byte("Cat_1 1 1 1\n"), "oxford-iiit-pet", "annotations", "test.txt")
		must(datasets.LoadOxfordIIITPet(ctx, root, "test"))
		_, err := datasets.LoadFlowers102(ctx, root, "test", datasets.Options{Offline: true})
		refuse(err)

		text := `{"images": [{"id": 7, "file_name": "photos/class/1.png"}], "annotations": [{"image_id": 7, "bbox": [1, 2, 3, 4]}]}`
		things := must(datasets.LoadCocoDetection(root, filepath.Join(collection([]byte(text), "coco.json"), "coco.json")))
		must(things.At(ctx, things.Len()-1))
		_ = datasets.VOCClasses()
		for _, kind := range []string{"Main", "Segmentation"} {
			collection([]byte("1\n"), "VOCdevkit", "VOC2012", "ImageSets", kind, "val.txt")
		}
		collection(photo, "VOCdevkit", "VOC2012", "JPEGImages", "1.jpg")
		collection([]byte("<annotation></annotation>"), "VOCdevkit", "VOC2012", "Annotations", "1.xml")
		boxes := must(datasets.LoadVOCDetection(root, "2012", "val"))
		must(boxes.Annotation(boxes.Len() - 1))
		must(boxes.At(ctx, 0))
		masks := must(datasets.LoadVOCSegmentation(root, "2012", "val"))
		grey := must(imageio.EncodePNG(torch.TensorOptions{DType: torch.Uint8}.Zeros(1, 4, 5)))
		collection(grey, "VOCdevkit", "VOC2012", "SegmentationClass", "1.png")
		must(masks.At(ctx, masks.Len()-1))
	},
	"datasets in memory": func() {
		ctx, none := context.Background(), datasets.Options{Offline: true}
		var root string
		for _, dir := range []string{"FashionMNIST", "KMNIST"} {
			for _, half := range []string{"train", "t10k"} {
				collection(zeros8(8, 1, 2, 3, 3), dir, "raw", half+"-images-idx3-ubyte")
				root = collection(zeros8(8, 1, 2), dir, "raw", half+"-labels-idx1-ubyte")
			}
		}
		collection(zeros8(8, 1, 2, 3, 3), "EMNIST", "raw", "emnist-digits-test-images-idx3-ubyte")
		collection(zeros8(8, 1, 2), "EMNIST", "raw", "emnist-digits-test-labels-idx1-ubyte")
		collection(zeros8(8, 1, 2, 3, 3), "QMNIST", "raw", "qmnist-test-images-idx3-ubyte")
		collection(zeros8(12, 4, 2, 8), "QMNIST", "raw", "qmnist-test-labels-idx2-int")
		must(datasets.LoadKMNIST(ctx, root, true, none))
		must(datasets.LoadEMNIST(ctx, root, "digits", false, none))
		must(datasets.LoadQMNIST(ctx, root, "test50k", none))
		clothes := must(datasets.LoadFashionMNIST(ctx, root, false, none)).Head(1)
		clothes.Tensors()
		must(clothes.At(ctx, clothes.Len()-1))
		must(datasets.FakeData(1, datasets.FakeDataOptions{ImageSize: [3]int{1, 2, 3}}).At(ctx, 0))
		for _, load := range []func() error{
			func() error { _, err := datasets.LoadCIFAR100(ctx, root, true, none); return err },
			func() error {
				_, err := datasets.LoadSTL10(ctx, root, "test", datasets.STL10Options{Options: none})
				return err
			},
			func() error { _, err := datasets.LoadSVHN(ctx, root, "test", none); return err },
		} {
			refuse(load())
		}
	},
}
