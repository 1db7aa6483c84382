package datasets

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/internal/pickle"
)

var cifar100 = published{
	name: "CIFAR-100", expected: []string{"cifar-100-python"},
	resources: []resource{{"https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz", "eb9058c3a382ffc7106e4002c42a8d85"}},
}

// cifar100Sums are the published sums of the unpacked files.
var cifar100Sums = map[string]string{
	"train": "16019d7e3df5f24257cddd939b257f8d", "test": "f0ef6b0ae62326f3e7ffdfab6717acfc", "meta": "7973b15100ade9c7d40fb424638fde48",
}

// LoadCIFAR100 returns the 50,000 training images (train) or the 10,000 test images of a hundred classes, uint8 [3, 32, 32] each, from the
// folder cifar-100-python of root: torchvision's CIFAR100. An empty root stands for [DefaultRoot]; any other has to exist. What is
// missing is downloaded. It returns an error for damaged files, [ErrUnavailable] where they cannot be obtained, and an error when ctx
// ends.
func LoadCIFAR100(ctx context.Context, root string, train bool, opts ...Options) (*Images, error) {
	return loadCIFAR100(ctx, &cifar100, cifar100Sums, root, train, option.One(opts))
}

func loadCIFAR100(ctx context.Context, p *published, sums map[string]string, root string, train bool, o Options) (*Images, error) {
	dir, err := p.open(ctx, root, o)
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "cifar-100-python")
	half := "test"
	if train {
		half = "train"
	}
	d := &Images{Size: [3]int{3, cifarSide, cifarSide}}
	if d.Pixels, d.Labels, err = readCIFAR100(dir, half, sums[half]); err != nil {
		return nil, p.damaged(dir, err)
	}
	if d.Classes, err = readClasses(dir, sums["meta"]); err != nil {
		return nil, p.damaged(dir, err)
	}
	for i, label := range d.Labels {
		if label < 0 || label >= len(d.Classes) {
			return nil, p.damaged(dir, fmt.Errorf("%s: image %d has class %d of %d", half, i, label, len(d.Classes)))
		}
	}
	return d, nil
}

// readPickle reads a file of Python's, which holds a dict.
func readPickle(dir, name, sum string) (map[any]any, error) {
	raw, err := readFile(dir, name, sum)
	if err != nil {
		return nil, err
	}
	v, _, err := pickle.Read(bytes.NewReader(raw), 0, int64(len(raw)), pickle.Limits{Budget: 1 << 30})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	items, ok := v.(*pickle.Dict)
	if !ok {
		return nil, fmt.Errorf("%s: expected a dict, it has %T", name, v)
	}
	dict := map[any]any{}
	for _, item := range *items {
		if key, ok := item.Key.(string); ok {
			dict[key] = item.Value
		}
	}
	return dict, nil
}

func readCIFAR100(dir, name, sum string) (pixels []byte, labels []int, err error) {
	dict, err := readPickle(dir, name, sum)
	if err != nil {
		return nil, nil, err
	}
	list, ok := dict["fine_labels"].(*pickle.List)
	if !ok {
		return nil, nil, fmt.Errorf("%s: there is no list of labels", name)
	}
	for _, v := range *list {
		label, ok := v.(int)
		if !ok {
			return nil, nil, fmt.Errorf("%s: a label is %v", name, v)
		}
		labels = append(labels, label)
	}
	if pixels, err = numpyBytes(dict["data"]); err == nil && len(pixels) != len(labels)*cifarImage {
		err = fmt.Errorf("%d bytes for %d images", len(pixels), len(labels))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return pixels, labels, nil
}

// numpyBytes are the elements of a pickled array of numpy's, in the state that its last part is.
func numpyBytes(v any) ([]byte, error) {
	array, ok := v.(*pickle.Object)
	if !ok || array.Class.Name != "_reconstruct" {
		return nil, fmt.Errorf("expected an array of numpy's, it has %T", v)
	}
	state, ok := array.State.(*pickle.Tuple)
	if !ok || len(*state) != 5 {
		return nil, fmt.Errorf("an array of numpy's without elements")
	}
	switch raw := (*state)[4].(type) {
	case []byte:
		return raw, nil
	case string: // of Python 2
		return []byte(raw), nil
	}
	return nil, fmt.Errorf("an array of numpy's of %T", (*state)[4])
}

func readClasses(dir, sum string) (classes []string, err error) {
	dict, err := readPickle(dir, "meta", sum)
	if err != nil {
		return nil, err
	}
	list, ok := dict["fine_label_names"].(*pickle.List)
	if !ok {
		return nil, fmt.Errorf("meta: there is no list of classes")
	}
	for _, v := range *list {
		name, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("meta: a class is %v", v)
		}
		classes = append(classes, name)
	}
	return classes, nil
}
