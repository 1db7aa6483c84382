package datasets

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/internal/option"
)

// idxFiles are the names of the four files of a collection like MNIST.
var idxFiles = []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}

var fashionMNIST = published{
	name: "Fashion-MNIST", dir: "FashionMNIST/raw", expected: idxFiles,
	resources: idxResources("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
		"8d4fb7e6c68d591d4c3dfef9ec88bf0d", "25c81989df183df01b3e8a0aad5dffbe",
		"bef4ecab320f06d8554ea6380940ec79", "bb300cfdad3c16e7a12a480ee83cd310"),
}

var kMNIST = published{
	name: "KMNIST", dir: "KMNIST/raw", expected: idxFiles,
	resources: idxResources("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",
		"bdb82020997e1d708af4cf47b453dcf7", "e144d726b3acfaa3e44228e80efcd344",
		"5c965bf0a639b31b8f53240b1b52f4d7", "7320c461ea6c1c855c0b718fb2a4b134"),
}

// idxResources are the four files, packed, with these sums.
func idxResources(folder string, sums ...string) (list []resource) {
	for i, name := range idxFiles {
		list = append(list, resource{folder + name + ".gz", sums[i]})
	}
	return list
}

// LoadFashionMNIST returns the 60,000 training images (train) or the 10,000 test images of clothes, uint8 [1, 28, 28] each, from the folder
// FashionMNIST/raw of root: torchvision's FashionMNIST. An empty root stands for [DefaultRoot]; any other has to exist. What is missing is
// downloaded. It returns an error for damaged files, [ErrUnavailable] where they cannot be obtained, and an error when ctx ends.
func LoadFashionMNIST(ctx context.Context, root string, train bool, opts ...Options) (*Images, error) {
	return loadIDX(ctx, &fashionMNIST, root, train, option.One(opts), []string{
		"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
	})
}

// LoadKMNIST returns the images of Japanese letters, from the folder KMNIST/raw of root: torchvision's KMNIST. In all else it is
// [LoadFashionMNIST].
func LoadKMNIST(ctx context.Context, root string, train bool, opts ...Options) (*Images, error) {
	return loadIDX(ctx, &kMNIST, root, train, option.One(opts), []string{"o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"})
}

func loadIDX(ctx context.Context, p *published, root string, train bool, o Options, classes []string) (*Images, error) {
	dir, err := p.open(ctx, root, o)
	if err != nil {
		return nil, err
	}
	files := idxFiles[2:]
	if train {
		files = idxFiles[:2]
	}
	return p.readPair(dir, files[0], files[1], classes)
}

// readPair reads images and labels in the IDX format.
func (p *published) readPair(dir, imagesFile, labelsFile string, classes []string) (*Images, error) {
	images, shape, err := readIDXFile(dir, imagesFile, 3, 1)
	if err != nil {
		return nil, p.damaged(dir, err)
	}
	labels, _, err := readIDXFile(dir, labelsFile, 1, 1)
	if err == nil && len(labels) != shape[0] {
		err = fmt.Errorf("%s has %d labels for %d images", labelsFile, len(labels), shape[0])
	}
	if err != nil {
		return nil, p.damaged(dir, err)
	}
	d := &Images{Pixels: images, Size: [3]int{1, shape[1], shape[2]}, Classes: classes, Labels: make([]int, len(labels))}
	for i, label := range labels {
		if d.Labels[i] = int(label); d.Labels[i] >= len(classes) {
			return nil, p.damaged(dir, fmt.Errorf("%s has the label %d, expected less than %d", labelsFile, label, len(classes)))
		}
	}
	return d, nil
}

// damaged is the error for files that are there and cannot be right.
func (p *published) damaged(dir string, err error) error {
	return fmt.Errorf("datasets: %s: %w; remove it from %s to have it obtained again", p.name, err, dir)
}

