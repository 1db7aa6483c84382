package datasets

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/internal/option"
)

var stl10 = published{
	name: "STL-10", expected: []string{"stl10_binary"},
	resources: []resource{{"http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz", "91f7769df0f17e558f3565bffb0c7dfb"}},
}

// stl10Sums are the published sums of the unpacked files.
var stl10Sums = map[string]string{
	"train_X.bin": "918c2871b30a85fa023e0c44e0bee87f", "train_y.bin": "5a34089d4802c674881badbb80307741",
	"unlabeled_X.bin": "5242ba1fed5e4be9e1e742405eb56ca4",
	"test_X.bin":      "7f263ba9f9e0b06b93213547f721ac82", "test_y.bin": "36f9794fa4beb8a2c72628de14fa638e",
}

// STL10Options are the rarer arguments of [LoadSTL10].
type STL10Options struct {
	Options
	Fold *int // of the training images only those of one of the ten folds, 0 to 9
}

// LoadSTL10 returns the images of STL-10, uint8 [3, 96, 96] each, from the folder stl10_binary of root: torchvision's STL10. The split is
// train, test, unlabeled or train+unlabeled; the label of unlabeled images is -1. In all else it is [LoadCIFAR100].
func LoadSTL10(ctx context.Context, root, split string, opts ...STL10Options) (*Images, error) {
	return loadSTL10(ctx, &stl10, stl10Sums, root, split, option.One(opts))
}

func loadSTL10(ctx context.Context, p *published, sums map[string]string, root, split string, o STL10Options) (*Images, error) {
	splits := []string{"train", "test", "unlabeled", "train+unlabeled"}
	if !slices.Contains(splits, split) {
		return nil, unknown("split", split, splits...)
	}
	if o.Fold != nil && (*o.Fold < 0 || *o.Fold > 9 || !strings.HasPrefix(split, "train")) {
		return nil, fmt.Errorf("datasets: the fold is %d of %s, expected 0 to 9 of the training images", *o.Fold, split)
	}
	dir, err := p.open(ctx, root, o.Options)
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "stl10_binary")
	d := &Images{Size: [3]int{3, 96, 96}}
	for _, part := range strings.Split(split, "+") {
		more, err := readSTL10(dir, part, sums)
		if err == nil && part == "train" && o.Fold != nil {
			more, err = fold(dir, more, *o.Fold)
		}
		if err != nil {
			return nil, p.damaged(dir, err)
		}
		d.Pixels, d.Labels = append(d.Pixels, more.Pixels...), append(d.Labels, more.Labels...)
	}
	if d.Classes, err = textLines(filepath.Join(dir, "class_names.txt")); err != nil {
		return nil, p.damaged(dir, err)
	}
	return d, nil
}

// readSTL10 reads the images and labels of a part. The images lie on their sides.
func readSTL10(dir, part string, sums map[string]string) (*Images, error) {
	const side, image = 96, 3 * 96 * 96
	raw, err := readFile(dir, part+"_X.bin", sums[part+"_X.bin"])
	if err != nil {
		return nil, err
	}
	n := len(raw) / image
	d := &Images{Pixels: turned(raw[:n*image], 3*n, side, side), Size: [3]int{3, side, side}, Labels: slices.Repeat([]int{-1}, n)}
	if part == "unlabeled" {
		return d, nil
	}
	labels, err := readFile(dir, part+"_y.bin", sums[part+"_y.bin"])
	if err == nil && len(labels) != n {
		err = fmt.Errorf("%s_y.bin has %d labels for %d images", part, len(labels), n)
	}
	for i, label := range labels[:min(n, len(labels))] {
		d.Labels[i] = int(label) - 1
	}
	return d, err
}

// fold is the part of the training images that a line of a file lists.
func fold(dir string, d *Images, number int) (*Images, error) {
	const name = "fold_indices.txt"
	lines, err := textLines(filepath.Join(dir, name))
	if err == nil && number >= len(lines) {
		err = fmt.Errorf("%s has %d folds", name, len(lines))
	}
	if err != nil {
		return nil, err
	}
	var indices []int
	for _, word := range strings.Fields(lines[number]) {
		i, err := strconv.Atoi(word)
		if err != nil || i < 0 || i >= d.Len() {
			return nil, fmt.Errorf("%s: there is no image %q among %d", name, word, d.Len())
		}
		indices = append(indices, i)
	}
	return d.pick(indices), nil
}
