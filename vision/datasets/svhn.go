package datasets

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/libtorch-go/libtorch/internal/option"
	"github.com/libtorch-go/libtorch/vision/datasets/internal/matlab"
)

const svhnFolder = "http://ufldl.stanford.edu/housenumbers/"

// svhnSums are the published sums of the files.
var svhnSums = map[string]string{
	"train": "e26dedcc434d2e4c54c9b2d4a06d8373", "test": "eb5a983be6a315427106f1b164d9cef3", "extra": "a93ce644f1a588dc4d68dda5feec44a7",
}

// LoadSVHN returns digits of house numbers, uint8 [3, 32, 32] each, from a file such as train_32x32.mat in root: torchvision's SVHN. The
// split is train, test or extra. In all else it is [LoadCIFAR100].
func LoadSVHN(ctx context.Context, root, split string, opts ...Options) (*Images, error) {
	return loadSVHN(ctx, svhnSums, root, split, option.One(opts))
}

func loadSVHN(ctx context.Context, sums map[string]string, root, split string, o Options) (*Images, error) {
	sum, ok := sums[split]
	if !ok {
		return nil, unknown("split", split, "train", "test", "extra")
	}
	name := split + "_32x32.mat"
	p := published{name: "SVHN", expected: []string{name}, resources: []resource{{svhnFolder + name, sum}}}
	dir, err := p.open(ctx, root, o)
	if err != nil {
		return nil, err
	}
	d, err := readSVHN(dir, name, sum)
	if err != nil {
		return nil, p.damaged(dir, err)
	}
	return d, nil
}

// mostSVHN is how many bytes the images of the largest split have, with room to spare.
const mostSVHN = 2 << 30

// readSVHN reads images [32, 32, 3, N] whose first index runs fastest, which are [N, 3, 32, 32] with rows and columns exchanged.
func readSVHN(dir, name, sum string) (*Images, error) {
	const side = 32
	arrays, err := readMatlab(dir, name, sum, mostSVHN)
	if err != nil {
		return nil, err
	}
	x, y := arrays["X"], arrays["y"]
	if x == nil || y == nil || len(x.Shape) != 4 || x.Shape[0] != side || x.Shape[1] != side || x.Shape[2] != 3 || x.Bytes == nil ||
		y.Len() != x.Shape[3] {
		return nil, fmt.Errorf("%s: expected images X [32, 32, 3, N] and labels y [N]", filepath.Join(dir, name))
	}
	d := &Images{Pixels: turned(x.Bytes, 3*x.Shape[3], side, side), Size: [3]int{3, side, side}, Labels: y.Ints(),
		Classes: letters("0123456789")}
	for i, label := range d.Labels {
		if d.Labels[i] = label % 10; label < 1 || label > 10 { // ten stands for the digit 0
			return nil, fmt.Errorf("%s: a label is %d", filepath.Join(dir, name), label)
		}
	}
	return d, nil
}

func readMatlab(dir, name, sum string, most int) (map[string]*matlab.Array, error) {
	raw, err := readFile(dir, name, sum)
	if err != nil {
		return nil, err
	}
	arrays, err := matlab.Read(raw, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return arrays, nil
}