// readIDXFile reads a file of the IDX format with that many dimensions, whose elements have that many bytes.
func readIDXFile(dir, name string, dims, width int) (elements []byte, shape []int, err error) {
	raw, err := readFile(dir, name, "")
	if err != nil {
		return nil, nil, err
	}
	elements, shape, err = readIDX(raw, width)
	if err == nil && len(shape) != dims {
		err = fmt.Errorf("it has shape %v, expected %d dimensions", shape, dims)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return elements, shape, nil
}

var eMNISTFile = resource{"https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip", "58c8d27c78d21e728a6bc7b3cc06412e"}

// eMNISTSplits are the forms in which EMNIST is published.
var eMNISTSplits = map[string][]string{
	"byclass":  letters("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
	"bymerge":  letters("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt"),
	"balanced": letters("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt"),
	"letters":  append([]string{"N/A"}, letters("abcdefghijklmnopqrstuvwxyz")...),
	"digits":   letters("0123456789"),
	"mnist":    letters("0123456789"),
}

func letters(text string) []string { return strings.Split(text, "") }

// LoadEMNIST returns the images of handwritten letters and digits, from the folder EMNIST/raw of root: torchvision's EMNIST, whose
// images lie on their sides as the publisher's do. The split is byclass, bymerge, balanced, letters, digits or mnist. In all else
// it is [LoadFashionMNIST]; the download of 562 MB has all splits.
func LoadEMNIST(ctx context.Context, root, split string, train bool, opts ...Options) (*Images, error) {
	classes, ok := eMNISTSplits[split]
	if !ok {
		return nil, unknown("split", split, "byclass", "bymerge", "balanced", "letters", "digits", "mnist")
	}
	half := "test"
	if train {
		half = "train"
	}
	prefix := "emnist-" + split + "-" + half
	files := []string{prefix + "-images-idx3-ubyte", prefix + "-labels-idx1-ubyte"}
	p := published{name: "EMNIST", dir: "EMNIST/raw", expected: files, resources: []resource{eMNISTFile}, unpack: unpackEMNIST}
	dir, err := p.open(ctx, root, option.One(opts))
	if err != nil {
		return nil, err
	}
	return p.readPair(dir, files[0], files[1], classes)
}

// unpackEMNIST unpacks a zip file with a folder of packed files.
func unpackEMNIST(ctx context.Context, packed, dir string) error {
	if err := unpackBeside(ctx, packed, dir); err != nil {
		return err
	}
	inner := filepath.Join(dir, "gzip")
	defer os.RemoveAll(inner)
	entries, err := os.ReadDir(inner)
	for _, entry := range entries {
		if err == nil && strings.HasSuffix(entry.Name(), ".gz") {
			err = errors.Join(unpackBeside(ctx, filepath.Join(inner, entry.Name()), inner), os.Remove(filepath.Join(inner, entry.Name())))
		}
	}
	if err != nil {
		return err
	}
	return moveAll(inner, dir)
}

// unknown is the error for an argument that is not one of several words.
func unknown(what, got string, known ...string) error {
	return fmt.Errorf("datasets: the %s is %q, expected %s", what, got, strings.Join(known, ", "))
}

const qMNISTFolder = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"

// qMNISTHalves are the files of QMNIST, by the first letters of their names.
var qMNISTHalves = map[string][]resource{
	"train": {
		{qMNISTFolder + "qmnist-train-images-idx3-ubyte.gz", "ed72d4157d28c017586c42bc6afe6370"},
		{qMNISTFolder + "qmnist-train-labels-idx2-int.gz", "0058f8dd561b90ffdd0f734c6a30e5e4"},
	},
	"test": {
		{qMNISTFolder + "qmnist-test-images-idx3-ubyte.gz", "1394631089c404de565df7b7aeaf9412"},
		{qMNISTFolder + "qmnist-test-labels-idx2-int.gz", "5b5b05890a5e13444e108efe57b788aa"},
	},
}

// LoadQMNIST returns handwritten digits of MNIST's sources: what is "train", "test" (60,000 images), "test10k" (those of MNIST's
// test) or "test50k" (the others). The folder is QMNIST/raw of root: torchvision's QMNIST. In all else it is [LoadFashionMNIST].
func LoadQMNIST(ctx context.Context, root, what string, opts ...Options) (*Images, error) {
	known := []string{"train", "test", "test10k", "test50k"}
	if !slices.Contains(known, what) {
		return nil, unknown("subset", what, known...)
	}
	half := qMNISTHalves[strings.TrimRight(what, "0123456789k")]
	p := published{name: "QMNIST", dir: "QMNIST/raw", resources: half}
	for _, r := range half {
		p.expected = append(p.expected, strings.TrimSuffix(r.file(), ".gz"))
	}
	dir, err := p.open(ctx, root, option.One(opts))
	if err != nil {
		return nil, err
	}
	images, shape, err := readIDXFile(dir, p.expected[0], 3, 1)
	if err != nil {
		return nil, p.damaged(dir, err)
	}
	labels, rows, err := readIDXFile(dir, p.expected[1], 2, 4)
	if err == nil && (rows[0] != shape[0] || rows[1] < 1) {
		err = fmt.Errorf("%s has shape %v for %d images", p.expected[1], rows, shape[0])
	}
	if err != nil {
		return nil, p.damaged(dir, err)
	}
	d := &Images{Pixels: images, Size: [3]int{1, shape[1], shape[2]}, Classes: mnistClasses()}
	for i := range rows[0] { // the first of eight columns is the digit, the others tell who wrote it
		d.Labels = append(d.Labels, int(int32(binary.BigEndian.Uint32(labels[4*rows[1]*i:]))))
	}
	const old = 10000
	switch what {
	case "test10k":
		d = d.Head(old)
	case "test50k":
		n := min(old, d.Len())
		d.Pixels, d.Labels = d.Pixels[n*shape[1]*shape[2]:], d.Labels[n:]
	}
	return d, nil
}

func mnistClasses() []string {
	return []string{"0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine"}
}
